// Follows one task to its end, and checks that a daemon still answers. Following ends with the task's last
// event, with `stopped` when the signal aborts, or with an error when nothing has answered for
// `silenceMsMax`. The signal does not cancel the task.
import { BeaverError, isTerminalTaskEvent, type LiveUpdate, messageOf, type FailedResult } from '@beaver/core'
import type { TaskStatus } from '@beaver/core/fold'
import type { RecordedEvent } from '@beaver/core/journal'
import type { Connection } from '../connection.ts'

export interface TaskEnd {
  readonly task_id: string
  readonly session_id: string
  readonly status: TaskStatus
  readonly result: FailedResult
}

/** How following ended: with the end of the task, or because `signal` aborted. */
export type Followed = { readonly kind: 'ended'; readonly end: TaskEnd } | { readonly kind: 'stopped' }

/** The part of a connection that following needs. */
export interface FollowedSystem extends Pick<Connection, 'daemonStatus'> {
  readonly client: Pick<Connection['client'], 'watch' | 'live'>
}

export interface FollowOptions {
  readonly signal: AbortSignal
  onEvent(event: RecordedEvent): void
  /** Receives the live updates of the task. Absent: they are not requested. */
  readonly onLive?: ((update: LiveUpdate) => void) | undefined
  /** The live updates, if the caller already listens to them. Default: this function begins to listen. */
  readonly live?: AsyncGenerator<LiveUpdate>
  /** Receives a sentence when nothing happens for some time. `null`: the trouble is over. */
  onNotice(notice: string | null): void
  /** If no event comes within this time, in milliseconds, the task counts as missing. Default: 60,000. */
  readonly firstEventMsMax?: number
  /** Whether the system has ended, so that no more events come. */
  readonly systemGone: () => boolean
}

const probeMs = 5_000
const goneMs = 1_000
const silenceMsMax = 60_000

/**
 * Follows the task.
 *
 * @throws {BeaverError} `not_found`, `no_daemon`, `unreachable`, `corrupt_journal`
 */
export async function followTask(
  connection: FollowedSystem,
  taskId: string,
  options: FollowOptions,
): Promise<Followed> {
  const over = new AbortController()
  const signal = AbortSignal.any([options.signal, over.signal])
  const given: { up: Error | null } = { up: null }
  const giveUp = (error: Error): void => {
    given.up ??= error
    over.abort()
  }
  let sessionId = ''
  let seen = false
  const first = setTimeout(() => {
    if (!seen)
      giveUp(new BeaverError('not_found', `There is no task ${taskId}. "beaver tasks" lists the tasks.`))
  }, options.firstEventMsMax ?? silenceMsMax)
  const watch = watchdog(connection, { onNotice: options.onNotice, giveUp })
  const gone = setInterval(() => {
    if (options.systemGone())
      giveUp(
        new BeaverError(
          'unreachable',
          `The system was stopped. The task ${taskId} is safe in the journal and continues with the next "beaver up".`,
        ),
      )
  }, goneMs)
  const { onLive } = options
  if (onLive !== undefined)
    void hear(options.live ?? connection.client.live(taskId, { signal }), { signal, onLive })

  try {
    for await (const event of until(connection.client.watch(taskId, { signal }), signal)) {
      seen = true
      watch.alive()
      if (event.type === 'task_submitted') sessionId = event.data.session_id
      options.onEvent(event)
      if (!isTerminalTaskEvent(event.type)) continue
      const status = event.type.slice('task_'.length) as TaskStatus
      return {
        kind: 'ended',
        end: { task_id: taskId, session_id: sessionId, status, result: event.data as FailedResult },
      }
    }
  } catch (error) {
    if (given.up === null && !options.signal.aborted) throw seen ? error : noJournal(error)
  } finally {
    clearTimeout(first)
    clearInterval(gone)
    watch.stop()
    over.abort()
  }
  if (given.up !== null) throw given.up
  if (options.signal.aborted) return { kind: 'stopped' }
  throw new BeaverError(
    'unreachable',
    `The connection to the journal was closed. The task continues. Follow it again with "beaver watch ${taskId}".`,
  )
}

/** Passes on the live updates. They are only hints, so an error ends them without a report. */
async function hear(
  live: AsyncGenerator<LiveUpdate>,
  { signal, onLive }: { signal: AbortSignal; onLive: (update: LiveUpdate) => void },
): Promise<void> {
  try {
    for await (const update of until(live, signal)) onLive(update)
  } catch {
    // The journal has the answer.
  }
}

/** The items of `items` until `signal` aborts, even if the next item never comes. */
async function* until<T>(items: AsyncGenerator<T>, signal: AbortSignal): AsyncGenerator<T> {
  const aborted = new Promise<null>((resolve) => {
    if (signal.aborted) resolve(null)
    else signal.addEventListener('abort', () => resolve(null), { once: true })
  })
  try {
    for (;;) {
      const next = items.next()
      next.catch(() => {}) // It may reject after it lost the race.
      const won = await Promise.race([next, aborted])
      if (won === null || won.done === true) return
      yield won.value
    }
  } finally {
    void items.return(undefined).catch(() => {})
  }
}

/**
 * While nothing happens, asks whether a daemon answers. Gives up when none has answered for `silenceMsMax`.
 */
function watchdog(
  connection: FollowedSystem,
  tell: { onNotice(notice: string | null): void; giveUp(error: Error): void },
): { alive(): void; stop(): void } {
  let lastAlive = Date.now()
  let asking = false
  let troubled = false
  const alive = (): void => {
    lastAlive = Date.now()
    if (troubled) tell.onNotice(null)
    troubled = false
  }
  const probe = async (): Promise<void> => {
    if (asking || Date.now() - lastAlive < probeMs) return
    asking = true
    try {
      await connection.daemonStatus()
      alive()
    } catch (error) {
      troubled = true
      tell.onNotice(
        `${messageOf(error)} The task is safe in the journal. It continues when a daemon claims it.`,
      )
      if (Date.now() - lastAlive > silenceMsMax) tell.giveUp(error as Error)
    } finally {
      asking = false
    }
  }
  const timer = setInterval(() => void probe(), probeMs)
  return { alive, stop: () => clearInterval(timer) }
}

/** The error of a server that has no journal: no system was ever started on it. */
function noJournal(error: unknown): unknown {
  if (!(error instanceof BeaverError && error.code === 'stream_missing')) return error
  return new BeaverError(
    'no_daemon',
    'This NATS server has no Beaver journal yet. Start the system with "beaver up".',
    { cause: error },
  )
}
