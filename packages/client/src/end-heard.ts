// Hears that a task has ended, when a daemon announces it. The announcement is a hint: the journal has the
// end, and a daemon tells it.
import type { LogId } from '@beaver/core'
import type { Subjects } from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'

/**
 * Listens after `afterMs`, because most tasks end before that.
 *
 * @returns `heard` resolves when the end of the task is announced, and never otherwise
 */
export function endHeard(
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
