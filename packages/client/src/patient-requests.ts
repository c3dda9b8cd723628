// The requests of a client to daemons and to the projector: how long each may take, and what is repeated.
// Every request is harmless to repeat: the same submission, run or retry names the same task, and a query
// changes nothing. If a repeated command is refused, the journal tells whether the first one was carried out
// (carried-out.ts).
import {
  type CommandName,
  type DaemonStatus,
  imagePartBytesMax,
  mayBeAccepted,
  type QueryInput,
  type QueryName,
  type QueryOutput,
  type RequestInput,
  type RequestName,
  type RequestOutput,
  type RetriedTask,
  type SubmitTask,
  type SubmittedTask,
  type TaskOutcome,
} from '@beaver/contracts'
import {
  BeaverError,
  type Clock,
  type ErrorCode,
  type LogId,
  pause,
  steadyClock,
  systemClock,
} from '@beaver/core'
import { imageLimits } from '@beaver/core/images'
import type { TraceContext } from '@beaver/core/trace'
import {
  type AskAt,
  askDaemon,
  askProjector,
  leaveServer,
  lineOf,
  NotSent,
  presentDaemons,
  streamPulse,
  type Subjects,
} from '@beaver/nats'
import { type NatsConnection, RequestError, TimeoutError } from '@nats-io/nats-core'
import { notFresh, withIds } from './made-ids.ts'

/** How long a client waits for parts that are away. */
export interface Patience {
  /**
   * How long a daemon, the projector or NATS may be away, for example during a restart, before `no_daemon` or
   * `unreachable` is thrown. Default: 5,000.
   */
  readonly daemonMs?: number
  /** How long `run` waits before it repeats its request for the first time. Default: 15,000. */
  readonly askAgainMs?: number
  /**
   * How long NATS may be away while a task is watched or a session is read, before `unreachable` is thrown.
   * `Infinity`: no limit. Default: 30,000.
   */
  readonly watchMs?: number
}

const answerMsMax = 10_000
const submitMsMax = 30_000
/** How long a command or a submission waits before it is repeated for the first time. */
const commandMs = 3_000
const queryMsMax = 20_000
/** How long a reader of changes waits for the position of the projector. */
const positionMsMax = 2_000
/** How long `run` waits before it listens for the end of its task. */
const listenAfterMs = 2_000
/** How long the answer of `run` may take after the end of its task. */
const answerAfterEndMs = 1_000
/**
 * The answer, if it comes soon after the end of the task. On a server with users, a daemon that reconnected
 * meanwhile cannot answer.
 *
 * @throws {BeaverError} `timeout`
 */
async function answeredSoon<Answer>(asked: Promise<Answer>): Promise<Answer> {
  const answered = new AbortController()
  const late = pause(systemClock, answerAfterEndMs, answered.signal).then(() => {
    throw new BeaverError('timeout', 'The task has ended, and the daemon that was asked did not answer.')
  })
  try {
    return await Promise.race([asked, late])
  } finally {
    answered.abort()
  }
}

/** Whether a request without an answer may have reached a daemon. */
const mayHaveReached = (error: unknown): boolean =>
  error instanceof BeaverError &&
  (error.code === 'timeout' || error.code === 'unreachable' || error.code === 'no_daemon') &&
  !(error.cause instanceof NotSent || (error.cause instanceof RequestError && error.cause.isNoResponders()))

/** How long daemons have to report their presence. */
const presenceMs = 250
/** A daemon asks the journal each second, and has the answer sooner. */
const silentMsMin = 300

/** `leftMs`: for all attempts together. `mostMs`: for this attempt. */
interface AskTime {
  readonly leftMs: number
  readonly mostMs: number
  readonly trace?: TraceContext | undefined
}

export class PatientRequests {
  readonly #pace = new Pace()
  readonly #nc: NatsConnection
  readonly #subjects: Subjects
  readonly #askAgainMs: number
  readonly #repeated: Asking

  constructor(nc: NatsConnection, subjects: Subjects, { daemonMs = 5_000, askAgainMs = 15_000 }: Patience) {
    const line = lineOf(nc)
    const closed = (): boolean => nc.isClosed() || line.downMs > daemonMs
    this.#nc = nc
    this.#subjects = subjects
    this.#askAgainMs = askAgainMs
    this.#repeated = {
      repeatable: true,
      daemonMs,
      withinMs: submitMsMax,
      closed,
      elsewhere: () => void this.#elsewhere(),
    }
  }

  async submit({ trace, ...request }: SubmitTask): Promise<SubmittedTask> {
    const task = withIds(await this.#withParts(request))
    const begun = systemClock.now()
    let reached = false
    const ask = async (unanswered: number, leftMs: number): Promise<SubmittedTask> => {
      const time = { leftMs, mostMs: Math.min(commandMs * 2 ** unanswered, answerMsMax), trace }
      try {
        return await this.#askDaemon(time, 'task.submit', unanswered === 0 ? task : notFresh(task))
      } catch (error) {
        reached ||= mayHaveReached(error)
        throw error
      }
    }
    try {
      return await askAgain(ask, { ...this.#repeated, why: this.#why })
    } catch (cause) {
      if (
        !reached ||
        !(
          cause instanceof BeaverError &&
          (cause.code === 'timeout' || cause.code === 'unreachable' || cause.code === 'no_daemon')
        )
      )
        throw cause
      // The last of several attempts was short.
      const seconds = Math.round((systemClock.now() - begun) / 1000)
      const says =
        cause.cause instanceof TimeoutError ? `No daemon answered within ${seconds} s.` : cause.message
      const advice = mayBeAccepted(task.task_id)
      throw new BeaverError(cause.code, says.includes(advice) ? says : `${says} ${advice}`, { cause })
    }
  }

  /** @throws {BeaverError} `timeout` after `timeoutMs`: the task continues */
  async run({ trace, ...request }: SubmitTask, timeoutMs: number): Promise<TaskOutcome> {
    const task = withIds(await this.#withParts(request))
    const log = {
      tenant: this.#subjects.tenant,
      session: task.session_id ?? task.task_id,
      task: task.task_id,
    } as LogId
    const end = endHeard(this.#nc, this.#subjects, log, listenAfterMs)
    const ask = (unanswered: number, leftMs: number): Promise<TaskOutcome> => {
      const asked = this.#askDaemon(
        { leftMs, mostMs: this.#askAgainMs * 2 ** unanswered, trace },
        'task.run',
        unanswered === 0 ? task : notFresh(task),
      )
      return Promise.race([asked, end.heard.then(() => answeredSoon(asked))])
    }
    try {
      return await askAgain(ask, { ...this.#repeated, withinMs: timeoutMs, why: this.#why })
    } catch (cause) {
      if (!(cause instanceof BeaverError && cause.code === 'timeout')) throw cause
      const message = `The task ${task.task_id} did not end within ${timeoutMs / 1000} s. If Beaver accepted it, it continues. Ask again with its id, or watch it.`
      throw new BeaverError('timeout', message, { cause })
    } finally {
      end.stop()
    }
  }

  /**
   * @param carriedOut whether the journal has the command; asked if a repeated command is refused. Absent: the
   * `request_id` makes a repeated command harmless
   */
  async command<Name extends `task.${CommandName}`>(
    name: Name,
    asked: RequestInput<Name>,
    carriedOut?: () => Promise<boolean>,
  ): Promise<void> {
    const ask = async (unanswered: number, leftMs: number): Promise<void> => {
      try {
        await this.#askDaemon({ leftMs, mostMs: commandMs * 2 ** unanswered }, name, asked)
      } catch (error) {
        const refused =
          error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')
        if (!(unanswered > 0 && refused && (await carriedOut?.()) === true)) throw error
      }
    }
    await askAgain(ask, { ...this.#repeated, why: this.#why })
  }

  retry(asked: RequestInput<'task.retry'>, trace?: TraceContext): Promise<RetriedTask> {
    const ask = (_: number, leftMs: number): Promise<RetriedTask> =>
      this.#askDaemon({ leftMs, mostMs: answerMsMax, trace }, 'task.retry', asked)
    return askAgain(ask, { ...this.#repeated, why: this.#why })
  }

  /** Requests that are harmless to repeat: they change nothing, or change nothing the second time, or have an id. */
  harmless<
    Name extends 'budget.list' | 'budget.raise' | 'memory' | 'loaded' | 'plan' | 'profile.add_workflow',
  >(name: Name, asked: RequestInput<Name>): Promise<RequestOutput<Name>> {
    return askAgain((_, leftMs) => this.#askDaemon({ leftMs, mostMs: answerMsMax }, name, asked), {
      ...this.#repeated,
      why: this.#why,
    })
  }

  /** Asks only once, because the caller wants the current status. */
  status(timeoutMs = answerMsMax, asked: RequestInput<'status'> = {}): Promise<DaemonStatus> {
    return this.#askDaemon({ leftMs: timeoutMs, mostMs: timeoutMs }, 'status', asked)
  }

  /** Asks only once, for a caller that can do without the answer. */
  budgetsOnce(asked: RequestInput<'budget.list'>, timeoutMs: number): Promise<RequestOutput<'budget.list'>> {
    return this.#askDaemon({ leftMs: timeoutMs, mostMs: timeoutMs }, 'budget.list', asked)
  }

  query<Name extends QueryName>(name: Name, input: QueryInput<Name> | undefined): Promise<QueryOutput<Name>> {
    return askAgain((_, leftMs) => this.#askProjector({ leftMs, mostMs: answerMsMax }, name, input), {
      ...this.#repeated,
      withinMs: queryMsMax,
    })
  }

  /** Asks the projector only once, for a caller that can do without the answer. */
  queryOnce<Name extends QueryName>(
    name: Name,
    input: QueryInput<Name>,
    timeoutMs: number,
  ): Promise<QueryOutput<Name>> {
    return this.#askProjector({ leftMs: timeoutMs, mostMs: timeoutMs }, name, input)
  }

  /** The last message of the journal that the projector has applied. `null`: it does not answer now. */
  async position(): Promise<number | null> {
    try {
      return (await this.queryOnce('status', {}, positionMsMax)).sequence
    } catch {
      return null
    }
  }

  #withParts(task: SubmitTask): Promise<SubmitTask> {
    return withImageParts(task, async (data) => {
      const ask = (_: number, leftMs: number) =>
        this.#askDaemon({ leftMs, mostMs: answerMsMax }, 'image.store', { data })
      return (await askAgain(ask, { ...this.#repeated, why: this.#why })).sha256
    })
  }

  async #askDaemon<Name extends RequestName>(
    time: AskTime,
    name: Name,
    input: RequestInput<Name>,
  ): Promise<RequestOutput<Name>> {
    return askDaemon(await this.#turn(time), name, input)
  }

  async #askProjector<Name extends QueryName>(
    time: AskTime,
    name: Name,
    input: QueryInput<Name> | undefined,
  ): Promise<QueryOutput<Name>> {
    return askProjector(await this.#turn(time), name, input)
  }

  /** Resolves when a request may be sent. The wait counts for all attempts together, not for this one. */
  async #turn({ leftMs, mostMs, trace }: AskTime): Promise<AskAt> {
    const waitedMs = await this.#pace.turn(leftMs)
    return {
      nc: this.#nc,
      subjects: this.#subjects,
      timeoutMs: Math.min(mostMs, Math.max(1, leftMs - waitedMs)),
      trace,
    }
  }

  /** Leaves a server at which the journal does not answer, for one at which it does. */
  async #elsewhere(): Promise<void> {
    const { stream } = this.#subjects
    const late = pause(systemClock, 2 * presenceMs, new AbortController().signal).then(() => ({
      kind: 'unknown' as const,
    }))
    const { kind } = await Promise.race([streamPulse(this.#nc, stream).look(), late])
    if (kind === 'unknown') await leaveServer(this.#nc, stream)
  }

  /** Waiting is useless if daemons are there but the journal stream is missing: they accept nothing. */
  readonly #why = async (): Promise<BeaverError | 'waits' | null> => {
    const { stream } = this.#subjects
    if (lineOf(this.#nc).downMs > 0) return null
    const look = streamPulse(this.#nc, stream).look()
    // A stream without a leader says nothing for seconds, and the daemons know this.
    const late = pause(systemClock, 2 * presenceMs, new AbortController().signal).then(() => ({
      kind: 'unknown' as const,
    }))
    const [{ kind }, there] = await Promise.all([
      Promise.race([look, late]),
      presentDaemons(this.#nc, this.#subjects, { waitMs: presenceMs }),
    ])
    if (there.length === 0) return null
    if (kind === 'missing')
      return new BeaverError(
        'stream_missing',
        `The journal stream ${stream} does not exist, because somebody deleted it.`,
      )
    return there.some(({ journal_silent_ms: silentMs = 0 }) => silentMs > silentMsMin) ? 'waits' : null
  }
}

/**
 * Listens after `afterMs`, because most tasks end before that, for a daemon's announcement that the task
 * ended. The announcement is a hint; the journal has the end.
 *
 * @returns `heard` resolves when the end is announced, and never otherwise
 */
function endHeard(
  nc: NatsConnection,
  subjects: Subjects,
  log: LogId,
  afterMs: number,
): { readonly heard: Promise<void>; stop(): void } {
  const { promise: heard, resolve } = Promise.withResolvers<void>()
  let stop = (): void => clearTimeout(timer)
  const timer = setTimeout(() => {
    if (nc.isClosed()) return
    const subscription = nc.subscribe(subjects.ended(log), { callback: (error) => void (error ?? resolve()) })
    stop = () => void (subscription.isClosed() || subscription.unsubscribe())
  }, afterMs)
  return { heard, stop: () => stop() }
}

// Spreads the requests of a client over time, so that a program may make thousands of calls at once: a daemon
// drops what one caller sends too often (SECURITY.md).

/** Fewer than an endpoint handles of one caller in a second. */
const perSecond = 1_500
/** How many requests a client may send at once after a silence. */
const burst = 300

export class Pace {
  readonly #clock: Clock
  /** When the next request would be sent if all requests had the same distance. */
  #nextMs = -Infinity

  constructor(clock: Clock = steadyClock) {
    this.#clock = clock
  }

  /**
   * Resolves when the next request may be sent.
   *
   * @param leftMs how long the request may wait. If its turn would come later, it takes no turn
   * @returns how long it has waited, in milliseconds
   * @throws {BeaverError} `timeout` after `leftMs`
   */
  async turn(leftMs: number): Promise<number> {
    const now = this.#clock.now()
    const nextMs = Math.max(this.#nextMs, now - (burst * 1_000) / perSecond) + 1_000 / perSecond
    const waitMs = nextMs - now
    const isLate = waitMs > leftMs
    if (!isLate) this.#nextMs = nextMs
    if (waitMs > 0) await pause(this.#clock, Math.min(waitMs, leftMs), new AbortController().signal)
    if (isLate)
      throw new BeaverError(
        'timeout',
        `This program sends more than ${perSecond} requests a second, so this one had no turn within ${leftMs} ms.`,
      )
    return Math.max(0, waitMs)
  }
}

// Sends images that are too large for one message of NATS in parts, which a daemon stores before the task
// names them. The same image has the same parts, so a repeated request is the same request.

type Image = NonNullable<SubmitTask['images']>[number]

/** The most characters of all images within a request. The rest of the message is for texts. */
const inRequestCharsMax = 200_000

/**
 * The task with its images in parts, if they have too many characters for one message.
 *
 * @param store stores a part, in base64, and returns its SHA-256
 * @throws {BeaverError} `too_large` for an image beyond the limit
 */
export async function withImageParts(
  task: SubmitTask,
  store: (data: string) => Promise<string>,
): Promise<SubmitTask> {
  const { images = [] } = task
  const chars = images.reduce(
    (sum, image) => sum + (typeof image === 'object' && 'data' in image ? image.data.length : 0),
    0,
  )
  if (chars <= inRequestCharsMax) return task
  const sent: Image[] = []
  for (const image of images)
    sent.push(typeof image === 'object' && 'data' in image ? await inParts(image, store) : image)
  return { ...task, images: sent }
}

async function inParts(
  { data, ...rest }: Extract<Image, { data: string }>,
  store: (data: string) => Promise<string>,
): Promise<Image> {
  const { bytesMax } = imageLimits
  if (data.length > Math.ceil(bytesMax / 3) * 4)
    throw new BeaverError(
      'too_large',
      `An image has about ${Math.floor((data.length * 3) / 4)} bytes, and at most ${bytesMax} are taken. Make it smaller.`,
    )
  const parts: string[] = []
  const charsMax = Math.floor(imagePartBytesMax / 3) * 4
  for (let at = 0; at < data.length; at += charsMax) parts.push(await store(data.slice(at, at + charsMax)))
  return { parts, ...rest }
}

// Repeats a request until there is an answer. A daemon may be away for a moment, or may die during the
// request.
// Q1. A request is repeated only if no answer came. A refusal is an answer.
// Q2. If no daemon is there, the request is repeated for `daemonMs`, the time in which a daemon is started
// again. If a daemon was there before, it is repeated until the deadline.
// Q3. A request that must not be done twice is repeated only if nobody was there to do it. If something keeps
// daemons away permanently, the caller gets that error at once. If daemons are there and only wait for the
// journal, the request is repeated for `journalMsMax`: the servers of a cluster may be electing a leader.
// Q5. If nobody is there for `elsewhereMs`, the server of this connection may be cut off from the daemons,
// and the caller looks for another one.

export interface Asking {
  /** Whether a repeated request is harmless. */
  readonly repeatable: boolean
  /** How long no daemon may be there. */
  readonly daemonMs: number
  /** The time for all attempts together. */
  readonly withinMs: number
  /** Whether the connection cannot be used any more: it is closed, or was down for too long. */
  readonly closed: () => boolean
  /** Called when no daemon takes requests. Returns the lasting cause, `waits` for the journal, or `null`. */
  readonly why?: () => Promise<BeaverError | 'waits' | null>
  /** Looks for a better server of NATS. Default: there is none. */
  readonly elsewhere?: () => void
  readonly clock?: Clock
}

const pauseMsFirst = 100
/** The longest pause between attempts. Pauses double up to it, so that clients spare a busy daemon. */
const pauseMsMax = 1_000
/** The shortest time for the last attempt. */
const lastAskMs = 100
const journalMsMax = 20_000
const elsewhereMs = 1_000
const journalSilent =
  'The daemons are there, and the journal does not answer them, so they accept nothing now. "beaver status" names the log to read.'
const unanswered: ReadonlySet<ErrorCode> = new Set(['timeout', 'no_daemon', 'unreachable'])

/**
 * Repeats `ask` until there is an answer.
 *
 * @param ask makes one request; it gets the number of earlier requests that reached somebody without an
 * answer, and the time that is left
 * @throws {BeaverError} the refusal, or the reason why no answer came
 */
export async function askAgain<T>(
  ask: (unanswered: number, leftMs: number) => Promise<T>,
  { repeatable, daemonMs, withinMs, closed, why, elsewhere, clock = systemClock }: Asking,
): Promise<T> {
  const begun = clock.now()
  const until = begun + withinMs
  let giveUpAt = begun + Math.min(daemonMs, withinMs)
  let unansweredAsks = 0
  for (let pauseMs = pauseMsFirst; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    try {
      return await ask(unansweredAsks, until - clock.now())
    } catch (error) {
      if (!(error instanceof BeaverError && unanswered.has(error.code)) || closed()) throw error
      // A daemon that is stopping answers `no_daemon`, without a cause.
      const nobodyThere =
        (error.code === 'no_daemon' && error.cause instanceof RequestError) || error.cause instanceof NotSent
      if (!nobodyThere && !repeatable) throw error
      const lasting = nobodyThere ? ((await why?.()) ?? null) : null
      if (lasting instanceof BeaverError) throw lasting
      if (!nobodyThere) {
        giveUpAt = until
        unansweredAsks++
      } else if (lasting === 'waits') giveUpAt = Math.max(giveUpAt, Math.min(until, begun + journalMsMax))
      if (nobodyThere && clock.now() - begun >= elsewhereMs) elsewhere?.()
      if (giveUpAt - clock.now() <= lastAskMs)
        throw lasting === 'waits' ? new BeaverError('unreachable', journalSilent, { cause: error }) : error
    }
    await pause(clock, Math.min(pauseMs, giveUpAt - clock.now() - lastAskMs), new AbortController().signal)
  }
}
