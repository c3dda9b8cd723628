// A dead letter of the message bus as the stream holds it: the content as it was, and the rest in headers.
import type { BusQueue, DeadLetter } from '@beaver/contracts'
import type { JsMsg, StoredMsg } from '@nats-io/jetstream'
import { headers, type MsgHdrs } from '@nats-io/nats-core'
import type { Subjects } from './subjects.ts'

const head = { reason: 'Beaver-Reason', subject: 'Beaver-Subject' } as const
const contentBytesMax = 900_000
const reasonCharsMax = 1_000

/**
 * What is published for a message that was given up. The place of the message is the name of the letter, so
 * that it is written once.
 */
export function letterOf(
  message: Pick<JsMsg, 'seq' | 'subject' | 'data'>,
  queue: BusQueue,
  reason: string,
  subjects: Subjects,
) {
  const [, channel = ''] = subjects.channelNames(message.subject)
  const marks = headers()
  marks.set(head.reason, encodeURIComponent(reason.slice(0, reasonCharsMax).toWellFormed()))
  marks.set(head.subject, message.subject)
  const subject = subjects.channelDead(queue, channel, `${queue === 'inbound' ? 'in' : 'out'}_${message.seq}`)
  return { subject, content: message.data.subarray(0, contentBytesMax), headers: marks }
}

/** The lane in which the message of a letter was. */
export const laneOf = ({ header }: { readonly header: MsgHdrs }): string => header.get(head.subject)

export function readLetter(
  {
    subject,
    data,
    header,
    time,
  }: Pick<StoredMsg, 'subject' | 'data' | 'time'> & { readonly header: MsgHdrs },
  subjects: Subjects,
): DeadLetter {
  const [queue = '', channel = '', id = ''] = subjects.channelNames(subject)
  return {
    id,
    queue: queue === 'outbound' ? 'outbound' : 'inbound',
    channel,
    reason: decodedReason(header.get(head.reason)),
    died_at: time.toISOString(),
    content: new TextDecoder().decode(data),
  }
}

function decodedReason(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
