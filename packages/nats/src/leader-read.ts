// Reads single messages of a stream. The leader of the stream answers, so no answer is stale.
import { pause, steadyClock } from '@beaver/core'
import type { Entry } from '@beaver/core/journal'
import { JetStreamError, type JetStreamManager, type StoredMsg } from '@nats-io/jetstream'
import { isRefusedWith, noLeader, noMessage, noStream } from './api-refusal.ts'
import { natsFault } from './nats-fault.ts'
import { signatureIn } from './publish-batch.ts'

/** An entry, with the subject under which it was found. */
export interface Found extends Entry {
  readonly subject: string
}

/** A sequence, the first message of a subject from a sequence on, or the last message of a subject. */
export type MessageChosen =
  | { readonly seq: number; readonly next_by_subj?: string }
  | { readonly last_by_subj: string }

/** An election takes some seconds. While it lasts, the same question is asked again. */
const electionMsMax = 10_000
const electionPauseMs = 100
const never = new AbortController().signal

/**
 * A message of a stream, or `null` if there is none. A stream that does not exist has none. Waits for a
 * leader while one is elected.
 *
 * @throws {BeaverError} `timeout`, `unreachable`
 */
export async function messageOfLeader(
  jsm: JetStreamManager,
  stream: string,
  which: MessageChosen,
): Promise<StoredMsg | null> {
  for (const askedAtMs = steadyClock.now(); ;) {
    try {
      return await jsm.streams.getMessage(stream, which)
    } catch (error) {
      if (isNotFound(error)) return null
      if (!isRefusedWith(error, noLeader) || steadyClock.now() - askedAtMs > electionMsMax)
        throw natsFault(error)
      await pause(steadyClock, electionPauseMs, never)
    }
  }
}

/** The same, as an entry of a log. @throws {BeaverError} `timeout`, `unreachable` */
export async function storedMessageOf(
  jsm: JetStreamManager,
  stream: string,
  which: MessageChosen,
): Promise<Found | null> {
  const message = await messageOfLeader(jsm, stream, which)
  if (message === null) return null
  const { subject, seq: revision, data: payload, timestamp, header } = message
  return { subject, revision, payload, timeMs: Date.parse(timestamp), signature: signatureIn(header) }
}

/** Whether the stream is there. @throws what the server says */
export async function streamExists(jsm: JetStreamManager, stream: string): Promise<boolean> {
  try {
    await jsm.streams.info(stream)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** Whether the error says that the message or the stream does not exist. */
const isNotFound = (error: unknown): boolean =>
  isRefusedWith(error, noMessage, noStream) ||
  (error instanceof JetStreamError && 'code' in error && error.code === 404)
