// Reads a mailbox by IMAP, again and again. A mail has a mark when it needs nothing more: its message is
// durable, or it was refused. What has no mark is read by the next session, so that a process that dies loses
// nothing. The Message-ID makes a mail that is read twice harmless. The mark is a keyword. A server that
// keeps no keywords gets the flag `\Answered` instead. A mail that cannot be taken now holds up its chat, and
// no other. It is tried again by the next look. A server that is away is asked again, with longer and longer
// pauses.
import { BeaverError, type Clock, type Logger, messageOf, pause } from '@beaver/core'
import type { ImapFlow } from 'imapflow'
import type { Receive } from '../channel.ts'
import { pauseAfter } from '../persist.ts'
import { mailBytesMax, type MailReader, readMail } from './read-mail.ts'
import { SenderRate } from './sender-rate.ts'
import type { MailServer } from './smtp.ts'

export interface MailboxOptions {
  readonly channel: string
  readonly server: MailServer
  readonly mailbox: string
  /** Mail that came before this day is not read: `2026-11-24`. */
  readonly since: string
  readonly pollMs: number
  readonly timeoutMs: number
  /** How many mails of one sender are taken that came within an hour. */
  readonly perHourMax: number
  readonly reader: MailReader
  readonly clock: Clock
  readonly logger: Logger
}

const takenMark = '$BeaverTaken'
const refusedMark = '$BeaverRefused'
const closeMsMax = 1_000
/**
 * The silence after which a connection counts as lost. IMAP servers are asked something more often than that.
 */
const silentMsMax = 180_000

/** Reads until `signal` aborts. Never rejects. */
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

/** Opens a mailbox, and closes it again. @throws what the server says */
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

/** @param signal ends the attempt */
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
  { signal, opened: told }: { signal: AbortSignal; opened: () => void },
): Promise<void> {
  const client = await opened(options, signal)
  const ended = new AbortController()
  client.on('close', () => ended.abort())
  const over = AbortSignal.any([signal, ended.signal])
  let late = { cancel: (): void => {} }
  const stopped = (): void => void (late = options.clock.after(closeMsMax, () => client.close()))
  signal.addEventListener('abort', stopped, { once: true })
  try {
    told()
    while (!over.aborted) {
      const heard = news(client)
      await look(client, options, intake, over)
      if (!over.aborted) await waited(client, heard, options, over)
    }
  } finally {
    await closed(client, options.clock)
    signal.removeEventListener('abort', stopped)
    late.cancel()
  }
  if (!signal.aborted) throw new BeaverError('unreachable', 'the server closed the connection')
}

/** Becomes true when the server says that something came. */
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
  // The next command ends it.
  client.idle().catch(() => {})
  await Promise.race([heard.came, pause(clock, pollMs, AbortSignal.any([signal, enough.signal]))])
  enough.abort()
  heard.stop()
}

/** Takes everything that has no mark, in the order in which it came. */
async function look(
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
  { reader, logger, clock, channel, perHourMax }: MailboxOptions,
  { receive, rate, held, signal }: Intake & { readonly held: Set<string>; readonly signal: AbortSignal },
): Promise<'taken' | 'refused' | 'later'> {
  const refused = (reason: string): 'refused' => {
    logger.warn('mail_refused', `A mail was refused and not answered: ${reason}.`, { channel })
    return 'refused'
  }
  const read = await readMail(raw, reader, { clock, signal })
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

/** What the server said, if it said something. */
function faultOf(error: unknown): string {
  const said =
    error instanceof Error && 'responseText' in error && typeof error.responseText === 'string'
      ? `: ${error.responseText}`
      : ''
  return `${messageOf(error)}${said}`.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, 300)
}
