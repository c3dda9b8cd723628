// How mails belong together. Everything follows from the mails themselves, so nothing about threads is
// stored. A chat is a thread. Its id is a hash of the Message-ID of its first mail. The Message-ID of an
// answer says the chat: `<out_….t_…@domain>`. So a reply belongs to the chat even if its program keeps only
// the last id. Everything of a mail that goes into the headers of an answer is matched first: nothing else of
// a mail can get there.
import { createHash } from 'node:crypto'
import { z } from 'zod'

const messageIdChars = 250
const messageIds = new RegExp(`<[!-;=?-~]{3,${messageIdChars}}>`, 'g')
/** A thread has more ids only if programs answer each other. */
export const referencesMax = 100
const referencesKept = 10
const subjectCharsMax = 200

/** The Message-IDs in a header. */
export const idsIn = (value: string): readonly string[] => value.slice(0, 100_000).match(messageIds) ?? []

const hex = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)

/** The Message-ID of what Beaver sends: the same message has the same. */
export const answerIdOf = (
  { id, chat_id }: { readonly id: string; readonly chat_id: string },
  own: string,
): string => `<${id}.${chat_id}@${domainOf(own)}>`

export interface ThreadHeaders {
  readonly messageId: string
  /** The ids in `References`, and then those in `In-Reply-To`. */
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

/** A Message-ID for a mail without one: a hash of what it says. */
export const madeId = (parts: readonly string[]): string =>
  `<${hex(JSON.stringify(parts))}@without-id.invalid>`

const route = z.strictObject({
  to: z.string(),
  subject: z.string(),
  message_id: z.string(),
  references: z.array(z.string()),
})
/** What an answer needs of the mail that it answers. */
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

/** @returns `null` if the text is no route */
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
