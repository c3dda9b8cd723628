// The changes of the read model over core NATS: the projector publishes them, clients follow them. Core NATS
// may lose messages. Each message names the one before, so a follower notices a loss at the next message, and
// after each reconnect of either side the follower is told to ask again.
import { type Change, type ChangedMessage, changedMessage, MergedChanges } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import { type NatsConnection, PermissionViolationError } from '@nats-io/nats-core'
import { lineOf } from './line.ts'
import type { Subjects } from './subjects.ts'

/** How a projector publishes changes. */
export interface ChangePublisher {
  /**
   * Publishes a message. It never throws: nobody hears a message while the line is down, and without the
   * right to publish nothing more is sent.
   */
  publish(message: ChangedMessage): void
  /** Calls `back` each time the line is up again, until the returned function is called. */
  onUp(back: () => void): () => void
}

export function changePublisher(nc: NatsConnection, { changed }: Pick<Subjects, 'changed'>): ChangePublisher {
  let isRefused = false
  void (async () => {
    for await (const status of nc.status())
      if (status.type === 'error' && isRefusalOf(status.error, changed)) isRefused = true
  })()
  const send = (message: ChangedMessage): void => nc.publish(changed, JSON.stringify(message))
  return {
    publish(message) {
      if (isRefused || nc.isClosed() || nc.isDraining() || lineOf(nc).downMs > 0) return
      try {
        send(message)
      } catch {
        // The server may take only small messages.
        if (!nc.isClosed()) send({ ...message, reset: true, tasks: [] })
      }
    },
    onUp: (back) => lineOf(nc).onUp(back),
  }
}

const isRefusalOf = (error: unknown, subject: string): boolean =>
  error instanceof PermissionViolationError && error.subject === subject

export interface FollowChanges {
  /** Gives the last message of the journal that the projector has applied. `null`: nobody answers. */
  readonly position: () => Promise<number | null>
  readonly signal: AbortSignal
}

/**
 * Follows the changes, with `hello` first. Changes that the reader does not take in time are merged, and many
 * of them become one `reset`. It ends when `signal` aborts, or when the connection is closed.
 *
 * @throws {BeaverError} `not_allowed` if the login may not hear of changes
 */
export async function* followChanges(
  nc: NatsConnection,
  { changed }: Pick<Subjects, 'changed'>,
  { position, signal }: FollowChanges,
): AsyncGenerator<Change> {
  const heard = new HeardChanges()
  let [wake, over, refusal] = [(): void => {}, signal.aborted, null as Error | null]
  const end = (): void => {
    over = true
    wake()
  }
  const subscription = nc.subscribe(changed, {
    callback(error, message) {
      if (error !== null) {
        refusal = error
        return end()
      }
      heard.hear(message.data)
      wake()
    },
  })
  void subscription.closed.then(end)
  const forget = lineOf(nc).onUp(() => {
    heard.merged.reset()
    wake()
  })
  signal.addEventListener('abort', end, { once: true })
  try {
    await nc.flush() // From here on the server passes every change on.
    const at = over ? null : await position()
    if (!over) yield { kind: 'hello', sequence: at }
    for (;;) {
      const next = over ? null : heard.merged.take()
      if (next !== null) yield next
      else if (over) break
      else await new Promise<void>((resolve) => (wake = resolve))
    }
    if (refusal !== null)
      throw new BeaverError(
        'not_allowed',
        'This login may not hear which tasks changed. "beaver nats-config" shows the permissions of each role.',
        { cause: refusal },
      )
  } finally {
    signal.removeEventListener('abort', end)
    forget()
    if (!subscription.isClosed()) subscription.unsubscribe()
  }
}

/** How many projectors a follower knows apart. A restarted one is another one. */
const projectorsMax = 16

/** What came from the projectors. A message that does not follow the one before makes a reset. */
export class HeardChanges {
  readonly merged = new MergedChanges()
  /** The sequence of the last message of each projector, the newest one last. */
  readonly #last = new Map<string, number>()

  /** Other messages than those of projectors are left out. */
  hear(data: Uint8Array): void {
    const read = changedMessage.safeParse(jsonOf(data))
    if (!read.success) return
    const { projector, after, sequence, reset, tasks } = read.data
    const last = this.#last.get(projector)
    this.#last.delete(projector)
    this.#last.set(projector, sequence)
    for (const [oldest] of this.#last)
      if (this.#last.size > projectorsMax) this.#last.delete(oldest)
      else break
    if (reset || (last !== undefined && last !== after)) this.merged.reset(sequence)
    else this.merged.add(sequence, tasks)
  }
}

function jsonOf(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data).toString())
  } catch {
    return null
  }
}
