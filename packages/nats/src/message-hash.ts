// The hash of a message of the journal, by which a process recognises it.
import type { JetStreamManager } from '@nats-io/jetstream'
import { createHash } from 'node:crypto'
import { messageOfLeader } from './leader-read.ts'

export const hashOf = ({
  subject,
  payload,
}: {
  readonly subject: string
  readonly payload: Uint8Array
}): string => createHash('sha256').update(subject).update('\0').update(payload).digest('hex')

/** The hash of the message with this sequence, from the stream's leader; `null` if there is none. */
export async function hashAt(
  jsm: JetStreamManager,
  stream: string,
  sequence: number,
): Promise<string | null> {
  if (sequence === 0) return null
  const message = await messageOfLeader(jsm, stream, { seq: sequence })
  return message === null ? null : hashOf({ subject: message.subject, payload: message.data })
}
