// BatchPublisher: turns a batch into messages that the server stores together or not at all. group-commit.ts
// decides which writes go together. A batch of one write is an ordinary message. Otherwise the server answers
// only the last message, for the whole batch.
import {
  headers,
  InvalidArgumentError,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
} from '@nats-io/nats-core'
import type { Line } from './line.ts'

export interface Write {
  readonly subject: string
  /** The sequence of the last message that `fence` matches, or 0. `null`: the write has no fence. */
  readonly expectedSequence: number | null
  /** A filter of subjects. Default: the message's own subject. */
  readonly fence?: string
  readonly payload: Uint8Array
  /** What the message's signature covers. Default: the message is not signed, or has a signature already. */
  readonly leaf?: string | undefined
  /** The text of the header `Beaver-Signature`. It is set once, before the first write. */
  signature?: string | undefined
}

/** The header with the writer's signature. */
const signatureHeader = 'Beaver-Signature'

export function signatureIn(head: MsgHdrs | undefined): string | undefined {
  const text = head?.get(signatureHeader)
  return text === undefined || text === '' ? undefined : text
}

/** The most that the headers of a write need. */
const headersBytesMax = 1_024

export interface PubAck {
  readonly stream?: string
  readonly seq?: number
  readonly error?: { readonly err_code?: number; readonly code?: number; readonly description?: string }
}

export class BatchPublisher {
  readonly #nc: NatsConnection
  readonly #line: Line
  readonly #waitMs: () => number
  /** A batch id must only differ from those of the batches that are open now. */
  readonly #writer = Math.random().toString(36).slice(2, 10)
  #batchesSent = 0

  constructor(nc: NatsConnection, line: Line, { waitMs }: { waitMs: () => number }) {
    this.#nc = nc
    this.#line = line
    this.#waitMs = waitMs
  }

  /**
   * Waits at most `waitMs` for the answer. Sends a batch only if the server takes each of its messages: a
   * batch without an end stays open there for seconds.
   * @throws {InvalidArgumentError} if a message is larger than the server takes
   * @throws {Error} if the line is cut or no answer comes in time: the writes may or may not be stored
   */
  async send(writes: readonly Write[]): Promise<PubAck> {
    const batch = `${this.#writer}${(this.#batchesSent++).toString(36)}`
    let answer: Msg | null = null
    const bytesMax = (this.#nc.info?.max_payload ?? Infinity) - headersBytesMax
    if (writes.length > 1 && writes.some(({ payload }) => payload.length > bytesMax))
      throw InvalidArgumentError.format('payload', 'max_payload size exceeded')
    for (let i = 0; i < writes.length; i++) {
      const write = writes[i] as Write
      const head = headers()
      if (write.expectedSequence !== null)
        head.set('Nats-Expected-Last-Subject-Sequence', String(write.expectedSequence))
      if (write.fence !== undefined) head.set('Nats-Expected-Last-Subject-Sequence-Subject', write.fence)
      if (write.signature !== undefined) head.set(signatureHeader, write.signature)
      if (writes.length > 1) {
        head.set('Nats-Batch-Id', batch)
        head.set('Nats-Batch-Sequence', String(i + 1))
      }
      if (i < writes.length - 1) {
        this.#nc.publish(write.subject, write.payload, { headers: head })
        continue
      }
      if (writes.length > 1) head.set('Nats-Batch-Commit', '1')
      answer = await this.#line.request(write.subject, write.payload, {
        headers: head,
        timeout: this.#waitMs(),
      })
    }
    return answer === null ? {} : answer.json<PubAck>()
  }
}
