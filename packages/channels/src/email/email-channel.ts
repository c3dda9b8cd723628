// A channel of mails: it reads a mailbox by IMAP and sends answers by SMTP.
// - The Message-ID of a mail is its idempotency key. The Message-ID of an answer is computed from the answer,
//   so a mail that is sent twice is recognisable. SMTP itself has no idempotency key, so tries whose outcome
//   is unknown are counted.
// - An answer goes only to the sender, whose address is proven, not to other addresses in the mail. A
//   question about a call also goes to the approvers from the configuration.
// - An answer has headers that mark it as sent by a program, so that other programs do not answer it.
import type { OutboundMessage } from '@beaver/contracts'
import { type Clock, type Logger, visible } from '@beaver/core'
import type { Channel, Receive, Sent } from '../channel.ts'
import { answerIdOf, answerSubject, readRoute } from './mail-thread.ts'
import { readMailbox } from './mailbox.ts'
import type { SenderCheck } from './sender.ts'
import { type MailServer, sendMail } from './smtp.ts'

export interface EmailChannelOptions {
  readonly name: string
  /** The address of the channel. */
  readonly address: string
  readonly imap: MailServer
  readonly smtp: MailServer
  readonly mailbox: string
  /** The first day whose mails are read, such as `2026-11-24`. */
  readonly since: string
  readonly senderCheck: SenderCheck
  /** Whether this address may write to the channel. */
  readonly knows: (address: string) => boolean
  readonly approvers: readonly string[]
  /** The longest pause between two looks at the mailbox, in milliseconds. */
  readonly pollMs: number
  /** How many mails of one sender are accepted within an hour. The others are refused. */
  readonly perHourMax: number
  /** How long a server may take to answer, in milliseconds. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly logger: Logger
}

/** A channel of mails. */
export class EmailChannel implements Channel {
  readonly unkeyed = true
  readonly #options: EmailChannelOptions
  readonly #over = new AbortController()
  #reading: Promise<void> = Promise.resolve()

  constructor(options: EmailChannelOptions) {
    this.#options = options
  }

  get name(): string {
    return this.#options.name
  }

  /**
   * Starts to read the mailbox. It resolves at once: if the server is unreachable, the channel tries again in
   * the background.
   */
  async start(receive: Receive): Promise<void> {
    const { name: channel, imap: server, address: own, senderCheck: check, knows, ...rest } = this.#options
    this.#reading = readMailbox(
      { ...rest, channel, server, rules: { own, check, knows } },
      receive,
      this.#over.signal,
    )
  }

  async send(message: OutboundMessage, signal: AbortSignal): Promise<Sent> {
    const { smtp, timeoutMs, address } = this.#options
    const route = readRoute(message.route)
    if (route === null) return { kind: 'never', reason: 'The message does not say which mail it answers.' }
    const to = [
      ...new Set([
        route.to,
        ...(message.kind === 'approval' || message.kind === 'question' ? this.#options.approvers : []),
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
