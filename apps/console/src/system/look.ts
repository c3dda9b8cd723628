// What a state of the system means for the one who looks: what is wrong and what to do, how fast things go, and
// which endpoints the daemons share. Pure.
import type { SystemState } from '@beaver/contracts'
import { durationText, numberText } from '../parts/time.ts'

type Daemon = SystemState['daemons']['list'][number]
type Stream = SystemState['streams']['list'][number]

/** Something that is wrong, and what to do. `fail`: work stands still, or the record is in doubt. */
export interface Trouble {
  readonly level: 'fail' | 'warn'
  readonly what: string
  readonly todo: string
  /** Where the console has more of it. */
  readonly at?: '/inbox'
}

const lagMax = 1_000
const stalledMs = 10_000
const silentMsMax = 2_000

/** Everything that is wrong, the worst first. `now` is in milliseconds. */
export function troublesOf(state: SystemState, now: number): readonly Trouble[] {
  const found = [
    ...ofServer(state),
    ...ofDaemons(state),
    ...missingOf(state.daemons.list).map(away),
    ...state.daemons.list.flatMap((each) => ofDaemon(each, state.gateway?.version ?? null)),
    ...endpointsOf(state).flatMap(ofEndpoint),
    ...ofProjector(state, now),
    ...ofBudgets(state),
  ]
  return found.toSorted((a, b) => (a.level === b.level ? 0 : a.level === 'fail' ? -1 : 1))
}

function ofServer({ nats, journal, streams }: SystemState): Trouble[] {
  if (!nats.connected)
    return [
      {
        level: 'fail',
        what: `The gateway has no connection to the nats-server ${nats.server}.`,
        todo: 'Start the server, or correct its address. The gateway connects again by itself.',
      },
    ]
  return [
    ...(journal.problem === null
      ? []
      : [{ level: 'fail' as const, what: journal.problem, todo: 'Until then Beaver accepts no tasks.' }]),
    ...(streams.problem === null || journal.problem !== null
      ? []
      : [
          {
            level: 'warn' as const,
            what: `The streams are not known: ${streams.problem}`,
            todo: 'Look at the log of the nats-server.',
          },
        ]),
    ...streams.list.flatMap(ofStream),
  ]
}

function ofStream(stream: Stream): Trouble[] {
  const { name, state, cluster, survives, replicas, leader, followers } = stream
  if (state === 'refused')
    return [
      {
        level: 'warn',
        what: `The nats-server does not let the gateway ask about the stream ${name}.`,
        todo: 'Write the users of the server again with "beaver nats-config", and load them.',
      },
    ]
  if (state === 'silent' || (cluster !== null && leader === null))
    return [
      {
        level: 'fail',
        what: `No server leads the stream ${name} now.`,
        todo: 'Look at the nats-servers. "beaver nats" shows each stream.',
      },
    ]
  if (cluster === null || survives) return []
  const away = followers.filter(({ current }) => !current).map(({ server }) => server)
  return [
    {
      level: 'warn',
      what:
        replicas === 1
          ? `One server alone holds the stream ${name}. While it is away, no task goes on.`
          : `${away.length === 0 ? 'A server' : away.join(', ')} is away or behind: the loss of one server more stops the stream ${name}.`,
      todo:
        replicas === 1
          ? 'Give the streams three replicas: beaver nats apply'
          : 'Look at this nats-server first.',
    },
  ]
}

function ofDaemons({ daemons, tasks }: SystemState): Trouble[] {
  if (daemons.problem !== null)
    return [
      {
        level: 'fail',
        what: 'No daemon answers, so no task goes on.',
        todo: 'Start the system with "beaver up". Until then, tasks wait in the journal.',
      },
    ]
  const { used, all } = slotsOf(daemons.list)
  const queue = tasks.by_status['submitted'] ?? 0
  if (all === 0 || used < all || queue === 0) return []
  return [
    {
      level: 'warn',
      what: `All ${numberText(all)} slots are taken, and ${counted(queue, 'task')} wait.`,
      todo: 'Start another daemon, or raise daemon.tasks_max.',
    },
  ]
}

const away = ({ daemon, state, problem }: Daemon): Trouble => ({
  level: state === 'silent' ? 'fail' : 'warn',
  what: `${daemon} does not answer any more.`,
  todo: problem ?? '',
})

/** The daemons that went away, and for which no other one has begun since. */
function missingOf(daemons: readonly Daemon[]): readonly Daemon[] {
  const gone = daemons
    .filter(({ state }) => state === 'gone')
    .toSorted((a, b) => a.seen_at.localeCompare(b.seen_at))
  const firstGone = Date.parse(gone[0]?.seen_at ?? '')
  const others = daemons.filter(
    ({ state, started_at: began }) => state === 'answers' && began !== null && Date.parse(began) >= firstGone,
  )
  return gone.slice(others.length)
}

function ofDaemon(daemon: Daemon, version: string | null): Trouble[] {
  const { daemon: id, state, problem, threads, threads_max: max } = daemon
  if (state !== 'answers') return state === 'silent' ? [away(daemon)] : []
  const warn = (what: string, todo: string): Trouble => ({ level: 'warn', what: `${id} ${what}`, todo })
  const blocked = threads.filter(({ answers }) => !answers).length
  const lost = daemon.thread_restarts ?? 0
  return [
    ...(problem === null
      ? []
      : [warn('does not say what it holds.', `${problem} Look again in a moment, then at logs/daemon.log.`)]),
    ...(daemon.journal_changed === null
      ? []
      : [
          {
            level: 'fail' as const,
            what: `${id} writes nothing: ${daemon.journal_changed}`,
            todo: 'Restore the journal from a backup, or accept it as it is: beaver audit accept --reason "…".',
          },
        ]),
    ...(daemon.journal_silent_ms > silentMsMax
      ? [
          warn(
            `has no answer of the journal for ${durationText(daemon.journal_silent_ms)}.`,
            'It accepts no requests meanwhile. Check its connection to NATS.',
          ),
        ]
      : []),
    ...(blocked > 0
      ? [
          warn(
            `has ${counted(blocked, 'thread')} that did not answer within half a second.`,
            'A tool may keep it busy. If it lasts, the daemon replaces the thread.',
          ),
        ]
      : []),
    ...(lost > 0
      ? [
          warn(
            `lost ${counted(lost, 'thread')} a while ago${max === null ? '' : ` of ${numberText(max)}`}.`,
            'Read logs/daemon.log: it says which task ran there.',
          ),
        ]
      : []),
    ...(daemon.refused > 0
      ? [
          warn(
            `refused ${counted(daemon.refused, 'message')} that nobody can use.`,
            'A client may have another version, or a stranger publishes on the subjects of Beaver. Read logs/daemon.log.',
          ),
        ]
      : []),
    ...(version !== null && daemon.version !== null && daemon.version !== version
      ? [
          warn(
            `runs version ${daemon.version}, and the gateway ${version}.`,
            'Start the older one again with the version of the other.',
          ),
        ]
      : []),
  ]
}

function ofEndpoint({ names, model, host, open }: SharedEndpoint): Trouble[] {
  const where = `${names.join(', ')}: ${model}${host === null ? '' : ` at ${host}`}`
  const [first] = open
  return [
    ...(first === undefined
      ? []
      : [
          {
            level: 'warn' as const,
            what: `${where} is not asked now, because its last answers were failures${first.reason === null ? '.' : `: ${first.reason}`}`,
            todo: 'Check the endpoint, its key and the network. Beaver asks again by itself, and tasks wait or take the fallback.',
          },
        ]),
  ]
}

function ofProjector({ projector, journal }: SystemState, now: number): Trouble[] {
  const { problem, behind, behind_since: since, fault, quarantined, tasks_broken: broken } = projector
  const lag = behind === null || behind <= 1 ? '' : ` It is ${counted(behind, 'message')} behind the journal.`
  const record = [
    ...((broken ?? 0) > 0
      ? [
          {
            level: 'fail' as const,
            what: `${counted(broken ?? 0, 'task')} with a broken record.`,
            todo: 'Somebody changed the journal. "beaver audit" shows the tasks.',
          },
        ]
      : []),
    ...((quarantined ?? 0) > 0
      ? [
          {
            level: 'fail' as const,
            what: `${counted(quarantined ?? 0, 'message')} of the journal in quarantine, which nobody can read as a record.`,
            todo: 'Somebody who is no daemon can write to the journal. Show them with "beaver quarantine", and check who may publish on its subjects.',
          },
        ]
      : []),
  ]
  if (problem !== null)
    return [
      {
        level: 'fail',
        what: `The projector does not answer, so lists and figures are missing or old.${lag}`,
        todo: 'Start it with "beaver up", or read logs/projector.log. Tasks go on without it.',
      },
      ...record,
    ]
  if (fault !== null)
    return [
      {
        level: 'fail',
        what: `The projector does not go on: ${fault.message}${lag}`,
        todo: journal.problem === null ? 'Read logs/projector.log.' : 'It waits for the journal.',
      },
      ...record,
    ]
  if (since !== null && now - Date.parse(since) > stalledMs)
    return [
      {
        level: 'fail',
        what: `The projector has applied nothing for ${durationText(now - Date.parse(since))}.${lag}`,
        todo: 'Read logs/projector.log, and start the projector again.',
      },
      ...record,
    ]
  return behind !== null && behind > lagMax
    ? [{ level: 'warn', what: `The projector catches up.${lag}`, todo: 'Look again in a moment.' }, ...record]
    : record
}

function ofBudgets({ budgets }: SystemState): Trouble[] {
  const waiting = budgets.list.reduce((sum, each) => sum + each.waiting_tasks, 0)
  if (waiting === 0) return []
  return [
    {
      level: 'warn',
      what: `${counted(waiting, 'task')} wait, because a budget that tasks share is used up.`,
      todo: 'Give more in the inbox.',
      at: '/inbox',
    },
  ]
}

/** The tasks that all daemons drive, and how many they could. Daemons that do not answer have no slots. */
export function slotsOf(daemons: readonly Daemon[]): { readonly used: number; readonly all: number } {
  const there = daemons.filter(({ state }) => state === 'answers')
  return {
    used: there.reduce((sum, { tasks }) => sum + (tasks ?? 0), 0),
    all: there.reduce((sum, { tasks_max: max }) => sum + (max ?? 0), 0),
  }
}

/** An endpoint of all daemons that ask it. */
export interface SharedEndpoint {
  /** What it is asked for: model, fallback, and so on. */
  readonly names: readonly string[]
  readonly provider: string
  readonly model: string
  readonly host: string | null
  readonly daemons: number
  readonly requestsMax: number | null
  readonly tokensMax: number | null
  /** The daemons that do not ask it now. */
  readonly open: readonly { readonly daemon: string; readonly ms: number; readonly reason: string | null }[]
  /** The longest wait for a turn, in milliseconds. */
  readonly waitMs: number
}

/** The endpoints of all daemons, those of one model at one place together. */
export function endpointsOf({ daemons }: Pick<SystemState, 'daemons'>): readonly SharedEndpoint[] {
  const all = daemons.list.flatMap(({ daemon, endpoints }) =>
    (endpoints ?? []).map((endpoint) => ({ daemon, ...endpoint })),
  )
  const groups = Map.groupBy(all, ({ provider, model, host }) => JSON.stringify([provider, model, host]))
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const open = new Map(
      group
        .filter((each) => each.circuit_open_ms > 0)
        .map((each) => [
          each.daemon,
          { daemon: each.daemon, ms: each.circuit_open_ms, reason: each.last_failure ?? null },
        ]),
    )
    return [
      {
        names: [...new Set(group.map(({ name }) => name))],
        provider: first.provider,
        model: first.model,
        host: first.host,
        daemons: new Set(group.map(({ daemon }) => daemon)).size,
        requestsMax: first.requests_per_minute_max ?? null,
        tokensMax: first.tokens_per_minute_max ?? null,
        open: [...open.values()],
        waitMs: Math.max(...group.map((each) => each.wait_ms ?? 0)),
      },
    ]
  })
}

/** What the figures were at one moment, for rates. */
export interface Sample {
  readonly atMs: number
  readonly events: number
  readonly tasks: number
}

const samplesMs = 60_000

/** The samples of the last minute, with that of a new state. A state without figures begins anew. */
export function withSample(samples: readonly Sample[], state: SystemState): readonly Sample[] {
  const { events } = state.projector
  if (state.projector.problem !== null || events === null) return []
  const atMs = Date.parse(state.asked_at)
  const last = samples.at(-1)
  if (last !== undefined && atMs <= last.atMs) return samples
  const next = { atMs, events, tasks: endedOf(state) }
  // The read model was built again, or events were archived.
  if (last !== undefined && (next.events < last.events || next.tasks < last.tasks)) return [next]
  return [...samples.filter((each) => atMs - each.atMs <= samplesMs), next]
}

const endedStates = ['completed', 'incomplete', 'failed', 'cancelled'] as const
const endedOf = ({ tasks }: SystemState): number =>
  endedStates.reduce((sum, status) => sum + (tasks.by_status[status] ?? 0), 0)

/** How many tasks ended a minute, and events came a second. `null`: there is only one sample. */
export function ratesOf(
  samples: readonly Sample[],
): { readonly tasksAMinute: number; readonly eventsASecond: number; readonly overMs: number } | null {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || last.atMs === first.atMs) return null
  const overMs = last.atMs - first.atMs
  return {
    tasksAMinute: ((last.tasks - first.tasks) * 60_000) / overMs,
    eventsASecond: ((last.events - first.events) * 1_000) / overMs,
    overMs,
  }
}

/** A rate with at most two digits that say something: 0, 0.3, 4.2, 120. */
export const rateText = (value: number): string =>
  value === 0 ? '0' : value < 0.1 ? '< 0.1' : value < 10 ? value.toFixed(1) : numberText(Math.round(value))

export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let [value, at] = [bytes, 0]
  while (value >= 999.5 && at < units.length - 1) [value, at] = [value / 1_000, at + 1]
  return `${value < 10 && at > 0 ? value.toFixed(1) : Math.round(value)} ${units[at]}`
}

/** "1 task", "12 tasks". */
export const counted = (n: number, what: string): string => `${numberText(n)} ${what}${n === 1 ? '' : 's'}`

/** The row above the tasks that wait for a person, a provider or a limit. */
export const waits = 'waits'

export interface TasksRow {
  readonly status: string
  readonly n: number
  /** Of which row it is a part. */
  readonly of?: typeof waits
}

/** How many tasks are in each state: those that are open first, and those that wait below one sum. */
export function rowsOfTasks(byStatus: SystemState['tasks']['by_status']): readonly TasksRow[] {
  const all = Object.entries(byStatus).map(([status, n]): TasksRow => ({ status, n }))
  const waiting = all.filter(({ status }) => status.startsWith('waiting_for_'))
  const isOpen = ({ status }: TasksRow): boolean => status === 'submitted' || status === 'running'
  return [
    ...all.filter(isOpen),
    ...(waiting.length === 0 ? [] : [{ status: waits, n: waiting.reduce((sum, { n }) => sum + n, 0) }]),
    ...waiting.map((each): TasksRow => ({ ...each, of: waits })),
    ...all.filter((each) => !isOpen(each) && !waiting.includes(each)),
  ]
}
