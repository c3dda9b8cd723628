// Finds out which mails belong together, from the mails alone, so nothing about threads is stored. A chat is
// a thread, and its id is a hash of the Message-ID of the first mail. The Message-ID of an answer contains
// the chat: `<out_….t_…@domain>`. So a reply is in the right chat even if the mail program keeps only the
// last id. All parts of a mail that go into the headers of an answer must match a pattern first, so that a
// mail cannot inject headers.
import { createHash } from 'node:crypto'
import { z } from 'zod'

const messageIdChars = 250
const messageIds = new RegExp(`<[!-;=?-~]{3,${messageIdChars}}>`, 'g')
/** The largest number of ids in a thread. A longer thread means that programs answer each other. */
export const referencesMax = 100
const referencesKept = 10
const subjectCharsMax = 200

/** The Message-IDs in a header. */
export const idsIn = (value: string): readonly string[] => value.slice(0, 100_000).match(messageIds) ?? []

const hex = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)

/** The Message-ID of a mail that Beaver sends. It is the same for each try. */
export const answerIdOf = (
  { id, chat_id }: { readonly id: string; readonly chat_id: string },
  own: string,
): string => `<${id}.${chat_id}@${domainOf(own)}>`

export interface ThreadHeaders {
  readonly messageId: string
  /** The ids in `References`, followed by those in `In-Reply-To`. */
  readonly references: readonly string[]
}

/** The chat to which a mail belongs. */
export function chatOf({ messageId, references }: ThreadHeaders, own: string): string {
  for (const each of references.toReversed()) {
    const [, chat, domain] = /^<out_[0-9a-f]{32}\.(t_[0-9a-f]{32})@([^>]+)>$/.exec(each) ?? []
    if (chat !== undefined && domain === domainOf(own)) return chat
  }
  return `t_${hex(references[0] ?? messageId)}`
}

/** A Message-ID for a mail that has none: a hash of its contents. */
export const madeId = (parts: readonly string[]): string =>
  `<${hex(JSON.stringify(parts))}@without-id.invalid>`

const route = z.strictObject({
  to: z.string(),
  subject: z.string(),
  message_id: z.string(),
  references: z.array(z.string()),
})
/** What an answer needs to know about the mail that it answers. */
export type MailRoute = z.infer<typeof route>

export function routeOf(mail: { readonly sender: string; readonly subject: string } & ThreadHeaders): string {
  const { sender, subject, messageId, references } = mail
  const kept =
    references.length <= referencesKept
      ? references
      : [...references.slice(0, 1), ...references.slice(1 - referencesKept)]
  return JSON.stringify({
    to: sender,
    subject,
    message_id: messageId,
    references: [...kept],
  } satisfies MailRoute)
}

/** Parses a route that `routeOf` made. @returns `null` if the text is not a route */
export function readRoute(text: string | undefined): MailRoute | null {
  try {
    const read = route.safeParse(JSON.parse(text ?? ''))
    return read.success ? read.data : null
  } catch {
    return null
  }
}

/** The subject of a mail as one line. */
export const subjectLine = (text: string): string =>
  text
    .slice(0, 2_000)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, subjectCharsMax)
    .toWellFormed()

export const answerSubject = (subject: string): string =>
  /^re:/i.test(subject) ? subject : `Re: ${subject === '' ? '(no subject)' : subject}`
