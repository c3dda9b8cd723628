// The state of a whole system, for somebody who looks at it again and again. Several readers within a second
// share one answer, so that many open pages cost the system no more than one. A daemon that was here and does
// not answer any more stays in the answer for a while, and so does what the projector said last: a part that
// died would otherwise only be missing.
import type { DaemonStatus, ProjectorStatus, RequestOutput, SystemState } from '@beaver/contracts'
import { BeaverError, messageOf, steadyClock, systemClock } from '@beaver/core'
import {
  askOneDaemon,
  lineOf,
  type PlacedStream,
  type PresentDaemon,
  shownUrl,
  standingOf,
  type StreamLook,
  type Subjects,
} from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'
import { answerMsMax, type Asked, asked, lookAtSystem } from './examine-system.ts'
import type { PatientRequests } from './patient-requests.ts'

/** How long an answer is given to other readers, in milliseconds. */
const freshMs = 1_000
/** How long one daemon may take to say what it holds, in milliseconds. */
const daemonMsMax = 2_000
/** How long a daemon that went away stays in the answer, in milliseconds. */
const goneMsMax = 15 * 60_000
const daemonsMax = 50
/** Of those that went away, at most so many are in the answer. */
const goneMax = 10
const budgetsMax = 50

type DaemonState = SystemState['daemons']['list'][number]
type Actors = RequestOutput<'actors'>

interface Place {
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly asks: Pick<PatientRequests, 'queryOnce' | 'budgetsOnce'>
}

export class SystemStates {
  readonly #place: Place
  /** The daemons that answered, with what they said last, by id. */
  readonly #daemons = new Map<string, DaemonState>()
  #projector: { readonly status: ProjectorStatus; readonly at: string } | null = null
  #answer: { readonly state: Promise<SystemState>; atMs: number } | null = null

  constructor(place: Place) {
    this.#place = place
  }

  read(): Promise<SystemState> {
    const known = this.#answer
    if (known !== null && steadyClock.now() - known.atMs < freshMs) return known.state
    // While it is being asked, everybody waits for it.
    const answer = { state: this.#read(), atMs: Infinity }
    this.#answer = answer
    void answer.state.then(
      () => (answer.atMs = steadyClock.now()),
      () => (answer.atMs = -Infinity),
    )
    return answer.state
  }

  async #read(): Promise<SystemState> {
    const { nc, subjects, asks } = this.#place
    const [found, budgets] = await Promise.all([
      lookAtSystem({
        nc,
        subjects,
        streams: undefined,
        projector: () => asks.queryOnce('status', {}, answerMsMax),
      }),
      asked(asks.budgetsOnce({ limit: budgetsMax }, answerMsMax)),
    ])
    const now = new Date(systemClock.now()).toISOString()
    if (found.projector.kind === 'answered') this.#projector = { status: found.projector.value, at: now }
    return {
      asked_at: now,
      nats: {
        server: shownUrl(nc.getServer()),
        version: nc.info?.version ?? 'of unknown version',
        connected: lineOf(nc).downMs === 0,
      },
      journal: journalOf(subjects.stream, found.look),
      streams:
        found.streams.kind === 'answered'
          ? { problem: null, list: found.streams.value.map(streamOf) }
          : { problem: found.streams.reason, list: [] },
      daemons: await this.#daemonsNow(found.daemons, now),
      projector: projectorOf(found.projector, this.#projector, found.look),
      tasks: tasksOf(found.projector),
      budgets:
        budgets.kind === 'answered'
          ? { problem: null, list: budgets.value.budgets, total: budgets.value.total ?? null }
          : { problem: budgets.reason, list: [], total: null },
    }
  }

  /** Asks each daemon that is present or was, and says why others do not answer. */
  async #daemonsNow(found: Asked<readonly PresentDaemon[]>, now: string): Promise<SystemState['daemons']> {
    const present = new Map(
      (found.kind === 'answered' ? found.value : []).map((each) => [each.daemon, each] as const),
    )
    const seenAt = new Map([...this.#daemons].map(([id, { seen_at }]) => [id, seen_at] as const))
    const { shown, leftOut } = shownDaemons([...present.keys()], seenAt, now)
    for (const id of this.#daemons.keys()) if (!shown.includes(id)) this.#daemons.delete(id)
    const list = await Promise.all(shown.map((id) => this.#daemonNow(id, present.get(id), now)))
    for (const each of list) if (each.state === 'answers') this.#daemons.set(each.daemon, each)
    const problem =
      found.kind === 'unanswered'
        ? found.reason
        : list.some(({ state }) => state === 'answers')
          ? null
          : list.some(({ state }) => state === 'silent')
            ? 'No daemon answers, but one has a connection: its process hangs. Tasks wait in the journal until it goes on, or until another one starts with "beaver up".'
            : 'No daemon answers. Start the system with "beaver up". Until then, tasks wait in the journal.'
    return { problem, list, left_out: leftOut }
  }

  async #daemonNow(id: string, present: PresentDaemon | undefined, now: string): Promise<DaemonState> {
    const at = { ...this.#place, timeoutMs: daemonMsMax }
    const [actors, status] = await Promise.all([
      answered(shortActors(at, id)),
      answered(askOneDaemon(at, id, 'status', { endpoints: 'known' })),
    ])
    return daemonOf(id, { present, actors, status, before: this.#daemons.get(id), now })
  }
}

/**
 * The daemons that an answer has: those that are there come first, then those that went away, the last one
 * first. Of many that went away, as after one crash after another, the last ones tell enough. Pure.
 *
 * @param seenAt when each known daemon answered last, by its id
 */
export function shownDaemons(
  present: readonly string[],
  seenAt: ReadonlyMap<string, string>,
  now: string,
): { readonly shown: readonly string[]; readonly leftOut: number } {
  const gone = [...seenAt]
    .filter(([id, at]) => !present.includes(id) && Date.parse(now) - Date.parse(at) <= goneMsMax)
    .toSorted(([, one], [, other]) => Date.parse(other) - Date.parse(one))
    .map(([id]) => id)
  const there = present.toSorted().slice(0, daemonsMax)
  return {
    shown: [...there, ...gone.slice(0, goneMax)],
    leftOut: present.length - there.length + Math.max(0, gone.length - goneMax),
  }
}

/** Asks for all tasks, too, if the daemon is too old to leave them out. */
async function shortActors(at: Parameters<typeof askOneDaemon>[0], id: string): Promise<Actors> {
  try {
    return await askOneDaemon(at, id, 'actors', { tasks: 'none' })
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'invalid_arguments')
      return askOneDaemon(at, id, 'actors', {})
    throw error
  }
}

/** What one daemon answered, or how it did not. */
export type Told<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'gone' | 'silent'; readonly reason: string }

async function answered<T>(question: Promise<T>): Promise<Told<T>> {
  try {
    return { kind: 'answered', value: await question }
  } catch (error) {
    const isGone = error instanceof BeaverError && error.code === 'no_daemon'
    return { kind: isGone ? 'gone' : 'silent', reason: messageOf(error) }
  }
}

interface DaemonTold {
  /** What it says when all daemons are asked who is there. `undefined`: nothing. */
  readonly present: PresentDaemon | undefined
  readonly actors: Told<Actors>
  readonly status: Told<DaemonStatus>
  /** What it said when it answered last. `undefined`: it never did. */
  readonly before: DaemonState | undefined
  readonly now: string
}

/** The state of one daemon, by what it says now and what it said before. Pure. */
export function daemonOf(id: string, { present, actors, status, before, now }: DaemonTold): DaemonState {
  const told = actors.kind === 'answered' ? actors.value : null
  const isThere = present !== undefined || told !== null
  const base: DaemonState = before ?? {
    daemon: id,
    state: 'answers',
    seen_at: now,
    problem: null,
    version: null,
    started_at: null,
    tasks: null,
    tasks_max: null,
    threads: [],
    threads_max: null,
    thread_restarts: null,
    refused: 0,
    journal_silent_ms: 0,
    journal_changed: null,
    endpoints: null,
  }
  if (!isThere) {
    const isGone = actors.kind === 'gone'
    const problem = isGone
      ? 'It has ended, or it is cut off from the server. Other daemons go on with its tasks, if there are any. If nobody stopped it, read logs/daemon.log.'
      : 'It does not answer, but the server still has its connection: its process hangs, or its machine is too busy. Look at the process, and at logs/daemon.log.'
    return { ...base, state: isGone ? 'gone' : 'silent', problem, tasks: null, threads: [], endpoints: null }
  }
  return {
    ...base,
    state: 'answers',
    seen_at: now,
    problem:
      actors.kind === 'silent' ? `It is there, but does not say what it holds: ${actors.reason}` : null,
    version: told?.version ?? base.version,
    started_at: told?.started_at ?? base.started_at,
    tasks: told?.tasks_driven ?? present?.tasks ?? null,
    tasks_max: told?.tasks_max ?? base.tasks_max,
    threads: (told?.threads ?? []).map(({ loops, answers }) => ({ loops, answers })),
    threads_max: told?.threads_max ?? base.threads_max,
    thread_restarts: told?.thread_restarts ?? null,
    refused: present?.refused ?? base.refused,
    journal_silent_ms: present?.journal_silent_ms ?? 0,
    journal_changed: present?.journal_changed ?? null,
    endpoints: status.kind === 'answered' ? (status.value.endpoints ?? null) : null,
  }
}

function journalOf(stream: string, look: StreamLook): SystemState['journal'] {
  switch (look.kind) {
    case 'there':
      return { stream, state: 'there', last_sequence: look.lastSequence, problem: null }
    case 'missing':
      return {
        stream,
        state: 'missing',
        last_sequence: null,
        problem: `The journal stream ${stream} does not exist: no daemon has made it yet, or somebody deleted it. "beaver doctor" says which.`,
      }
    case 'unknown':
      return {
        stream,
        state: 'unknown',
        last_sequence: null,
        problem: `The journal stream ${stream} does not answer: ${look.reason}. Read the log of the nats-server.`,
      }
    default:
      return look satisfies never
  }
}

/** A stream for a reader. Pure. */
export function streamOf(stream: PlacedStream): SystemState['streams']['list'][number] {
  const { name, what, messages, bytes, num_replicas, cluster, leader, followers, moving, refused } = stream
  return {
    ...{ name, what, messages, bytes, cluster, leader, moving },
    state: refused === true ? 'refused' : num_replicas === 0 ? 'silent' : 'answers',
    replicas: num_replicas,
    followers: [...followers],
    survives: standingOf(stream).survives,
  }
}

/** The projector, by what it says now or said last, and where the journal ends. Pure. */
export function projectorOf(
  told: Asked<ProjectorStatus>,
  last: { readonly status: ProjectorStatus; readonly at: string } | null,
  look: StreamLook,
): SystemState['projector'] {
  const status = last?.status ?? null
  const end = look.kind === 'there' ? look.lastSequence : null
  const isThere = told.kind === 'answered'
  const lag = status === null || end === null ? null : Math.max(0, end - status.sequence)
  return {
    problem: isThere ? null : told.reason,
    seen_at: last?.at ?? null,
    sequence: status?.sequence ?? null,
    behind: isThere ? (told.value.behind ?? lag) : lag,
    behind_since: isThere ? told.value.behind_since : null,
    moved_at: status?.moved_at ?? null,
    events: status?.events ?? null,
    quarantined: status?.quarantined ?? null,
    findings: status?.findings ?? null,
    tasks_broken: status?.tasks_broken ?? null,
    texts_behind: isThere ? told.value.texts_behind : null,
    fault: isThere ? told.value.fault : null,
  }
}

function tasksOf(told: Asked<ProjectorStatus>): SystemState['tasks'] {
  if (told.kind === 'unanswered')
    return {
      problem: 'Only the projector knows the tasks, and it does not answer.',
      total: null,
      by_status: {},
      waiting: null,
      oldest_submitted_at: null,
    }
  const { tasks, by_status, waiting, oldest_submitted_at } = told.value
  return { problem: null, total: tasks, by_status, waiting, oldest_submitted_at: oldest_submitted_at ?? null }
}
