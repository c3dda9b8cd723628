// Follows the journal: first the stored entries, then new ones, in order and without gaps, also after the
// line was lost. It makes no consumer: it reads pages by direct get (direct-read.ts), and stream-waker.ts
// says when. At most two pages are held: the one that is given out, and the next.
import { BeaverError, type LogId, pause, systemClock, type SystemLogName } from '@beaver/core'
import { type Backoff, pauseBefore } from '@beaver/core/supervision'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { type Page, readLast, readPage, type StoredMessage, StreamAbsent } from './direct-read.ts'
import { findLog } from './journal-reader.ts'
import { lineOf } from './line.ts'
import { natsFault } from './nats-fault.ts'
import { StreamWaker } from './stream-waker.ts'
import type { Subjects } from './subjects.ts'

/** One entry of any log, with its place in the stream. */
export interface FeedMessage {
  readonly sequence: number
  readonly log: LogId
  readonly payload: Uint8Array
  readonly signature: string | undefined
}

/** One entry of a system log, with its place in the stream. */
export interface SystemFeedMessage {
  readonly sequence: number
  readonly name: SystemLogName
  readonly payload: Uint8Array
  readonly signature: string | undefined
}

/** A message of the stream that belongs to no log, because its subject is none that Beaver writes. */
export interface StrayMessage {
  readonly sequence: number
  readonly subject: string
  readonly payload: Uint8Array
}

export interface FeedBatch {
  readonly messages: readonly FeedMessage[]
  /** The entries of system logs in the same part of the stream. Empty if one log is followed. */
  readonly system: readonly SystemFeedMessage[]
  /** Every message that was read, also those that are no entries. */
  readonly stored: readonly StoredMessage[]
  /** The last sequence that was read; 0 if nothing was read. */
  readonly to: number
  readonly strays: readonly StrayMessage[]
  /** Whether nothing more was stored when the batch was read. */
  readonly caughtUp: boolean
}

export interface FollowWanted {
  /** The first sequence to read. */
  readonly from: number
  /** Follow only this log. Default: all logs. */
  readonly log?: LogId
  /** The identity that the stream must have, as a look gives it. Default: the identity that it has now. */
  readonly identity?: string
  /** Reports unreadable messages, at the end only after a few looks. Only a follow of all logs does this. */
  readonly onGap?: (gap: Gap) => void
  readonly signal: AbortSignal
}

/** The first and the last sequence that cannot be read. */
export interface Gap {
  readonly from: number
  readonly to: number
}

const messagesMax = 1_000
const retryMsMax = 2_000
const backoff: Backoff = { pauseMsMin: 20, pauseMsMax: retryMsMax, jitter: false }
/** While only other logs grow, a follow of one log reads after at most this many looks at the stream. */
const looksMax = 30

/**
 * Gives batches of entries. The first batch may be empty: it says that the follow has begun. The follow ends
 * when `signal` aborts or the connection is closed on purpose.
 * @throws {BeaverError} `stream_missing`, `stream_recreated` (also if the stream was truncated);
 * `unreachable` if an error closes the connection
 */
export async function* followJournal(
  nc: NatsConnection,
  subjects: Subjects,
  { from, log, identity, onGap, signal }: FollowWanted,
): AsyncGenerator<FeedBatch> {
  const { stream } = subjects
  const published = log === undefined ? subjects.logs : subjects.log(log)
  const waker = new StreamWaker(nc, {
    stream,
    subject: published,
    looksMax: log === undefined ? 1 : looksMax,
    identity,
    signal,
  })
  try {
    await waker.look()
    for await (const page of log === undefined
      ? pages(nc, waker, { stream, from, onGap })
      : pagesOfLog(nc, waker, { subjects, log, from })) {
      yield batchOf(subjects, page)
    }
    await throwWhyClosed(nc, signal)
  } finally {
    waker.stop()
  }
}

function batchOf(subjects: Subjects, page: Page): FeedBatch {
  const messages: FeedMessage[] = []
  const system: SystemFeedMessage[] = []
  const strays: StrayMessage[] = []
  for (const { sequence, subject, payload, signature } of page.messages) {
    const name = subjects.systemNameOf(subject)
    if (name !== null) system.push({ sequence, name, payload, signature })
    const log = subjects.entryLog(subject)
    if (log !== null) messages.push({ sequence, log, payload, signature })
    else if (subjects.isStray(subject)) strays.push({ sequence, subject, payload })
  }
  return {
    messages,
    system,
    strays,
    stored: page.messages,
    to: page.messages.at(-1)?.sequence ?? 0,
    caughtUp: !page.more,
  }
}

/**
 * Gives the entries of one task's log from the first one on, in whichever session the task is, and waits for
 * a task that does not exist yet. It ends and throws as `followJournal`.
 */
export async function* followLog(
  nc: NatsConnection,
  subjects: Subjects,
  { tenant, task, signal }: { tenant: string; task: string; signal: AbortSignal },
): AsyncGenerator<FeedBatch> {
  const log = await taskThatComes(nc, subjects, { tenant, task, signal })
  if (log !== null) yield* followJournal(nc, subjects, { from: 1, log, signal })
  else await throwWhyClosed(nc, signal)
}

/** Returns `null` if the waker is over before the task's log exists. */
async function taskThatComes(
  nc: NatsConnection,
  subjects: Subjects,
  { tenant, task, signal }: { tenant: string; task: string; signal: AbortSignal },
) {
  const waker = new StreamWaker(nc, {
    stream: subjects.stream,
    subject: subjects.taskIdClaims(tenant, task),
    looksMax,
    signal,
  })
  try {
    await waker.look()
    while (!waker.over) {
      const end = waker.end
      const log = await untilAnswered(nc, waker, () => findTaskNear(nc, subjects, tenant, task))
      if (log !== null) return log
      await waker.wait(end)
    }
    return null
  } finally {
    waker.stop()
  }
}

/** The first entry of a log, then all later ones: two subjects, each named exactly (D4 in direct-read.ts). */
async function* pagesOfLog(
  nc: NatsConnection,
  waker: StreamWaker,
  { subjects, log, from }: { subjects: Subjects; log: LogId; from: number },
): AsyncGenerator<Page> {
  const { stream } = subjects
  let first: Page | null = null
  while (!waker.over && (first === null || first.messages.length === 0)) {
    const end = waker.end
    first = await untilAnswered(nc, waker, () =>
      readPage(nc, stream, {
        from: 1,
        subject: subjects.accepted(log),
        messagesMax: 1,
        signal: waker.signal,
      }),
    )
    waker.read(first?.messages.length ?? 0)
    if (first?.messages.length === 0) await waker.wait(end)
  }
  const [accepted] = first?.messages ?? []
  if (accepted !== undefined && accepted.sequence >= from) yield { messages: [accepted], more: true }
  yield* pages(nc, waker, { stream, subject: subjects.events(log), from })
}

/** Gives each page that is not empty until the waker is over, and reads the next page meanwhile. */
async function* pages(nc: NatsConnection, waker: StreamWaker, wanted: PagesOf): AsyncGenerator<Page> {
  const gaps = new Gaps(wanted)
  let from = wanted.from
  const next = async (): Promise<Page | null> => {
    const page = await untilAnswered(nc, waker, () =>
      readPage(nc, wanted.stream, { from, subject: wanted.subject, messagesMax, signal: waker.signal }),
    )
    from = (page?.messages.at(-1)?.sequence ?? from - 1) + 1
    waker.read(page?.messages.length ?? 0)
    return page
  }
  let begun = false
  while (!waker.over) {
    const end = waker.end
    let coming: Promise<Page | null> | null = next()
    while (coming !== null) {
      const page: Page | null = await coming
      coming = page?.more === true ? next() : null
      coming?.catch(() => {}) // It is awaited in the next turn, or no longer needed.
      if (page !== null) gaps.read(page)
      if (page !== null && (page.messages.length > 0 || !begun)) yield page
      begun = true
    }
    gaps.caughtUp(end)
    await waker.wait(end)
  }
}

interface PagesOf {
  readonly stream: string
  readonly subject?: string
  readonly from: number
  readonly onGap?: ((gap: Gap) => void) | undefined
}

/** Finds what a follow of all messages did not get. The watch asks whether an archive explains the gap. */
class Gaps {
  readonly #onGap: (gap: Gap) => void
  #next: number
  /** How often in a row the end could not be read: a copy of the stream may be a moment behind. */
  #endMissed = 0

  constructor({ from, subject, onGap = () => {} }: PagesOf) {
    this.#next = from
    this.#onGap = subject === undefined ? onGap : () => {}
  }

  read({ messages }: Page): void {
    for (const { sequence } of messages) {
      if (sequence > this.#next) this.#onGap({ from: this.#next, to: sequence - 1 })
      this.#next = sequence + 1
    }
    if (messages.length > 0) this.#endMissed = 0
  }

  /** @param end where the stream ended before everything was read */
  caughtUp(end: number): void {
    if (end < this.#next) this.#endMissed = 0
    else if (++this.#endMissed === endMissedMax) this.#onGap({ from: this.#next, to: end })
  }
}

const endMissedMax = 3

/** Asks again while the server cannot be reached. Returns `null` if the waker is over. */
async function untilAnswered<T>(
  nc: NatsConnection,
  waker: StreamWaker,
  ask: () => Promise<T>,
): Promise<T | null> {
  for (let tries = 1; !waker.over; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (waker.over) return null
      if (!(error instanceof StreamAbsent) && !(error instanceof BeaverError)) throw error
      await lineOf(nc).up(retryMsMax)
      await waker.look()
      await pause(systemClock, pauseBefore(tries, backoff), waker.signal)
    }
  }
  return null
}

async function throwWhyClosed(nc: NatsConnection, signal: AbortSignal): Promise<void> {
  if (signal.aborted || !nc.isClosed()) return
  const cause = await nc.closed()
  if (cause instanceof Error)
    throw new BeaverError('unreachable', `The journal cannot be followed: ${cause.message}.`, { cause })
}

/**
 * Finds the log of a task by its id alone; `null` if there is none. The leader answers: it is never stale.
 */
export async function findTask(
  nc: NatsConnection,
  subjects: Subjects,
  tenant: string,
  task: string,
): Promise<LogId | null> {
  return findLog(await jetstreamManager(nc, { checkAPI: false }), subjects, tenant, task)
}

/**
 * The same from the nearest copy of the stream, which costs less and may be a moment behind.
 * @throws as `readLast`
 */
async function findTaskNear(
  nc: NatsConnection,
  subjects: Subjects,
  tenant: string,
  task: string,
): Promise<LogId | null> {
  const own = { tenant, session: task as string, task } as LogId
  const [claim, accepted] = await Promise.all([
    readLast(nc, subjects.stream, subjects.taskId(tenant, task)),
    readLast(nc, subjects.stream, subjects.accepted(own)),
  ])
  if (claim === null && accepted === null) return null
  // The first message of a subject decides, and these reads give the last one. If both exist, or a stranger
  // may have published the last one, the leader is asked.
  if (claim !== null)
    return findTask(nc, subjects, tenant, task).catch((error: unknown) => {
      throw natsFault(error)
    })
  return own
}
