// Reads a mailbox by IMAP.
// - A mail gets a mark when it is finished: its message is durable, or it was refused. The next session reads
//   all mails without the mark, so a process that dies loses nothing. The Message-ID makes it harmless to
//   read a mail twice.
// - The mark is a keyword. If the server stores no keywords, the flag `\Answered` is used instead.
// - A mail that cannot be taken now delays only its own chat, and the next look tries it again.
// - If the server is unreachable, the pauses between tries grow.
import { messageCharsMax } from '@beaver/contracts'
import { BeaverError, type Clock, type Logger, messageOf, pause } from '@beaver/core'
import type { ImapFlow } from 'imapflow'
import type { Receive, Received } from '../channel.ts'
import { pauseAfter } from '../persist.ts'
import { contentOf, type MailContent } from './mail-content.ts'
import { chatOf, idsIn, madeId, referencesMax, routeOf, subjectLine } from './mail-thread.ts'
import { automaticFault, type MailHeader, type SenderCheck, senderFault, senderOf } from './sender.ts'
import type { MailServer } from './smtp.ts'

export interface MailboxOptions {
  readonly channel: string
  readonly server: MailServer
  readonly mailbox: string
  /** The first day whose mails are read, such as `2026-11-24`. */
  readonly since: string
  /** The longest pause between two looks at the mailbox, in milliseconds. */
  readonly pollMs: number
  readonly timeoutMs: number
  /** How many mails of one sender are accepted within an hour. The others are refused. */
  readonly perHourMax: number
  readonly rules: MailRules
  readonly clock: Clock
  readonly logger: Logger
}

const takenMark = '$BeaverTaken'
const refusedMark = '$BeaverRefused'
const closeMsMax = 1_000
/**
 * The silence after which a connection counts as lost, in milliseconds. A live connection is used more often
 * than that.
 */
const silentMsMax = 180_000

/** Reads the mailbox until `signal` aborts. Never rejects. */
export async function readMailbox(
  options: MailboxOptions,
  receive: Receive,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, channel } = options
  const intake = { receive, rate: new SenderRate(options.perHourMax) }
  for (let failures = 0; !signal.aborted;) {
    try {
      await session(options, intake, { signal, opened: () => (failures = 0) })
    } catch (error) {
      failures++
      if (!signal.aborted)
        logger.warn('mailbox_lost', `The mailbox cannot be read: ${faultOf(error)}. It is tried again.`, {
          channel,
          host: options.server.host,
        })
    }
    await pause(clock, pauseAfter(Math.max(1, failures)), signal)
  }
}

/**
 * Opens a mailbox and closes it again.
 *
 * @throws {BeaverError} `unreachable`, with what the server says; `timeout`
 */
export async function tryMailbox(
  options: Pick<MailboxOptions, 'server' | 'mailbox' | 'timeoutMs' | 'clock'>,
): Promise<void> {
  const { clock, timeoutMs } = options
  const over = new AbortController()
  const late = clock.after(timeoutMs, () => over.abort())
  try {
    await closed(await opened(options, over.signal), clock)
  } catch (error) {
    if (over.signal.aborted) throw new BeaverError('timeout', `It did not answer within ${timeoutMs} ms.`)
    throw new BeaverError('unreachable', faultOf(error))
  } finally {
    late.cancel()
  }
}

/** Connects and opens the mailbox. @param signal aborts the connection while it is being made */
async function opened(
  { server, mailbox, timeoutMs }: Pick<MailboxOptions, 'server' | 'mailbox' | 'timeoutMs'>,
  signal: AbortSignal,
): Promise<ImapFlow> {
  const { ImapFlow: Client } = await import('imapflow')
  const { host, port, tls, user, password } = server
  const client = new Client({
    host,
    port,
    secure: tls === 'implicit',
    doSTARTTLS: tls === 'starttls',
    ...(user === undefined ? {} : { auth: { user, pass: password ?? '' } }),
    logger: false,
    disableAutoIdle: true,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: Math.max(timeoutMs, silentMsMax),
    maxLiteralSize: 2 * mailBytesMax,
    maxLineLength: 10 * mailBytesMax,
    maxResponseSize: 20 * mailBytesMax,
  })
  client.on('error', () => {})
  const stop = (): void => client.close()
  signal.addEventListener('abort', stop, { once: true })
  try {
    await client.connect()
    await client.mailboxOpen(mailbox)
    return client
  } catch (error) {
    client.close()
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function closed(client: ImapFlow, clock: Clock): Promise<void> {
  const late = clock.after(closeMsMax, () => client.close())
  await client.logout().catch(() => {})
  late.cancel()
  client.close()
}

interface Intake {
  readonly receive: Receive
  readonly rate: SenderRate
}

async function session(
  options: MailboxOptions,
  intake: Intake,
  { signal, opened: onOpened }: { signal: AbortSignal; opened: () => void },
): Promise<void> {
  const client = await opened(options, signal)
  const ended = new AbortController()
  client.on('close', () => ended.abort())
  const over = AbortSignal.any([signal, ended.signal])
  let late = { cancel: (): void => {} }
  const stopped = (): void => void (late = options.clock.after(closeMsMax, () => client.close()))
  signal.addEventListener('abort', stopped, { once: true })
  try {
    onOpened()
    while (!over.aborted) {
      const heard = news(client)
      await takeNewMails(client, options, intake, over)
      if (!over.aborted) await waited(client, heard, options, over)
    }
  } finally {
    await closed(client, options.clock)
    signal.removeEventListener('abort', stopped)
    late.cancel()
  }
  if (!signal.aborted) throw new BeaverError('unreachable', 'the server closed the connection')
}

/** Listens for new mails: `came` resolves when the server reports one. */
function news(client: ImapFlow): { readonly came: Promise<void>; stop(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const heard = (): void => resolve()
  client.on('exists', heard)
  return { came: promise, stop: () => void client.off('exists', heard) }
}

async function waited(
  client: ImapFlow,
  heard: ReturnType<typeof news>,
  { clock, pollMs }: MailboxOptions,
  signal: AbortSignal,
): Promise<void> {
  const enough = new AbortController()
  // The next command ends the idle state.
  client.idle().catch(() => {})
  await Promise.race([heard.came, pause(clock, pollMs, AbortSignal.any([signal, enough.signal]))])
  enough.abort()
  heard.stop()
}

/** Takes all mails without a mark, in the order in which they came. */
async function takeNewMails(
  client: ImapFlow,
  options: MailboxOptions,
  intake: Intake,
  signal: AbortSignal,
): Promise<void> {
  const flags = client.mailbox ? client.mailbox.permanentFlags : undefined
  const keeps = flags === undefined || flags.has('\\*') || flags.has(takenMark)
  const found = await client.search(
    { since: options.since, ...(keeps ? { unKeyword: takenMark } : { answered: false }) },
    { uid: true },
  )
  const held = new Set<string>()
  for (const uid of found ? found : []) {
    if (signal.aborted) return
    const fetched = await client.fetchOne(
      String(uid),
      { uid: true, size: true, internalDate: true, source: { start: 0, maxLength: mailBytesMax } },
      { uid: true },
    )
    if (fetched === false || fetched.source === undefined) continue
    const cameMs = new Date(fetched.internalDate ?? options.clock.now()).getTime()
    const outcome = await taken(
      { source: fetched.source, bytes: fetched.size ?? fetched.source.length, cameMs },
      options,
      { ...intake, held, signal },
    )
    if (outcome === 'later') continue
    const marks = keeps ? [takenMark, ...(outcome === 'refused' ? [refusedMark] : [])] : ['\\Answered']
    await client.messageFlagsAdd(String(uid), marks, { uid: true })
  }
}

async function taken(
  raw: { readonly source: Uint8Array; readonly bytes: number; readonly cameMs: number },
  { rules, logger, clock, channel, perHourMax }: MailboxOptions,
  { receive, rate, held, signal }: Intake & { readonly held: Set<string>; readonly signal: AbortSignal },
): Promise<'taken' | 'refused' | 'later'> {
  const refused = (reason: string): 'refused' => {
    logger.warn('mail_refused', `A mail was refused and not answered: ${reason}.`, { channel })
    return 'refused'
  }
  const read = await readMail(raw, rules, { clock, signal })
  if (read.kind === 'refused') return refused(read.reason)
  const { chat_id, user } = read.message
  if (held.has(chat_id)) return 'later'
  if (rate.isTooMany(user, raw.cameMs))
    return refused(`more than ${perHourMax} mails of its sender came within an hour`)
  try {
    await receive(read.message)
    rate.count(user, raw.cameMs)
    return 'taken'
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'invalid_arguments') return refused(error.message)
    held.add(chat_id)
    logger.warn('mail_waits', `A mail cannot be taken now: ${messageOf(error)}`, { channel })
    return 'later'
  }
}

/** The error in one line, with the answer of the server if there is one. */
function faultOf(error: unknown): string {
  const serverAnswer =
    error instanceof Error && 'responseText' in error && typeof error.responseText === 'string'
      ? `: ${error.responseText}`
      : ''
  return `${messageOf(error)}${serverAnswer}`.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, 300)
}

// Limits how many mails of one sender are accepted. This stops a program that answers every answer without
// saying that it is a program. The time of a mail is the time of its arrival, so a backlog of a whole day
// stays within the limit.

const hourMs = 3_600_000
const sendersMax = 10_000

export class SenderRate {
  readonly #perHour: number
  readonly #arrivals = new Map<string, readonly number[]>()

  constructor(perHour: number) {
    this.#perHour = perHour
  }

  /** Whether the sender has reached the limit around this time. */
  isTooMany(sender: string, atMs: number): boolean {
    return this.#around(sender, atMs).length >= this.#perHour
  }

  /** Counts an accepted mail. */
  count(sender: string, atMs: number): void {
    const all = [...this.#around(sender, atMs), atMs]
    this.#arrivals.delete(sender)
    this.#arrivals.set(sender, all)
    if (this.#arrivals.size > sendersMax) this.#arrivals.delete(this.#arrivals.keys().next().value as string)
  }

  #around(sender: string, atMs: number): readonly number[] {
    return (this.#arrivals.get(sender) ?? []).filter((each) => Math.abs(atMs - each) < hourMs)
  }
}

// Turns the bytes of a mail into a message, or into the reason why it is refused. A refused mail gets no
// answer: if its sender is not proven, the answer could reach somebody who wrote nothing, and if its sender
// is unknown, the answer would reveal that somebody reads the mailbox. Only the beginning of a mail is read.
// Attachments are named but not read. Until the sender is proven and known, only the headers are read,
// because a body can be built so that reading it takes minutes.

interface RawMail {
  /** The beginning of the mail. */
  readonly source: Uint8Array
  /** The length of the whole mail, in bytes. */
  readonly bytes: number
}

export interface MailRules {
  /** The address of the channel. */
  readonly own: string
  readonly check: SenderCheck
  /** Whether this address may write to the channel. */
  knows(address: string): boolean
}

type ReadMail =
  | { readonly kind: 'message'; readonly message: Received }
  | { readonly kind: 'refused'; readonly reason: string }

/** How many bytes of a mail are read at most. */
const mailBytesMax = 1_000_000

/** Reads a mail. A mail that cannot be read is refused. @throws only the reason of `signal`, if it aborts */
export async function readMail(
  raw: RawMail,
  rules: MailRules,
  stop: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ReadMail> {
  const headers = headersOf(raw.source)
  if (headers === null) return refused('its headers can be read in several ways')
  const sender = senderOf(headers)
  if (sender === null) return refused('it has not exactly one plain sender')
  const fault = mailFaultOf(headers, sender, rules)
  if (fault !== null) return refused(fault)
  const first = (key: string): string => headers.find((each) => each.key === key)?.value ?? ''
  const references = [...idsIn(first('references')), ...idsIn(first('in-reply-to'))]
  if (references.length > referencesMax)
    return refused('programs seem to answer each other: its thread is too long')
  const content = await contentOf({ source: raw.source, own: rules.own }, stop)
  if (content === null) return refused('its parts cannot be read')
  if (!content.isToOwn) return refused('it is not addressed to Beaver')
  const text = textOf(content, raw)
  const subject = subjectLine(content.subject)
  const messageId = idsIn(first('message-id'))[0] ?? madeId([sender, first('date'), subject, text])
  const isReply = references.length > 0
  return {
    kind: 'message',
    message: {
      chat_id: chatOf({ messageId, references }, rules.own),
      message_id: messageId,
      user: sender,
      // The subject of a reply is left out: it says nothing new, and a decision must be at the beginning of
      // the text.
      text: cut(isReply || subject === '' ? text : `${subject}\n\n${text}`),
      at: timeIn(content.date),
      route: routeOf({ sender, subject, messageId, references }),
    },
  }
}

function mailFaultOf(
  headers: readonly MailHeader[],
  sender: string,
  { own, check, knows }: MailRules,
): string | null {
  if (sender === own) return 'it is from the address of Beaver'
  const fault = senderFault(headers, sender, check) ?? automaticFault(headers, sender)
  if (fault !== null) return fault
  return knows(sender) ? null : 'its sender is not among the users of the channel'
}

const refused = (reason: string): ReadMail => ({ kind: 'refused', reason })

function textOf({ text, attachments, attachmentsCount }: MailContent, { source, bytes }: RawMail): string {
  const body = withoutQuotes(text.replaceAll('\r\n', '\n')).trim()
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
  return [body === '' ? '[The mail has no text.]' : body.slice(0, messageCharsMax - 10_000), ...notes].join(
    '\n\n',
  )
}

/**
 * The text without quoted lines at its end and without the line that announces them. The session already has
 * the quoted mail.
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

/** The time as ISO 8601. `undefined`: the text is not a time. */
function timeIn(date: string): string | undefined {
  const ms = Date.parse(date)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}

// Reads the headers of a mail. Nothing else of a mail is read before its sender is proven and known, so this
// code is simple, and its time grows only with the length of the headers.

const headersMax = 10_000

/**
 * The headers of a mail.
 *
 * @returns `null` if another program could read them differently: there are too many, or there is a character
 * that some programs take for the end of a line
 */
export function headersOf(source: Uint8Array): readonly MailHeader[] | null {
  const lines = headOf(new TextDecoder().decode(source)).split(/\r?\n/)
  const fields: string[][] = []
  for (const line of lines) {
    if (/[\0\r\u0085\u2028\u2029]/.test(line)) return null
    const isFolded = line.startsWith(' ') || line.startsWith('\t')
    if (isFolded) fields.at(-1)?.push(line)
    else if (line !== '') fields.push([line])
    if (fields.length > headersMax) return null
  }
  return fields.flatMap((parts) => {
    const field = parts.join('')
    const colon = field.indexOf(':')
    return colon < 1
      ? []
      : [{ key: field.slice(0, colon).trim().toLowerCase(), value: field.slice(colon + 1).trim() }]
  })
}

/** The text up to the first empty line. */
function headOf(text: string): string {
  const ends = [text.indexOf('\r\n\r\n'), text.indexOf('\n\n')].filter((each) => each >= 0)
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends))
}
