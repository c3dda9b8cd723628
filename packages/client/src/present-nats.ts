// Bounds reads from NATS that have no own limit: a watch of a task, the events of a session. If NATS is away
// for longer than `awayMs`, the read ends with `unreachable`; a shorter absence only costs time. Failures of
// NATS become a BeaverError.
import { BeaverError, systemClock } from '@beaver/core'
import { lineOf, natsFault } from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'

/**
 * The items of `read`, while NATS is present.
 *
 * @param read gets a signal that aborts with `signal`, or when NATS was away for too long
 * @throws {BeaverError} `unreachable`, `timeout`; and what `read` throws
 */
export async function* whilePresent<Item>(
  nc: NatsConnection,
  awayMs: number,
  signal: AbortSignal,
  read: (within: AbortSignal) => AsyncGenerator<Item>,
): AsyncGenerator<Item> {
  const line = lineOf(nc)
  let gone: BeaverError | null = null
  /** Rejects the read under way. */
  let giveUp: (error: BeaverError) => void = () => {}
  const over = new AbortController()
  let timer: { cancel(): void } | null = null
  const cut = (): void => {
    timer ??= systemClock.after(awayMs, () => giveUp((gone = awayFor(awayMs))))
  }
  const back = (): void => {
    timer?.cancel()
    timer = null
  }
  const undo = [line.onCut(cut), line.onUp(back)]
  if (line.downMs > 0) cut()
  const items = read(AbortSignal.any([signal, over.signal]))
  // Each read has its own promise. A race with one lasting promise would keep something of every read.
  const nextItem = (): Promise<IteratorResult<Item>> =>
    new Promise((resolve, reject) => {
      if (gone !== null) return reject(gone)
      giveUp = reject
      items.next().then(resolve, reject)
    })
  let waiting = false
  try {
    for (;;) {
      waiting = true
      const next = await nextItem()
      waiting = false
      if (next.done === true) return
      yield next.value
    }
  } catch (error) {
    throw natsFault(error)
  } finally {
    back()
    for (const each of undo) each()
    over.abort()
    const ended = items.return(undefined).catch(() => {})
    // Without NATS the read may hang until its own timeout. Nothing waits for it.
    if (!waiting) await ended
  }
}

const awayFor = (ms: number): BeaverError =>
  new BeaverError(
    'unreachable',
    `NATS has been away for more than ${ms / 1000} s. Open tasks go on when it is back. Check the server, and ask again.`,
  )
