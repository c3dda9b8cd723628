// What a mail says: from its bytes to a message, or to the reason why it is none. A sender who is not proven,
// and one whom nobody knows, gets no answer: it would go to somebody who wrote nothing, or tell that somebody
// reads. Of a mail only the beginning is read. Attachments are named and not read. Until the sender is proven
// and known, only the headers are read. The body of a mail may be built so that reading it takes minutes.
import { messageCharsMax } from '@beaver/contracts'
import type { Clock } from '@beaver/core'
import type { Received } from '../channel.ts'
import { contentOf, type MailContent } from './mail-content.ts'
import { headersOf } from './mail-headers.ts'
import { chatOf, idsIn, madeId, referencesMax, routeOf, subjectLine } from './mail-thread.ts'
import { automaticFault, type MailHeader, senderFault, type SenderCheck, senderOf } from './sender.ts'

export interface RawMail {
  /** The beginning of the mail. */
  readonly source: Uint8Array
  /** The length of the whole mail. */
  readonly bytes: number
}

export interface MailReader {
  /** The own address. */
  readonly own: string
  readonly check: SenderCheck
  /** Whether somebody may write. */
  knows(address: string): boolean
}

export type ReadMail =
  | { readonly kind: 'message'; readonly message: Received }
  | { readonly kind: 'refused'; readonly reason: string }

/** How many bytes of a mail are read. */
export const mailBytesMax = 1_000_000

/** @throws the reason of `signal`, and nothing else: a mail that cannot be read is refused */
export async function readMail(
  raw: RawMail,
  reader: MailReader,
  stop: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ReadMail> {
  const headers = headersOf(raw.source)
  if (headers === null) return refused('its headers can be read in several ways')
  const sender = senderOf(headers)
  if (sender === null) return refused('it has not exactly one plain sender')
  const fault = faultOf(headers, sender, reader)
  if (fault !== null) return refused(fault)
  const first = (key: string): string => headers.find((each) => each.key === key)?.value ?? ''
  const references = [...idsIn(first('references')), ...idsIn(first('in-reply-to'))]
  if (references.length > referencesMax)
    return refused('programs seem to answer each other: its thread is too long')
  const content = await contentOf({ source: raw.source, own: reader.own }, stop)
  if (content === null) return refused('its parts cannot be read')
  if (!content.isToOwn) return refused('it is not addressed to Beaver')
  const text = textOf(content, raw)
  const subject = subjectLine(content.subject)
  const messageId = idsIn(first('message-id'))[0] ?? madeId([sender, first('date'), subject, text])
  const isReply = references.length > 0
  return {
    kind: 'message',
    message: {
      chat_id: chatOf({ messageId, references }, reader.own),
      message_id: messageId,
      user: sender,
      // The subject of a reply says nothing new. A decision has to be at the beginning.
      text: cut(isReply || subject === '' ? text : `${subject}\n\n${text}`),
      at: timeIn(content.date),
      route: routeOf({ sender, subject, messageId, references }),
    },
  }
}

function faultOf(
  headers: readonly MailHeader[],
  sender: string,
  { own, check, knows }: MailReader,
): string | null {
  if (sender === own) return 'it is from the address of Beaver'
  const fault = senderFault(headers, sender, check) ?? automaticFault(headers, sender)
  if (fault !== null) return fault
  return knows(sender) ? null : 'its sender is not among the users of the channel'
}

const refused = (reason: string): ReadMail => ({ kind: 'refused', reason })

function textOf({ text, attachments, attachmentsCount }: MailContent, { source, bytes }: RawMail): string {
  const said = withoutQuotes(text.replaceAll('\r\n', '\n')).trim()
  const more =
    attachmentsCount > attachments.length ? ` and ${attachmentsCount - attachments.length} more` : ''
  const notes = [
    ...(attachmentsCount === 0
      ? []
      : [`[Attachments that were not read: ${attachments.map(subjectLine).join(', ')}${more}]`]),
    ...(bytes > source.length
      ? [`[Only the first ${source.length} of ${bytes} bytes of the mail were read.]`]
      : []),
  ]
  return [said === '' ? '[The mail has no text.]' : said.slice(0, messageCharsMax - 10_000), ...notes].join(
    '\n\n',
  )
}

/**
 * The text without the lines at its end that quote another mail, and without the line that announces them.
 * The session has that mail.
 */
function withoutQuotes(text: string): string {
  const lines = text.trimEnd().split('\n')
  let end = lines.length
  while (end > 0 && /^\s*(?:>|$)/.test(lines[end - 1] ?? '')) end--
  if (end === lines.length || !lines.slice(end).some((line) => line.trimStart().startsWith('>'))) return text
  const announced = (lines[end - 1] ?? '').trimEnd().endsWith(':')
  return lines.slice(0, announced ? end - 1 : end).join('\n')
}

const cut = (text: string): string =>
  text.length <= messageCharsMax ? text : text.slice(0, messageCharsMax).toWellFormed()

/** The time in a mail, if it is one. */
function timeIn(date: string): string | undefined {
  const ms = Date.parse(date)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}
