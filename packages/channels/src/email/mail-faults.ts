// Checks whether the mail servers can be used, without reading or sending a mail.
import { type Clock, messageOf } from '@beaver/core'
import { tryMailbox } from './mailbox.ts'
import { type MailServer, sendMail } from './smtp.ts'

export interface MailServers {
  readonly imap: MailServer
  readonly smtp: MailServer
  readonly mailbox: string
  /** How long each server may take, in milliseconds. */
  readonly timeoutMs: number
  readonly clock: Clock
}

/** Logs in to both servers. @returns the faults; empty if both can be used */
export async function mailFaults({
  imap,
  smtp,
  mailbox,
  timeoutMs,
  clock,
}: MailServers): Promise<readonly string[]> {
  const over = new AbortController()
  const late = clock.after(timeoutMs, () => over.abort())
  const [read, sent] = await Promise.all([
    tryMailbox({ server: imap, mailbox, timeoutMs, clock }).then(
      () => null,
      (error: unknown) => messageOf(error),
    ),
    sendMail(null, smtp, { timeoutMs, signal: over.signal }),
  ])
  late.cancel()
  const unsent = over.signal.aborted
    ? `It did not answer within ${timeoutMs} ms.`
    : sent.kind === 'sent'
      ? null
      : sent.reason
  return [
    ...(read === null ? [] : [`the mailbox ${mailbox} at ${imap.host} cannot be opened: ${read}`]),
    ...(unsent === null ? [] : [`${smtp.host} cannot be used to send: ${unsent}`]),
  ]
}
