// When to read a stream again: what a reader without a consumer waits for. What is read, and from where, is the reader's.
// Three things wake it: a message that is published on the subject (the server passes it on before it is stored, so it says no
// more than that it is worth looking), a look at the stream once a second, and a line that is up again.
// W1. A stream that is deleted, made anew or cut short is an error that says so; a line that is down is not.
// W2. It ends when the reader's signal aborts or the connection is closed. W3. It leaves no subscription, timer or listener behind.
import { BeaverError, pause, systemClock } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { lineOf } from './line.ts'
import { type StreamLook, type StreamPulse, streamPulse } from './stream-pulse.ts'

/** When to read after a message was published that could not be read yet: a write takes its time to be durable. */
const chaseMs = [2, 4, 8, 16, 32, 64, 128, 256, 512] as const

export interface Waited {
  readonly stream: string
  /** Published messages of this subject, which may be a pattern, wake. */
  readonly subject: string
  /** The stream has other subjects too: this many looks at most that found it grown pass without a read. Default 1: none. */
  readonly looksMax?: number
  /** The stream that is meant, as in `streamIdentity`. Default: the one that is there at the first look. */
  readonly identity?: string | undefined
  readonly signal: AbortSignal
}

export class StreamWaker {
  readonly #stream: string
  readonly #looksMax: number
  readonly #pulse: StreamPulse
  readonly #ending = new AbortController()
  readonly #undo: (() => void)[] = []
  #identity: string | null
  /** Where the stream ended at the last look, and at the last look before the reader had read all of it. */
  #endSeen = 0
  #endRead = 0
  /** Messages that were published and not read yet, as far as was heard, and how often they were looked for. */
  #owed = 0
  #chased = 0
  /** Looks at the stream since the last read, and how many there are until the next. */
  #looks = 0
  #looksWanted = 1
  #wake = (): void => {}

  constructor(nc: NatsConnection, { stream, subject, looksMax = 1, identity, signal }: Waited) {
    this.#stream = stream
    this.#looksMax = looksMax
    this.#identity = identity ?? null
    this.#pulse = streamPulse(nc, stream)
    if (signal.aborted || nc.isClosed()) {
      this.#ending.abort()
      return
    }
    const published = nc.subscribe(subject, { callback: () => this.#rang() })
    this.#undo.push(() => void (published.isClosed() ? null : published.unsubscribe()))
    this.#undo.push(this.#pulse.follow(() => this.#looked()))
    signal.addEventListener('abort', this.stop, { once: true })
    this.#undo.push(() => signal.removeEventListener('abort', this.stop))
    this.#undo.push(lineOf(nc).onClosed(this.stop))
  }

  /** Aborts when the waker is over. */
  get signal(): AbortSignal {
    return this.#ending.signal
  }

  get over(): boolean {
    return this.#ending.signal.aborted
  }

  readonly stop = (): void => {
    this.#ending.abort()
    for (const undo of this.#undo.splice(0)) undo()
    this.#wake()
  }

  /** @throws {BeaverError} `stream_missing`, `stream_recreated` */
  async look(): Promise<void> {
    this.#check(await this.#pulse.look())
  }

  /** The reader has read this many messages. */
  read(messages: number): void {
    this.#owed = Math.max(0, this.#owed - messages)
    if (messages > 0) this.#looksWanted = 1
  }

  /**
   * Resolves when it is worth reading again, or when the waker is over.
   * @param endBefore where the stream ended, as `end` said it, before the reader read all there was
   * @throws {BeaverError} `stream_missing`, `stream_recreated`
   */
  async wait(endBefore: number): Promise<void> {
    this.#endRead = endBefore
    this.#looks = 0
    while (!this.over) {
      if (this.#owed > 0) {
        const pauseMs = chaseMs[this.#chased++]
        if (pauseMs !== undefined) return pause(systemClock, pauseMs, this.signal)
        this.#owed = 0 // what was published was refused, or is stored late: the next look at the stream finds it
      }
      await new Promise<void>((resolve) => (this.#wake = resolve))
      this.#wake = () => {}
      this.#check(this.#pulse.seen)
      if (this.#endSeen <= this.#endRead || this.#looks < this.#looksWanted) continue
      // It has grown without a word about the subject: mostly elsewhere.
      this.#looksWanted = Math.min(this.#looksMax, this.#looksWanted * 2)
      return
    }
  }

  /** Where the stream ended at the last look. */
  get end(): number {
    return this.#endSeen
  }

  #rang(): void {
    this.#owed++
    this.#chased = 0
    this.#wake()
  }

  #looked(): void {
    this.#looks++
    this.#wake()
  }

  #check(look: StreamLook): void {
    if (look.kind === 'unknown') return
    if (look.kind === 'missing') throw new BeaverError('stream_missing', `The stream ${this.#stream} does not exist.`)
    this.#identity ??= look.identity
    if (look.identity !== this.#identity) {
      throw new BeaverError('stream_recreated', `The stream ${this.#identity} was deleted, and made anew as ${look.identity}.`)
    }
    if (look.lastSequence < this.#endSeen) {
      const ends = `ended at ${this.#endSeen} and now ends at ${look.lastSequence}`
      throw new BeaverError('stream_recreated', `The stream ${this.#identity} ${ends}: its end was lost.`)
    }
    this.#endSeen = look.lastSequence
  }
}
