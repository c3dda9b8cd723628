// One fault campaign: clients ask, faults strike, everything settles, the journal is checked. The plan
// decides what is asked and what breaks. After the last fault everything is mended before the journal is
// judged. It ends within a bound: a task that is still open then is a violation, not a wait.
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkJournal, natsSource } from '@beaver/check'
import { clientOn } from '@beaver/client'
import { connectNats, followJournal, subjectsOf } from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'
import { checkCampaign, type ExpectedTask, type LedgerLine, type Violation } from './check.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { faultOf, type FaultContext } from './faults.ts'
import { collectLogs, timesOf, type Logs, type SeenEvent } from './logs.ts'
import { type CampaignModel, campaignModel } from './model.ts'
import { operationsOn, type OperationCounts, type Operations } from './operations.ts'
import { type CampaignPlan, type FaultKind, weightsOf } from './plan.ts'
import { projectionFault } from './projection.ts'
import { randomOf } from './random.ts'
import { JournalSums, seenMetrics } from './metrics.ts'
import { measureRecovery, type Recovery } from './recovery.ts'

export interface CampaignResult {
  readonly plan: CampaignPlan
  readonly tasks: number
  readonly events: number
  readonly requests: number
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
  /** Faults that could not be tried here, with the reason. */
  readonly skipped: readonly string[]
  readonly counts: OperationCounts
  readonly violations: readonly Violation[]
  readonly recovery: Recovery
  readonly ends: Readonly<Record<string, number>>
  /** What the processes show at /metrics at the end. `null`: nobody looked. */
  readonly metrics: string | null
  readonly settledMs: number
  readonly ms: number
}

/** @param say told what goes on, a line now and then */
export async function runCampaign(plan: CampaignPlan, say: (line: string) => void): Promise<CampaignResult> {
  const startedAt = Date.now()
  await using model = await campaignModel(randomOf(plan.seed, 'model'))
  await using cluster = await startCluster({
    daemons: plan.daemons,
    leaseMs: plan.leaseMs,
    providerUrl: model.url,
    random: randomOf(plan.seed, 'restarts'),
    withDisk: plan.only?.includes('disk_full') ?? false,
    awayMs: plan.awayMs,
  })
  if (!(await cluster.whole(60_000)))
    throw new Error(
      `The processes did not start. Their logs: ${cluster.folder} (kept with BEAVER_FAULTS_KEEP=1)`,
    )
  const subjects = subjectsOf(cluster.namespace)
  const nc = await connectNats({ url: cluster.server.url, name: 'fault-campaign' })
  const operations = operationsOn(clientOn(nc, subjects))
  const recovery = measureRecovery()
  const campaign: Running = {
    plan,
    say,
    cluster,
    model,
    nc,
    operations,
    recovery,
    logs: collectLogs(),
    faults: {},
    skipped: [],
    thaws: [],
    over: false,
    voided: new Set(),
  }
  const stop = new AbortController()
  const watching = watch(campaign, stop.signal)
  try {
    const clients = Array.from({ length: plan.clients }, (_, i) => client(campaign, i))
    await strike(campaign)
    campaign.over = true
    await Promise.all(clients)
    const settling = Date.now()
    await settle(campaign)
    const settledMs = Date.now() - settling
    stop.abort()
    const sums = new JournalSums()
    const { logs, last } = await readAgain(campaign, (event) => sums.add(event))
    const ledger = (await readFile(cluster.ledgerFile, 'utf8'))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as LedgerLine)
    const expected = operations.expected.filter(({ task }) => !isVoid(campaign, task))
    const violations = [
      ...(await checkedJournal(campaign, logs)),
      ...checkCampaign({
        smallMessages: campaign.faults.max_payload !== undefined,
        logs: logs.tasks
          .values()
          .filter(({ id }) => !isVoid(campaign, id.task))
          .toArray(),
        expected,
        ledger: ledger.filter(({ key }) => !isVoid(campaign, key.split('/')[0] ?? '')),
        model,
        thaws: campaign.thaws,
      }),
    ]
    const ends = countsOf([...logs.tasks.values()].map(({ end }) => end ?? 'open'))
    // Tasks of a stream that the campaign deleted are in no journal any more.
    const metrics =
      campaign.voided.size > 0 ? null : await seenMetrics(cluster, { sums, ends: byStatus(ends) }, 20_000)
    violations.push(...(metrics?.violations ?? []))
    const projection = await projectionFault(cluster, last, 20_000)
    if (projection !== null)
      violations.push({ rule: 'the projection equals a rebuild', task: '', what: projection })
    const all = [...logs.tasks.values()]
    return {
      plan,
      tasks: all.length,
      events: all.reduce((sum, { types }) => sum + types.length, 0),
      requests: model.requests,
      faults: campaign.faults,
      skipped: campaign.skipped,
      counts: operations.counts,
      violations,
      recovery,
      ends,
      metrics: metrics?.text ?? null,
      settledMs,
      ms: Date.now() - startedAt,
    }
  } finally {
    campaign.over = true
    stop.abort()
    await Promise.race([watching, sleep(1_000, undefined, { ref: false })])
    await Promise.race([nc.close(), sleep(1_000, undefined, { ref: false })])
  }
}

interface Running {
  readonly plan: CampaignPlan
  readonly say: (line: string) => void
  readonly cluster: Cluster
  readonly model: CampaignModel
  readonly nc: NatsConnection
  readonly operations: Operations
  readonly recovery: Recovery
  logs: Logs
  readonly faults: Partial<Record<FaultKind, number>>
  readonly skipped: string[]
  /** When a stopped daemon went on. */
  readonly thaws: number[]
  over: boolean
  /** Operations and tasks of a stream that the campaign deleted. */
  readonly voided: Set<string>
}

const isVoid = ({ voided }: Running, task: string): boolean =>
  voided.has(task) || voided.has(task.replace(/-\d+$/, ''))

const openTasks = ({ logs }: Running): number =>
  logs.tasks.values().reduce((open, { end }) => open + (end === null ? 1 : 0), 0)

async function client(campaign: Running, index: number): Promise<void> {
  const random = randomOf(campaign.plan.seed, `client ${index}`)
  for (let number = 0; !campaign.over; number++) {
    await campaign.operations.one(random, `c${index}`, number)
    await sleep(random.between(20, 150))
    while (!campaign.over && openTasks(campaign) >= campaign.plan.openTasksMax) await sleep(50)
  }
}

/** Faults, one after the other begun and often under way together, until the plan is fulfilled. */
async function strike(campaign: Running): Promise<void> {
  const { plan, cluster, faults, skipped } = campaign
  const random = randomOf(plan.seed, 'faults')
  const weights = { ...weightsOf(plan) }
  if ('disk_full' in weights && weights.disk_full !== 0 && cluster.disk === null) {
    skipped.push('disk_full: this system lets us mount no file system')
    delete weights.disk_full
  }
  if (Object.keys(weights).length === 0) return
  const busy = new Set<string>()
  const underWay = new Set<Promise<void>>()
  const context: FaultContext = {
    cluster,
    model: campaign.model,
    nc: campaign.nc,
    stream: subjectsOf(cluster.namespace).stream,
    random,
    submitBad: (tool) =>
      campaign.operations.submitBad(tool, `bad-${underWay.size}-${Date.now()}-${tool.replaceAll('_', '-')}`),
    thawed: () => void campaign.thaws.push(Date.now()),
    forgetTasks() {
      for (const name of campaign.operations.begun) campaign.voided.add(name)
      for (const { task } of campaign.operations.expected) campaign.voided.add(task)
    },
  }
  const until = Date.now() + plan.ms
  const done = (): boolean =>
    Date.now() >= until ||
    (plan.kills !== undefined &&
      (faults.daemon_kill ?? 0) >= plan.kills &&
      campaign.logs.tasks.size >= (plan.tasksMin ?? 0))
  while (!done()) {
    await sleep(random.between(...plan.pauseMs))
    const kind = random.weighted(weights)
    const fault = faultOf(kind, context, busy)
    if (fault === null) continue
    busy.add(fault.part)
    faults[kind] = (faults[kind] ?? 0) + 1
    const running = fault
      .run(context, (hit) => campaign.recovery.strike(kind, hit, campaign.logs))
      .catch((error: unknown) => void skipped.push(`${kind}: ${String(error)}`))
      .finally(() => {
        busy.delete(fault.part)
        underWay.delete(running)
      })
    underWay.add(running)
    const begun = Object.values(faults).reduce((sum, count) => sum + count, 0)
    if (begun % 25 === 0)
      campaign.say(
        `${begun} faults, ${faults.daemon_kill ?? 0} kills, ${campaign.logs.tasks.size} tasks, ${openTasks(campaign)} open`,
      )
  }
  await Promise.all(underWay)
}

/**
 * Follows the journal, decides what asks a person, tells the recovery what it sees. Begins again when the
 * stream or the line is gone.
 */
async function watch(campaign: Running, signal: AbortSignal): Promise<void> {
  const random = randomOf(campaign.plan.seed, 'person')
  const subjects = subjectsOf(campaign.cluster.namespace)
  const onEvent = (event: SeenEvent): void => {
    campaign.recovery.saw(event)
    if (event.type !== 'approval_requested') return
    const { task } = event.log.id
    const approved = random.next() < 0.8
    void sleep(random.between(0, 1_500)).then(() =>
      campaign.operations.decide(task, String(event.data['call_id']), approved),
    )
  }
  let last = 0
  while (!signal.aborted) {
    try {
      for await (const { messages } of followJournal(campaign.nc, subjects, { from: last + 1, signal })) {
        for (const message of messages) {
          campaign.logs.add(message, onEvent)
          last = message.sequence
        }
      }
    } catch {
      // The stream or the server is away.
    }
    if (signal.aborted) return
    if (campaign.voided.size > 0 && last > 0) {
      campaign.logs = collectLogs()
      last = 0
    }
    await sleep(200)
  }
}

/** Everything is mended; waits until every task that is known has ended, or the bound has passed. */
async function settle(campaign: Running): Promise<void> {
  const { plan, cluster, operations } = campaign
  if (!(await cluster.whole(60_000)))
    campaign.skipped.push('60 s after the last fault a process was still away')
  const deadline = Date.now() + plan.settleMs
  const isOpen = ({ task, accepted }: ExpectedTask, ended: ReadonlySet<string>): boolean =>
    accepted && !isVoid(campaign, task) && !ended.has(task)
  for (let round = 0; Date.now() < deadline; round++) {
    const logs = [...campaign.logs.tasks.values()]
    const ended = new Set(logs.filter(({ end }) => end !== null).map(({ id }) => id.task))
    const open = openTasks(campaign) + operations.expected.filter((each) => isOpen(each, ended)).length
    if (open === 0) return
    if (round % 100 === 99) {
      campaign.say(`settling: ${open} open`)
      // A decision whose answer was lost may have been lost itself: a person asks again.
      for (const { id, asking } of logs)
        for (const call of asking) await operations.decide(id.task, call, true)
    }
    await sleep(100)
  }
}

/** What the independent checker finds, with the events of the task: nobody can look at its log later. */
async function checkedJournal({ nc, cluster }: Running, logs: Logs): Promise<Violation[]> {
  const { namespace, stream, blobBucket } = subjectsOf(cluster.namespace)
  const { findings } = await checkJournal(await natsSource(nc, { namespace, stream, blobBucket }), {
    now: Date.now(),
  })
  return findings.map(({ rule, task_id, taskseq, message }) => ({
    rule,
    task: task_id ?? '',
    what: `${taskseq === null ? message : `event ${taskseq}: ${message}`}${eventsOf(logs, task_id)}`,
  }))
}

function eventsOf(logs: Logs, task: string | null): string {
  const log = logs.tasks.values().find(({ id }) => id.task === task)
  return log === undefined ? '' : ` (${timesOf(log)})`
}

/** The whole journal, read once more from its beginning. */
async function readAgain(
  { nc, cluster }: Running,
  onEvent: (event: SeenEvent) => void,
): Promise<{ logs: Logs; last: number }> {
  const logs = collectLogs()
  const stop = new AbortController()
  let last = 0
  for await (const { messages, caughtUp } of followJournal(nc, subjectsOf(cluster.namespace), {
    from: 1,
    signal: stop.signal,
  })) {
    for (const message of messages) {
      logs.add(message, onEvent)
      last = message.sequence
    }
    if (caughtUp) break
  }
  return { logs, last }
}

/** Counts of terminal events by the status that they give a task. */
const byStatus = (ends: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(ends).map(([end, tasks]) => [end.replace(/^task_/, ''), tasks]))

function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
