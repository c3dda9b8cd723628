// Decides from the report of a running system what is wrong and what to do. The functions are pure, so that
// tests can show each fault. A fault is reported once, for the part that has it: if the journal is missing,
// the daemon and the projector are not reported as well.
import type { QueryOutput, TaskSummary } from '@beaver/contracts'
import { compareVersions, type PlacedStream, serverVersionTested, standingOf } from '@beaver/nats'
import type { SystemReport } from '../system/examine-system.ts'
import { bytes, counted, duration, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { fail, type Finding, ok, warn } from './check.ts'
import { daemonEndpoints } from './model-findings.ts'

const lagMax = 1_000
/** How long a projector may be behind without progress before it counts as stopped, in milliseconds. */
const stalledMs = 10_000
const silentMsMax = 2_000
const failedWithinMs = 3_600_000

/**
 * All findings about the system, in the order in which they are shown. `now` is in milliseconds since 1970.
 */
export function systemFindings(report: SystemReport, now: number): Finding[] {
  return [
    checkServer(report),
    ...checkVersion(report),
    ...checkSync(report),
    ...checkJournal(report),
    ...checkMessageSize(report),
    ...checkReplicas(report),
    ...checkRecord(report),
    checkDaemons(report),
    ...checkEndpoints(report),
    ...checkChanges(report),
    checkProjector(report, now),
    ...checkCheckpoints(report),
    ...checkTraces(report, now),
    ...checkWaits(report),
    ...checkTasks(report, now),
  ]
}

function checkServer({ server, version, pid }: SystemReport): Finding {
  const at = `${server}, nats-server ${version}`
  return ok('system', pid === null ? `uses ${at} with JetStream` : `runs here (process ${pid}): ${at}`)
}

/**
 * As far as is known, a server that is older than the tested version works, except for the faults that the
 * documentation names.
 */
function checkVersion({ version }: SystemReport): Finding[] {
  if (!/^\d/.test(version) || compareVersions(version, serverVersionTested) >= 0) return []
  const says = `nats-server ${version} is older than ${serverVersionTested}, on which Beaver is tested`
  return [
    warn(
      'nats version',
      says,
      'Upgrade it. Version 2.14.3 refuses some atomic batches that are valid (nats-server#8376).',
    ),
  ]
}

/** The default limit of a server. No event of a task is larger. */
const messageBytesUsual = 1_048_576

function checkMessageSize({ messageBytesMax }: SystemReport): Finding[] {
  if (messageBytesMax >= messageBytesUsual) return []
  const says = `The server takes messages of at most ${bytes(messageBytesMax)}. Tasks with larger events wait, and larger requests are refused`
  return [
    warn('message size', says, 'Set its "max_payload" to 1MB, which is its default. The tasks then go on.'),
  ]
}

function checkSync({ pid }: SystemReport): Finding[] {
  if (pid !== null) return []
  return [
    warn(
      'sync policy',
      'a server does not tell its clients how it syncs',
      'Make sure that its jetstream block contains "sync_interval: always". Otherwise a power failure can lose the last seconds of the journal.',
    ),
  ]
}

function checkJournal(report: SystemReport): Finding[] {
  const { look, stream, serverLog, daemons, daemon, projector } = report
  if (look.kind === 'unknown')
    return [
      fail(
        'journal',
        `The journal stream ${stream} does not answer: ${look.reason}.`,
        `Read ${logOf(serverLog)}.`,
      ),
    ]
  const readModel = projector.kind === 'answered' ? projector.value.stream : null
  // The projector and the daemons describe these faults of the journal more exactly, and `checkRecord`
  // reports them.
  if (look.kind === 'there' && journalOf(report).length > 0) return []
  if (look.kind === 'missing') {
    // No daemon has made the journal yet.
    if (daemons.length === 0 && daemon.kind === 'unanswered' && readModel === null) return []
    return [
      fail(
        'journal',
        `The journal stream ${stream} does not exist, because somebody deleted it. Beaver accepts no tasks.`,
        'Restore it from a backup with "beaver restore". Without a backup the tasks are lost: stop everything, delete the read model and start again.',
      ),
    ]
  }
  if (readModel !== null && readModel !== look.identity)
    return [
      fail(
        'journal',
        `The journal stream ${stream} was created again. The read model still shows the tasks of the old stream.`,
        'Restore the stream from a backup, or stop everything, delete projection-*.db in the home and start again.',
      ),
    ]
  return [ok('journal', `${stream}: ${counted(look.lastSequence, 'message')}`)]
}

/** Whether the loss of one server of a cluster would stop the system. A single server reports no cluster. */
function checkReplicas({ streams }: SystemReport): Finding[] {
  const placed = streams.filter(({ cluster }) => cluster !== null)
  if (placed.length === 0) return []
  const weak = placed.filter((stream) => !standingOf(stream).survives)
  const names = (of: readonly { readonly name: string }[]): string => of.map(({ name }) => name).join(', ')
  if (weak.length === 0)
    return [
      ok(
        'replicas',
        `${names(placed)} on ${counted(serversOf(placed).length, 'server')}: the loss of any one server stops neither. All streams: beaver nats`,
      ),
    ]
  const few = weak.filter(({ num_replicas: n }) => n === 1)
  if (few.length > 0) {
    const says = `${names(few)}: held by one server only. While it is away, no task goes on.`
    return [warn('replicas', says, 'Give the streams three replicas: beaver nats apply')]
  }
  const behind = [
    ...new Set(
      weak.flatMap(({ followers }) =>
        followers.filter(({ current }) => !current).map(({ server }) => server),
      ),
    ),
  ]
  const leaderless = weak.filter(({ leader }) => leader === null)
  const says =
    leaderless.length > 0
      ? `${names(leaderless)}: no server leads it now`
      : `${behind.join(', ')} is away or behind: the loss of one server more stops ${names(weak)}`
  return [
    warn(
      'replicas',
      says,
      `Look at the nats-servers${behind.length === 0 ? '' : `, first at ${behind.join(', ')}`}. "beaver nats" shows each stream.`,
    ),
  ]
}

const serversOf = (streams: readonly PlacedStream[]): string[] => [
  ...new Set(
    streams.flatMap(({ leader, followers }) => [
      ...(leader === null ? [] : [leader]),
      ...followers.map(({ server }) => server),
    ]),
  ),
]

const logOf = (serverLog: string | null): string => serverLog ?? 'the log of the nats-server'

/** Changes of files that the daemon has noticed and cannot use. */
function checkChanges({ daemon }: SystemReport): Finding[] {
  const changes = daemon.kind === 'answered' ? (daemon.value.changes_not_used ?? []) : []
  return changes.map(({ file, message }) =>
    warn(
      'changes',
      oneLine(`not used: ${file}: ${message}`, 600),
      'Correct the file. Until then the daemon goes on with what it had before the change.',
    ),
  )
}

function checkDaemons({ daemons, daemon, look, serverLog }: SystemReport): Finding {
  const silent = daemons.filter(({ journal_silent_ms: ms = 0 }) => ms > silentMsMax)
  if (daemon.kind === 'answered') {
    const { model, provider, skills } = daemon.value
    const name = provider === 'simulated' ? `simulated model (${model})` : model
    const driven = daemons.some(({ tasks }) => tasks !== undefined)
      ? daemons.reduce((sum, { tasks = 0 }) => sum + tasks, 0)
      : daemon.value.tasks
    const who =
      daemons.length > 1 ? `${counted(daemons.length, 'daemon')} answer` : `${daemon.value.daemon} answers`
    const says = `${who}: ${name}, ${counted(driven, 'task')} at work, ${counted(skills.length, 'skill')}`
    const refused = daemons.reduce((sum, { refused: n = 0 }) => sum + n, 0)
    if (silent.length === 0 && refused > 0)
      return warn(
        'daemon',
        `${says}; ${counted(refused, 'message')} refused that nobody can use`,
        'A client may have another version, or a stranger publishes on the subjects of Beaver. Read logs/daemon.log.',
      )
    if (silent.length === 0) return ok('daemon', says)
    const names = silent.map(
      ({ daemon: id, journal_silent_ms: ms = 0 }) => `the journal has not answered ${id} for ${duration(ms)}`,
    )
    return warn(
      'daemon',
      `${says}; ${names.join('; ')}`,
      'The daemon accepts no requests until the journal answers. Check its connection to NATS.',
    )
  }
  if (daemons.length > 0 && look.kind === 'there')
    return fail(
      'daemon',
      `${daemons.length === 1 ? '1 daemon is there and takes' : `${daemons.length} daemons are there and take`} no requests: the journal does not answer.`,
      `Read ${logOf(serverLog)}. Its disk may be full or may not respond.`,
    )
  if (daemons.length > 0)
    return warn(
      'daemon',
      `${counted(daemons.length, 'daemon')} ${daemons.length === 1 ? 'waits' : 'wait'} for the journal.`,
      'See above.',
    )
  return fail(
    'daemon',
    firstSentence(daemon.reason),
    'Start one with "beaver up". Until then, tasks wait in the journal.',
  )
}

/** The endpoints of the daemon that answered first. Other daemons may have other endpoints. */
function checkEndpoints({ daemon, daemons }: SystemReport): Finding[] {
  if (daemon.kind !== 'answered') return []
  const found = daemonEndpoints(daemon.value)
  if (daemons.length < 2) return found
  const others = `of ${daemon.value.daemon}; nobody looked at those of ${counted(daemons.length - 1, 'other daemon')}`
  return found.map((each) => ({ ...each, says: `${each.says} (${others})` }))
}

/** The tasks that wait for their model. To wait for a person is no fault. */
function checkWaits({ waiting }: SystemReport): Finding[] {
  const held = waiting.filter(({ status }) => status === 'waiting_for_provider')
  const [first] = held
  if (first === undefined) return []
  const says = `${counted(held.length, 'task')} ${held.length === 1 ? 'waits' : 'wait'} for a model: ${firstSentence(oneLine(first.wait?.reason ?? ''))}`
  return [warn('tasks', says, 'They go on when the model answers. Show them: beaver tasks --status waiting')]
}

function checkProjector({ projector, look }: SystemReport, now: number): Finding {
  if (projector.kind === 'unanswered')
    return fail(
      'projector',
      firstSentence(projector.reason),
      'Start it with "beaver up". The commands "tasks", "show" and "timeline" need it.',
    )
  const status = projector.value
  const lag = status.behind ?? (look.kind === 'there' ? Math.max(0, look.lastSequence - status.sequence) : 0)
  const upToDate = lag <= 1 ? 'up to date' : `${counted(lag, 'message')} behind`
  const says = `answers: ${counted(status.tasks, 'task')}, ${counted(status.events, 'event')}, ${upToDate}`
  if (status.tasks_broken > 0)
    return fail(
      'projector',
      `${says}; ${counted(status.tasks_broken, 'task')} with a broken record`,
      'Somebody changed the journal. Show the tasks with "beaver show <task>".',
    )
  if (status.quarantined > 0)
    return fail(
      'projector',
      `${says}; ${counted(status.quarantined, 'message')} in quarantine, which ${status.quarantined === 1 ? 'is no record' : 'are no records'}`,
      'Somebody who is no daemon can write to the journal. Show the messages with "beaver quarantine", and check who may publish on its subjects.',
    )
  const { fault, behind_since: since } = status
  if (
    fault !== null &&
    (fault.code === 'stream_missing' ||
      fault.code === 'stream_recreated' ||
      fault.code === 'journal_changed') &&
    look.kind !== 'unknown'
  )
    return warn('projector', `${says}; it waits for the journal`, 'See above.')
  if (fault !== null)
    return fail(
      'projector',
      `${says}; it has not continued since ${moment(fault.since, now)}: ${firstSentence(fault.message)}`,
      'Look at logs/projector.log.',
    )
  if (since !== null && now - Date.parse(since) > stalledMs)
    return fail(
      'projector',
      `${says}; it has applied nothing for ${duration(now - Date.parse(since))}`,
      'Read logs/projector.log, and start the projector again.',
    )
  return lag > lagMax
    ? warn('projector', says, 'It is catching up. Check again in a moment.')
    : ok('projector', says)
}

/** The checkpoints that do not fit the journal, and the places that did not receive the last checkpoint. */
function checkCheckpoints({ projector }: SystemReport): Finding[] {
  if (projector.kind !== 'answered') return []
  const { faults, targets } = projector.value.checkpoints
  const [unfit] = faults
  const failing = targets.flatMap(({ name, message }) => (message === null ? [] : [`${name}: ${message}`]))
  return [
    ...(unfit === undefined
      ? []
      : [
          fail(
            'checkpoints',
            `${counted(faults.length, 'checkpoint')} ${faults.length === 1 ? 'does' : 'do'} not fit the journal: ${unfit.from}. ${oneLine(unfit.message)}`,
            'Find out what changed with "beaver audit verify". Keep a copy of the journal and of the checkpoints.',
          ),
        ]),
    ...(failing.length === 0
      ? []
      : [
          warn(
            'checkpoints',
            `The last checkpoint did not get everywhere: ${failing.map((each) => oneLine(each)).join('; ')}`,
            'Check the key "checkpoints" of the configuration.',
          ),
        ]),
  ]
}

/** A collector of traces that takes nothing, or that refused spans within the last hour. */
function checkTraces({ projector }: SystemReport, now: number): Finding[] {
  const traces = projector.kind === 'answered' ? projector.value.traces : null
  if (traces === null || traces === undefined) return []
  const { problem, refusal, refused } = traces
  if (problem !== null)
    return [
      warn(
        'traces',
        `The collector of traces has taken no spans for ${duration(Math.max(0, now - Date.parse(problem.at)))}: ${oneLine(problem.message)}`,
        'Start the collector, or check "telemetry.traces.endpoint" and the variables that begin with OTEL_. No span is lost meanwhile.',
      ),
    ]
  if (refusal === null || now - Date.parse(refusal.at) > failedWithinMs) return []
  return [
    warn(
      'traces',
      `The collector of traces refused ${counted(refused, 'span')}: ${oneLine(refusal.message)}`,
      'Look at the log of the collector. These spans are left out.',
    ),
  ]
}

/** The tasks that failed within the last hour, by failure class. */
function checkTasks({ failed }: SystemReport, now: number): Finding[] {
  const recent = failed.filter(
    ({ ended_at: at }) => at !== null && at !== undefined && now - Date.parse(at) < failedWithinMs,
  )
  if (recent.length === 0) return []
  const byClass = Map.groupBy(recent, (task) => task.failure?.class ?? 'unknown')
  const says = [...byClass]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([name, tasks]) => `${tasks.length} ${name} (${reasonOf(tasks)})`)
  return [
    warn(
      'tasks',
      `${counted(recent.length, 'task')} failed within the last hour: ${says.join(', ')}`,
      'Show them: beaver tasks --status failed',
    ),
  ]
}

const reasonOf = ([newest]: readonly TaskSummary[]): string =>
  firstSentence(oneLine(newest?.failure?.message ?? '')).slice(0, 120)

const firstSentence = (text: string): string => text.split(/(?<=\.) /)[0] ?? text

// Decides what is wrong with the record: with the journal, as the projector and the daemons see it, and with
// the tasks that were compared with the journal just now. A fault that several processes report is shown
// once.

type JournalFinding = QueryOutput<'audit'>['journal'][number]

const shownMax = 10
const harmfulTodo =
  'No daemon writes until the journal is as before. Restore it from a backup that has everything, or accept it as it is: beaver audit accept --reason "…".'

const otherTodo =
  'Look at it with "beaver audit". If it is on purpose, accept it: beaver audit accept --reason "…".'

/** The faults of the journal and of the read model, each once. */
function journalOf({ projector, audit, daemons }: SystemReport): JournalFinding[] {
  const answeredFindings = [
    ...(projector.kind === 'answered' ? projector.value.journal : []),
    ...(audit.kind === 'answered' ? audit.value.journal : []),
  ]
  const byDaemons = daemons.flatMap(({ journal_changed: message }) =>
    message === undefined ? [] : [{ kind: 'daemon', message, harmful: true }],
  )
  return [
    ...new Map([...byDaemons, ...answeredFindings].map((finding) => [finding.message, finding])).values(),
  ]
}

function checkRecord(report: SystemReport): Finding[] {
  const found = journalOf(report)
  const { audit } = report
  // Unless somebody accepted the difference, the projector also reports a task that differs as a finding of
  // its own, so it is not reported twice.
  const differs =
    audit.kind === 'answered' && !found.some(({ kind }) => kind === 'rows_differ')
      ? (audit.value.verified?.differs ?? [])
      : []
  const more = found.length - shownMax
  return [
    ...found.slice(0, shownMax).map(findingOf),
    ...(more > 0 ? [warn('journal', counted(more, 'more finding'), 'Show them: beaver audit')] : []),
    ...differs
      .slice(0, shownMax)
      .map(({ task_id: id, messages }) =>
        fail('record', oneLine(`${id}: ${messages[0] ?? ''}`), `Look at it: beaver show ${id}`),
      ),
  ]
}

/** A changed setting may be intended, so it is a warning. Changed rows and messages are a fault. */
function findingOf({ kind, message, harmful }: JournalFinding): Finding {
  if (harmful) return fail('journal', oneLine(message), harmfulTodo)
  return kind === 'configuration'
    ? warn('journal', oneLine(message), otherTodo)
    : fail('record', oneLine(message), otherTodo)
}
