// The lanes of the message bus that a process serves now: each is read by its own consumer, one message at a
// time. A lane closes when nothing came for a second and nothing was published. A ring opens it again. A stop
// ends the wait for the next message at once, and lets the handlers finish.
import { pause, systemClock } from '@beaver/core'
import type { Consumer, JsMsg } from '@nats-io/jetstream'

const idleMs = 1_000
const lanesMax = 10_000
const reopenMs = 1_000

/** A lane that is served, and whether something was published in it meanwhile. */
export interface Lane {
  readonly subject: string
  rung: boolean
}

/** The lanes that are served now. What rings while all places are taken is found again by the next look. */
export class Lanes {
  readonly #open = new Map<string, Lane & { served: Promise<void> }>()
  readonly #serve: (lane: Lane) => Promise<void>
  readonly #signal: AbortSignal

  constructor(serve: (lane: Lane) => Promise<void>, signal: AbortSignal) {
    this.#serve = serve
    this.#signal = signal
  }

  ring(subject: string): void {
    const known = this.#open.get(subject)
    if (known !== undefined) known.rung = true
    else if (this.#open.size < lanesMax && !this.#signal.aborted) {
      const lane = { subject, rung: false, served: Promise.resolve() }
      this.#open.set(subject, lane)
      // A lane that fails, because the server is away or somebody deleted its consumer, is opened again by
      // the next look.
      lane.served = this.#serve(lane)
        .catch(() => pause(systemClock, reopenMs, this.#signal))
        .finally(() => this.#open.delete(subject))
    }
  }

  async ended(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ served }) => served))
  }
}

/** The next message of a lane. `null`: none came within a second, or `signal` aborted. */
export async function nextOf(consumer: Consumer, signal: AbortSignal): Promise<JsMsg | null> {
  const messages = await consumer.fetch({ max_messages: 1, expires: idleMs })
  const stop = (): void => void messages.close()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    for await (const message of messages) return message
    return null
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Keeps the lease of a message until the returned function is called. */
export function beating(message: JsMsg, everyMs: number): () => void {
  let timer = systemClock.after(everyMs, function beat() {
    message.working()
    timer = systemClock.after(everyMs, beat)
  })
  return () => timer.cancel()
}

/** Lets a number of callers in at a time, the others in their order. */
export class Turns {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  begin(): Promise<void> {
    if (this.#free === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#free--
    return Promise.resolve()
  }

  /** Each `begin` that resolved needs one. */
  end(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
