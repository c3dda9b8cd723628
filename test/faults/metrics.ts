// What the processes show at /metrics after a campaign, held to the journal. A counter begins at 0 when its
// process starts, so the sums of the daemons that live are at most those of the journal. How many tasks there
// are by status comes from the rows of the projector, so it is exact, however often the projector was killed.
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isTerminalTaskEvent } from '@beaver/core'
import { runningStatus } from '@beaver/platform'
import { type MetricFamily, readPrometheusText } from '@beaver/testing'
import { gatewayProcess } from '../support/gateway.ts'
import type { Violation } from './check.ts'
import type { Cluster } from './cluster.ts'
import type { SeenEvent, TaskLog } from './logs.ts'

type Families = ReadonlyMap<string, MetricFamily>

/** The counters of daemons that a journal has the sum of. */
const counters = [
  'beaver_tasks_accepted_total',
  'beaver_tasks_ended_total',
  'beaver_claims_total',
  'beaver_takeovers_total',
  'beaver_run_restarts_total',
  'beaver_model_calls_total',
  'beaver_model_tokens_total',
  'beaver_tool_calls_total',
] as const
type Counter = (typeof counters)[number]

/** Sums of the journal, folded event by event. */
export class JournalSums {
  readonly of: Record<Counter, number> = {
    beaver_tasks_accepted_total: 0,
    beaver_tasks_ended_total: 0,
    beaver_claims_total: 0,
    beaver_takeovers_total: 0,
    beaver_run_restarts_total: 0,
    beaver_model_calls_total: 0,
    beaver_model_tokens_total: 0,
    beaver_tool_calls_total: 0,
  }
  events = 0
  /** Whether the tokens of a call are not in the sum, because a blob has what its event says. */
  tokensMissing = false
  readonly #owned = new Set<TaskLog>()
  /** How many events of a log are still copies of another task. */
  readonly #copies = new Map<TaskLog, number>()

  add({ log, type, data }: SeenEvent): void {
    const { of } = this
    this.events++
    const copies = this.#copies.get(log) ?? 0
    if (copies > 0) return void this.#copies.set(log, copies - 1)
    if (isTerminalTaskEvent(type as Parameters<typeof isTerminalTaskEvent>[0])) of.beaver_tasks_ended_total++
    switch (type) {
      case 'task_log_copied':
        return void this.#copies.set(log, Number(data['events']))
      case 'task_submitted':
        return void of.beaver_tasks_accepted_total++
      case 'task_claimed':
        of.beaver_claims_total++
        if (this.#owned.has(log)) of.beaver_takeovers_total++
        return void this.#owned.add(log)
      case 'task_released':
      case 'task_suspended':
        return void this.#owned.delete(log)
      case 'run_restarted':
        return void of.beaver_run_restarts_total++
      case 'tool_result_recorded':
        return void of.beaver_tool_calls_total++
      case 'assistant_message_added':
        return data['delivered_from'] === undefined ? this.#call(data) : undefined
      case 'provider_call_failed':
      case 'model_call_lost':
      case 'model_call_paid':
      case 'context_summarized':
      case 'summary_refused':
        return this.#call(data)
      default: // All other events are counted nowhere.
    }
  }

  #call(data: SeenEvent['data']): void {
    if (Object.keys(data).length === 0) this.tokensMissing = true
    const used = (data['usage'] ?? {}) as Readonly<Record<string, number>>
    this.of.beaver_model_calls_total++
    for (const kind of ['input', 'output', 'cached_input', 'cache_write', 'reasoning'])
      this.of.beaver_model_tokens_total += used[`${kind}_tokens`] ?? 0
  }
}

export interface SeenMetrics {
  readonly violations: readonly Violation[]
  /** What each process shows, and the sums beside each other. */
  readonly text: string
}

interface Journal {
  readonly sums: JournalSums
  /** Tasks by status. */
  readonly ends: Readonly<Record<string, number>>
}

/** @param withinMs how long the projector may take to have the whole journal */
export async function seenMetrics(
  cluster: Cluster,
  journal: Journal,
  withinMs: number,
): Promise<SeenMetrics> {
  const daemonHome = join(cluster.folder, '.beaver')
  const gateway = await gatewayProcess({
    cwd: cluster.folder,
    env: {
      NATS_URL: cluster.server.url,
      BEAVER_NAMESPACE: cluster.namespace,
      BEAVER_HOME: daemonHome,
      BEAVER_STATUS_LISTEN: 'on',
    },
  })
  try {
    const projector = await projectorsMetrics(cluster, journal.sums.events, withinMs)
    await (await fetch(`${gateway.url}/api/ping`)).text()
    const others = await Promise.all(
      runningStatus(daemonHome).map(async ({ process, pid, url }) => ({
        process,
        pid,
        text: await textOf(url),
      })),
    )
    const daemons = others
      .filter(({ process }) => process === 'daemon')
      .map(({ text }) => readPrometheusText(text))
    const violations = [
      ...comparedWithJournal(readPrometheusText(projector), daemons, journal),
      ...(others.some(({ process }) => process === 'gateway')
        ? []
        : [broken('the gateway shows no metrics')]),
    ]
    const { sums } = journal
    const beside = counters.map((name) => {
      const least = name === 'beaver_model_tokens_total' && sums.tokensMissing ? 'at least ' : ''
      return `# ${name}: ${sumOf(daemons, name)} at the daemons that live, ${least}${sums.of[name]} in the journal`
    })
    const shown = [{ process: 'projector', pid: cluster.projectorPid, text: projector }, ...others]
    return {
      violations,
      text: [...beside, ...shown.map(({ process, pid, text }) => `# ---- ${process} ${pid}\n${text}`)].join(
        '\n',
      ),
    }
  } finally {
    gateway.kill('SIGTERM')
    await gateway.exited
  }
}

function comparedWithJournal(
  projector: Families,
  daemons: readonly Families[],
  { sums, ends }: Journal,
): Violation[] {
  const found: Violation[] = []
  const shown = Object.fromEntries(
    (projector.get('beaver_tasks')?.samples ?? [])
      .filter(({ value }) => value > 0)
      .map(({ labels, value }): [string, number] => [labels['status'] ?? '', value]),
  )
  for (const status of new Set([...Object.keys(shown), ...Object.keys(ends)]))
    if (shown[status] !== ends[status])
      found.push(
        broken(`beaver_tasks{status="${status}"} is ${shown[status]}, in the journal ${ends[status]}`),
      )
  // Events about the journal itself, such as new keys, are in no log of a task.
  if (sumOf([projector], 'beaver_journal_events') < sums.events)
    found.push(broken(`beaver_journal_events is below ${sums.events}`))
  for (const name of counters) {
    const counted = sumOf(daemons, name)
    const there = sums.of[name]
    const isKnown = name !== 'beaver_model_tokens_total' || !sums.tokensMissing
    if (isKnown && counted > there)
      found.push(broken(`${name} is ${counted} at the daemons that live, in the journal ${there}`))
  }
  for (const families of [projector, ...daemons])
    if (sumOf([families], 'beaver_nats_connected') !== 1) found.push(broken('beaver_nats_connected is not 1'))
  return found
}

const broken = (what: string): Violation => ({ rule: 'metrics are those of the journal', task: '', what })

const sumOf = (all: readonly Families[], name: string): number =>
  all.flatMap((families) => families.get(name)?.samples ?? []).reduce((sum, { value }) => sum + value, 0)

const textOf = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text()

/** The metrics of the projector, when it has the whole journal or the time is over. */
async function projectorsMetrics(cluster: Cluster, events: number, withinMs: number): Promise<string> {
  const deadline = Date.now() + withinMs
  for (;;) {
    const [found] = runningStatus(dirname(cluster.projectorFile)).filter(
      ({ process }) => process === 'projector',
    )
    const text = found === undefined ? '' : await textOf(found.url).catch(() => '')
    const isWhole = text !== '' && sumOf([readPrometheusText(text)], 'beaver_journal_events') >= events
    if (isWhole || Date.now() > deadline) return text
    await sleep(100)
  }
}
