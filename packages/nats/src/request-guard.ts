// Decides which messages of strangers an endpoint handles. The subject of a request names its caller.
// G1. An answer goes to an inbox only. A caller names the subject of the answer, and the server publishes it
// with the rights of this process: on a subject of the journal or of the JetStream API it would be a write or
// a command that the caller may not be allowed.
import { steadyClock } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'

export const requestBytesMax = 1024 * 1024
const replyCharsMax = 512

/**
 * Whether an answer may be published on a subject (G1). Inboxes begin with `_`: `_INBOX.` of a client without
 * a login, `_INBOX_<caller>.`, and the `_R_.` and `_GR_.` of a server that passes a request on. No other
 * subject of Beaver or of the server does.
 */
export function isInbox(subject: string): boolean {
  return subject.length <= replyCharsMax && /^_[A-Za-z0-9_=-]*\.[^\s*>]+$/.test(subject)
}

/** The open requests of one endpoint. One caller has at most three quarters, so that others are answered. */
export class OpenRequests {
  readonly #byCaller = new Map<string, number>()
  readonly #max: number
  readonly #perCallerMax: number
  #open = 0

  constructor(max: number) {
    this.#max = max
    this.#perCallerMax = Math.max(1, Math.floor((max * 3) / 4))
  }

  /**
   * Begins a request.
   * @param caller the subject of the request, which names the caller
   * @returns why it is refused, or the function that ends it
   */
  begin(caller: string): string | (() => void) {
    const own = this.#byCaller.get(caller) ?? 0
    if (this.#open >= this.#max) return `This endpoint handles ${this.#max} at a time`
    if (own >= this.#perCallerMax)
      return `This endpoint handles ${this.#perCallerMax} of one caller at a time`
    this.#open++
    this.#byCaller.set(caller, own + 1)
    return () => {
      this.#open--
      const left = (this.#byCaller.get(caller) ?? 1) - 1
      if (left === 0) this.#byCaller.delete(caller)
      else this.#byCaller.set(caller, left)
    }
  }
}

export const requestsPerSecondMax = 4_000
/**
 * How many requests an endpoint refuses with an answer in one second. It drops the others unread, because to
 * answer a flood costs as much as to serve it.
 */
const answeredRefusalsMax = 500

/** The requests of one endpoint in this second: `perCallerMax` of one caller, twice as many of all. */
export class RequestRate {
  readonly #byCaller = new Map<string, number>()
  readonly #perCallerMax: number
  readonly #nowMs: () => number
  #begunAtMs = -Infinity
  #all = 0
  #refused = 0

  /** @param nowMs a clock that only goes forward */
  constructor(perCallerMax: number, nowMs: () => number = steadyClock.now) {
    this.#perCallerMax = perCallerMax
    this.#nowMs = nowMs
  }

  /** Counts a request, and decides whether to `handle` it, to `refuse` it with an answer, or to `drop` it. */
  take(caller: string): 'handle' | 'refuse' | 'drop' {
    const now = this.#nowMs()
    if (now - this.#begunAtMs >= 1_000) {
      this.#begunAtMs = now
      this.#all = 0
      this.#refused = 0
      this.#byCaller.clear()
    }
    const own = this.#byCaller.get(caller) ?? 0
    if (own >= this.#perCallerMax || this.#all >= 2 * this.#perCallerMax)
      return ++this.#refused <= answeredRefusalsMax ? 'refuse' : 'drop'
    this.#all++
    this.#byCaller.set(caller, own + 1)
    return 'handle'
  }
}

const counts = new WeakMap<NatsConnection, number>()

/** Counts a message that this process could do nothing with. */
export function refused(nc: NatsConnection): void {
  counts.set(nc, refusedOn(nc) + 1)
}

/** How many messages of a connection were refused. */
export const refusedOn = (nc: NatsConnection): number => counts.get(nc) ?? 0
