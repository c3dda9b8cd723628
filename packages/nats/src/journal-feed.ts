// Following the journal: from a sequence on, for ever, in order, without gaps (an ordered consumer heals itself).
import type { LogId } from '@beaver/core'
import { DeliverPolicy, type JsMsg, jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { logOf, type Subjects } from './subjects.ts'

/** One entry of any log, with its place in the stream. */
export interface FeedMessage {
  readonly sequence: number
  readonly log: LogId
  readonly payload: Uint8Array
}

export interface FeedBatch {
  readonly messages: readonly FeedMessage[]
  /** Nothing more is stored yet. */
  readonly caughtUp: boolean
}

const batchMax = 1_000

/**
 * Batches of entries with a sequence of at least `from`, of all logs or of the subjects of `filter`.
 * Ends when `signal` aborts.
 */
export async function* followJournal(
  nc: NatsConnection,
  subjects: Subjects,
  wanted: { from: number; filter?: string; signal: AbortSignal },
): AsyncGenerator<FeedBatch> {
  const consumer = await jetstream(nc).consumers.get(subjects.stream, {
    filter_subjects: wanted.filter ?? subjects.journals,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: Math.max(1, wanted.from),
  })
  const messages = await consumer.consume({ max_messages: batchMax * 2 })
  const stop = (): void => void messages.close()
  wanted.signal.addEventListener('abort', stop, { once: true })
  if (wanted.signal.aborted) stop()
  try {
    let batch: FeedMessage[] = []
    for await (const message of messages as AsyncIterable<JsMsg>) {
      batch.push({ sequence: message.seq, log: logOf(message.subject), payload: message.data })
      const caughtUp = message.info.pending === 0
      if (!caughtUp && batch.length < batchMax) continue
      yield { messages: batch, caughtUp }
      batch = []
    }
  } finally {
    wanted.signal.removeEventListener('abort', stop)
    stop()
  }
}
