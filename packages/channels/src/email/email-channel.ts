// A channel of mails: a mailbox that is read by IMAP, and answers that are sent by SMTP. The Message-ID of a
// mail is its idempotency key. The Message-ID of an answer follows from the message, so a mail that is sent
// twice is the same mail; SMTP itself has no key, so a try whose end nobody knows is counted. An answer goes
// to the sender, whose address is proven, and to nobody else whom the mail names. A question about a call
// goes also to those who may decide: the configuration names them. An answer says that a program sent it, so
// that no program answers.
import type { OutboundMessage } from '@beaver/contracts'
import { type Clock, type Logger, visible } from '@beaver/core'
import type { Channel, Receive, Sent } from '../channel.ts'
import { answerIdOf, answerSubject, readRoute } from './mail-thread.ts'
import { readMailbox } from './mailbox.ts'
import type { SenderCheck } from './sender.ts'
import { type MailServer, sendMail } from './smtp.ts'

export interface EmailChannelOptions {
  readonly name: string
  /** The own address. */
  readonly address: string
  readonly imap: MailServer
  readonly smtp: MailServer
  readonly mailbox: string
  /** Mail that came before this day is not read: `2026-11-24`. */
  readonly since: string
  readonly senderCheck: SenderCheck
  /** Whether somebody may write. */
  readonly knows: (address: string) => boolean
  readonly approvers: readonly string[]
  readonly pollMs: number
  /** How many mails of one sender are taken that came within an hour. */
  readonly perHourMax: number
  readonly timeoutMs: number
  readonly clock: Clock
  readonly logger: Logger
}

export class EmailChannel implements Channel {
  readonly unkeyed = true
  readonly #of: EmailChannelOptions
  readonly #over = new AbortController()
  #reading: Promise<void> = Promise.resolve()

  constructor(of: EmailChannelOptions) {
    this.#of = of
  }

  get name(): string {
    return this.#of.name
  }

  /** Begins to read. A server that is away does not keep the gateway from starting. */
  async start(receive: Receive): Promise<void> {
    const { name: channel, imap: server, address: own, senderCheck: check, knows, ...rest } = this.#of
    this.#reading = readMailbox(
      { ...rest, channel, server, reader: { own, check, knows } },
      receive,
      this.#over.signal,
    )
  }

  async send(message: OutboundMessage, signal: AbortSignal): Promise<Sent> {
    const { smtp, timeoutMs, address } = this.#of
    const route = readRoute(message.route)
    if (route === null) return { kind: 'never', reason: 'The message does not say which mail it answers.' }
    const to = [
      ...new Set([
        route.to,
        ...(message.kind === 'approval' || message.kind === 'question' ? this.#of.approvers : []),
      ]),
    ]
    const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
    const composed = new MailComposer({
      from: { name: 'Beaver', address },
      to: to.map((each) => ({ name: '', address: each })),
      subject: answerSubject(route.subject),
      messageId: answerIdOf(message, address),
      inReplyTo: route.message_id,
      references: [...new Set([...route.references, route.message_id])],
      date: new Date(message.at),
      text: visible(message.text, '\n\t'),
      headers: { 'Auto-Submitted': 'auto-replied', 'X-Auto-Response-Suppress': 'All' },
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    const content = await composed.compile().build()
    return sendMail({ envelope: { from: address, to }, content }, smtp, { timeoutMs, signal })
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await this.#reading
  }
}
