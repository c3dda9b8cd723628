// Who waits for the end of a task: the requests of `task.run`.
// E1. A wait ends with the task's terminal event, wherever the task was driven. E2. The news comes from this daemon, else from
//     another's announcement (a hint), else from a look at the journal: a lost hint costs time, never the answer.
// E3. Who waits when the daemon goes away is told so: the task goes on elsewhere, and can be asked for again.
// E4. A task that waits for long is looked at ever more seldom.
import { BeaverError, type DomainEvent, guarded, type Logger, type LogId, logKey, type TaskState, TransientMap } from '@beaver/core'
import { logOf, type Subjects } from '@beaver/nats'
import type { NatsConnection, Subscription } from '@nats-io/nats-core'

/** How a task ended. */
type TaskEnd = NonNullable<TaskState['ended']>

/** The event as the end of a task; `null` when it is none. */
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
  /** @throws {BeaverError} `no_daemon` when this daemon goes away first */
  wait(log: LogId): Promise<TaskEnd>
  /** This daemon ended a task; `end` when it knows how. */
  ended(log: LogId, end: TaskEnd | null): void
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
}

export function watchEndings(
  nc: NatsConnection,
  subjects: Subjects,
  of: { held: (log: LogId) => boolean; read: (log: LogId) => Promise<TaskEnd | null>; logger: Logger },
): Endings {
  const waiting = new TransientMap<string, Wait>()
  let hints: Subscription | null = null

  function settle(log: LogId, end: TaskEnd | null): void {
    const key = logKey(log)
    if (!waiting.has(key)) return
    const tell = (known: TaskEnd | null): void => {
      if (known === null) return
      waiting.get(key)?.told.resolve(known)
      waiting.delete(key)
    }
    if (end !== null) tell(end)
    else of.read(log).then(tell, () => {}) // the next look tries again
  }

  /** Tasks that another daemon drives, or nobody: listen to announcements, and look for what they missed. */
  const timer = setInterval(() => {
    const elsewhere = [...waiting.values()].filter(({ log }) => !of.held(log))
    if (elsewhere.length > 0) hints ??= nc.subscribe(subjects.anyEnded, { callback: guarded(of.logger, 'announcements of ended tasks', heard) })
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

  /** The subject names the task: what the message holds is of no use to anybody. */
  const heard = (_: Error | null, message: { readonly subject: string }): void => settle(logOf(message.subject), null)

  return {
    wait(log) {
      const wait = waiting.get(logKey(log)) ?? {
        log,
        told: Promise.withResolvers<TaskEnd>(),
        lookAt: performance.now() + hintMs,
        lookMs: lookMsMin,
      }
      waiting.set(logKey(log), wait)
      return wait.told.promise
    },
    ended: settle,
    close() {
      clearInterval(timer)
      hints?.unsubscribe()
      for (const { log, told } of waiting.values())
        told.reject(
          new BeaverError('no_daemon', `The daemon that was asked is going away; the task ${log.task} goes on. Ask again with its id for its result.`),
        )
      waiting.clear()
    },
  }
}
