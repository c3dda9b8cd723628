// Watches the memory bucket: first all its values, then each change, in the order in which they were written.
// Every value comes from the stream's leader, so values only move forward. memory-store.ts knows what a value
// means. Changes are read without a consumer, so that nobody can delete it during the watch.
import { DeliverPolicy, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream'
import type { KvEntry } from '@nats-io/kv'
import type { MsgHdrs, NatsConnection } from '@nats-io/nats-core'
import { messageOfLeader } from './leader-read.ts'
import { StreamWaker } from './stream-waker.ts'

export type SeenValue = Pick<KvEntry, 'key' | 'revision' | 'operation' | 'json'>

export interface MemoryWatch {
  /** Resolves when the watch has ended, for any reason. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

export interface WatchedBucket {
  readonly js: JetStreamClient
  readonly jsm: JetStreamManager
  readonly bucket: string
  /** The longest time for the first values. */
  readonly readyMsMax: number
}

/** Resolves when `seen` has received all existing values. The watch ends if it cannot go on. */
export async function watchMemories(
  nc: NatsConnection,
  watched: WatchedBucket,
  seen: (value: SeenValue) => void,
): Promise<MemoryWatch> {
  const [stream, prefix] = [`KV_${watched.bucket}`, `$KV.${watched.bucket}.`]
  const stopping = new AbortController()
  const waker = new StreamWaker(nc, { stream, subject: `${prefix}>`, signal: stopping.signal })
  let next: number
  try {
    await waker.look()
    next = (await readAll(watched, { stream, prefix }, seen)) + 1
  } catch (error) {
    waker.stop()
    throw error
  }
  const follow = async (): Promise<void> => {
    while (!waker.over) {
      const end = waker.end
      for (
        let change = await changeFrom(watched.jsm, { stream, prefix, next });
        change !== null;
        change = await changeFrom(watched.jsm, { stream, prefix, next })
      ) {
        seen(change)
        next = change.revision + 1
        waker.read(1)
      }
      await waker.wait(end)
    }
  }
  const ended = follow()
    .catch(() => {})
    .finally(() => waker.stop())
  return {
    ended,
    async stop() {
      stopping.abort()
      await ended
    },
  }
}

interface Place {
  readonly stream: string
  readonly prefix: string
}

/** Returns the sequence of the newest value, or 0 if there is none. */
async function readAll(
  { js, readyMsMax }: WatchedBucket,
  { stream, prefix }: Place,
  seen: (value: SeenValue) => void,
): Promise<number> {
  const consumer = await js.consumers.getPushConsumer(stream, {
    filter_subjects: `${prefix}>`,
    deliver_policy: DeliverPolicy.LastPerSubject,
  })
  let last = 0
  let late = false
  let stop = (): void => {}
  const timer = setTimeout(() => {
    late = true
    stop()
  }, readyMsMax)
  try {
    if ((await consumer.info(true)).num_pending === 0) return 0
    const messages = await consumer.consume()
    stop = () => void messages.close()
    for await (const { subject, seq, data, headers, info } of messages) {
      seen(valueOf({ subject, seq, data, headers }, prefix))
      last = seq
      if (info.pending === 0) break
    }
    if (late) throw new Error(`its values did not come within ${readyMsMax / 1000} s`)
    return last
  } finally {
    clearTimeout(timer)
    await consumer.delete().catch(() => {}) // The consumer is gone already, or the server does not answer and removes the consumer itself.
  }
}

/** The first value from a sequence on, or `null` if there is none yet. */
async function changeFrom(
  jsm: JetStreamManager,
  { stream, prefix, next }: Place & { next: number },
): Promise<SeenValue | null> {
  const first: { seq: number; next_by_subj: string } = { seq: next, next_by_subj: `${prefix}>` }
  const found = await messageOfLeader(jsm, stream, first)
  return found === null
    ? null
    : valueOf({ subject: found.subject, seq: found.seq, data: found.data, headers: found.header }, prefix)
}

function valueOf(
  entry: { subject: string; seq: number; data: Uint8Array; headers: MsgHdrs | undefined },
  prefix: string,
): SeenValue {
  const operation = entry.headers?.get('KV-Operation') ?? ''
  return {
    key: entry.subject.slice(prefix.length),
    revision: entry.seq,
    operation: operation === 'DEL' || operation === 'PURGE' ? operation : 'PUT',
    json: <T>(): T => JSON.parse(Buffer.from(entry.data).toString()) as T,
  }
}
