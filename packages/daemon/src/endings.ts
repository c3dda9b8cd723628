// Waits for the ends of tasks, for the requests of `task.run`, whichever daemon drives the task. The news
// comes from this daemon, from another daemon's announcement (a hint), or from a look at the journal, so a
// lost hint only delays the answer. The pauses between looks grow up to `lookMsMax`.
import { BeaverError, type DomainEvent, guarded, type Logger, type LogId, logKey } from '@beaver/core'
import type { TaskState } from '@beaver/core/fold'
import { logOf, type Subjects } from '@beaver/nats'
import type { NatsConnection, Subscription } from '@nats-io/nats-core'

/** How a task ended. */
type TaskEnd = NonNullable<TaskState['ended']>

/** Returns the event if it ends a task, else `null`. */
export function endOf(event: DomainEvent | null): TaskEnd | null {
  switch (event?.type) {
    case 'task_completed':
    case 'task_incomplete':
    case 'task_failed':
    case 'task_cancelled':
      return event
    default:
      return null
  }
}

export interface Endings {
  /**
   * @throws {BeaverError} `no_daemon` if this daemon stops first: the task continues elsewhere, and the
   * caller can ask again; the code of `read` if the task's log does not verify
   */
  wait(log: LogId): Promise<TaskEnd>
  /** Call it when this daemon ended a task. `end`: `null` if it is not known. */
  ended(log: LogId, end: TaskEnd | null): void
  /** Call it when nobody drives a task any more. */
  gaveUp(log: LogId, error: BeaverError): void
  close(): void
}

const lookMsMin = 1_000
const lookMsMax = 15_000
const hintMs = 50

interface Wait {
  readonly log: LogId
  readonly told: PromiseWithResolvers<TaskEnd>
  lookAt: number
  lookMs: number
  /**
   * Whether its log is being read. An announcement during a read leads to one more, because the end may be
   * behind what is being read.
   */
  reading: 'no' | 'yes' | 'again'
}

export interface EndingsOf {
  readonly held: (log: LogId) => boolean
  readonly read: (log: LogId) => Promise<TaskEnd | null>
  /** Whether an error of `read` is permanent, because the log does not verify. */
  readonly isFinal: (error: unknown) => error is BeaverError
  readonly logger: Logger
}

/** One reading at a time. */
function readFor(wait: Wait, read: () => Promise<void>): void {
  if (wait.reading !== 'no') {
    wait.reading = 'again'
    return
  }
  wait.reading = 'yes'
  void read().finally(() => {
    const again = wait.reading === 'again'
    wait.reading = 'no'
    if (again) readFor(wait, read)
  })
}

export function watchEndings(nc: NatsConnection, subjects: Subjects, of: EndingsOf): Endings {
  const waiting = new Map<string, Wait>()
  let hints: Subscription | null = null

  function gaveUp(log: LogId, error: Error): void {
    waiting.get(logKey(log))?.told.reject(error)
    waiting.delete(logKey(log))
  }

  function settle(log: LogId, end: TaskEnd | null): void {
    const key = logKey(log)
    const wait = waiting.get(key)
    if (wait === undefined) return
    const tell = (known: TaskEnd | null): void => {
      if (known === null) return
      waiting.get(key)?.told.resolve(known)
      waiting.delete(key)
    }
    if (end !== null) tell(end)
    else
      readFor(wait, () =>
        of.read(log).then(tell, (error: unknown) => (of.isFinal(error) ? gaveUp(log, error) : undefined)),
      ) // Otherwise the next look tries again.
  }

  /** Looks at the journal for tasks of other daemons, in case an announcement was lost. */
  const timer = setInterval(() => {
    const elsewhere = [...waiting.values()].filter(({ log }) => !of.held(log))
    if (elsewhere.length > 0)
      hints ??= nc.subscribe(subjects.anyEnded, {
        callback: guarded(of.logger, 'announcements of ended tasks', heard),
      })
    else if (hints !== null) {
      hints.unsubscribe()
      hints = null
    }
    const now = performance.now()
    for (const wait of elsewhere) {
      if (wait.lookAt > now) continue
      wait.lookAt = now + wait.lookMs
      wait.lookMs = Math.min(2 * wait.lookMs, lookMsMax)
      settle(wait.log, null)
    }
  }, hintMs)

  /** The subject names the task. The content of the message is not needed. */
  const heard = (_: Error | null, message: { readonly subject: string }): void =>
    settle(logOf(message.subject), null)

  return {
    wait(log) {
      const wait: Wait = waiting.get(logKey(log)) ?? {
        log,
        told: Promise.withResolvers<TaskEnd>(),
        lookAt: performance.now() + hintMs,
        lookMs: lookMsMin,
        reading: 'no',
      }
      waiting.set(logKey(log), wait)
      return wait.told.promise
    },
    ended: settle,
    gaveUp,
    close() {
      clearInterval(timer)
      hints?.unsubscribe()
      for (const { log, told } of waiting.values())
        told.reject(
          new BeaverError(
            'no_daemon',
            `The daemon is going away. The task ${log.task} continues. Ask again with its id for its result.`,
          ),
        )
      waiting.clear()
    },
  }
}
