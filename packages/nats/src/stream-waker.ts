// Tells a reader without a consumer when to read a stream again: after a message on the subject, after a look
// at the stream once a second, and when the line is up again. The server passes a published message on before
// it stores it, so the message is only a hint. A line that is down is no error.
// W2. It ends when the reader's signal aborts, or when the connection is closed. It leaves no subscription,
// timer or listener behind.
import { BeaverError, pause, systemClock } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { lineOf } from './line.ts'
import { type StreamLook, type StreamPulse, streamPulse } from './stream-pulse.ts'

/** The pauses before each read while a published message cannot be read, because it is not durable yet. */
const chaseMs = [2, 4, 8, 16, 32, 64, 128, 256, 512] as const

export interface Waited {
  readonly stream: string
  /** Messages on this subject wake the reader. It may be a pattern. */
  readonly subject: string
  /**
   * If the stream has other subjects too and grows without a message of this subject, at most this many looks
   * go by before a read. Default: 1, so that each such look leads to a read.
   */
  readonly looksMax?: number
  /** The identity that the stream must have, as a look gives it. Default: the identity at the first look. */
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
  /** The end of the stream at the last look, and at the last look before the reader had read everything. */
  #endSeen = 0
  #endRead = 0
  /** How many published messages were heard and not read yet, and how many reads were made to find them. */
  #owed = 0
  #chased = 0
  /** How many looks there were since the last read, and after how many the next read is due. */
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

  /** Aborts when the waker is over: it was stopped, or W2 ended it. */
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

  read(messages: number): void {
    this.#owed = Math.max(0, this.#owed - messages)
    if (messages > 0) this.#looksWanted = 1
  }

  /**
   * Resolves when it is worth reading again, or when the waker is over.
   * @param endBefore the value of `end` before the reader read all messages
   * @throws {BeaverError} `stream_missing`; `stream_recreated`, also if the stream was truncated
   */
  async wait(endBefore: number): Promise<void> {
    this.#endRead = endBefore
    this.#looks = 0
    while (!this.over) {
      if (this.#owed > 0) {
        const pauseMs = chaseMs[this.#chased++]
        if (pauseMs !== undefined) return pause(systemClock, pauseMs, this.signal)
        this.#owed = 0 // The published message was refused, or it is stored late. In the second case the next look at the stream finds it.
      }
      await new Promise<void>((resolve) => (this.#wake = resolve))
      this.#wake = () => {}
      this.#check(this.#pulse.seen)
      if (this.#endSeen <= this.#endRead || this.#looks < this.#looksWanted) continue
      // The stream has grown under other subjects: no message of this subject was heard.
      this.#looksWanted = Math.min(this.#looksMax, this.#looksWanted * 2)
      return
    }
  }

  /** The end of the stream at the last look. */
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
    if (look.kind === 'missing')
      throw new BeaverError('stream_missing', `The stream ${this.#stream} does not exist.`)
    this.#identity ??= look.identity
    if (look.identity !== this.#identity) {
      throw new BeaverError(
        'stream_recreated',
        `The stream ${this.#identity} was deleted and created again as ${look.identity}.`,
      )
    }
    if (look.lastSequence < this.#endSeen) {
      const ends = `ended at ${this.#endSeen} and now ends at ${look.lastSequence}`
      throw new BeaverError('stream_recreated', `The stream ${this.#identity} ${ends}. Its end was lost.`)
    }
    this.#endSeen = look.lastSequence
  }
}
