// One channel for all networks that have an adapter of the Chat SDK, such as Slack and Telegram.
// - A request of the network is answered with success only when its messages are durable. If Beaver polls the
//   network instead, a message is not acknowledged before it is durable.
// - The network's id of a message is its idempotency key. Repeated events have the same id, and so have
//   different events about the same message, such as Slack's mention and message.
// - In a group, Beaver reads only messages that mention it, decisions about calls, and messages that may name
//   a call. It ignores messages of programs.
// - A person is known by the id in the network, because names can change and pass to somebody else.
// - The networks have no idempotency keys, so tries whose outcome is unknown are counted. A long answer is
//   sent as several messages; this process does not repeat those that arrived.
import type { OutboundMessage } from '@beaver/contracts'
import { BeaverError, type Clock, type Logger, messageOf, pause } from '@beaver/core'
import type { Adapter, Message } from 'chat'
import type { Channel, Receive, Sent, ShownWork } from '../channel.ts'
import { amountIn } from '@beaver/core/budget'
import { budgetReplyIn, codesIn, decisionIn } from '../decision.ts'
import { pauseAfter } from '../persist.ts'
import { chatLogger, type Intake, thinChat } from './thin-chat.ts'

export interface ChatSdkChannelOptions extends Omit<AdapterOptions, 'channel'> {
  readonly name: string
  /** The largest weight of a message (see `piecesOf`). */
  readonly charsMax: number
  readonly clock: Clock
}

/** A request of the network whose signature is not verified yet. */
export interface NetworkRequest {
  readonly headers: Headers
  readonly body: string
}

/** The answer to a request of the network. */
export interface NetworkAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/**
 * After how much work a chat gets a line of text, in milliseconds. It comes soon in a network that may not
 * show that somebody writes.
 */
const lineAfterMs: Readonly<Record<string, number>> = { telegram: 600_000 }
const lineAfterMsUsual = 10_000
/**
 * Networks without a sign that somebody writes. In Slack, only apps with the feature "Agents & AI Apps" may
 * show it.
 */
const showsNothing: ReadonlySet<string> = new Set(['slack'])

const messageCharsMax = 90_000
const attachmentsNamed = 20
/** For how many partly sent messages the channel remembers the pieces that arrived. */
const partlySentMax = 1_000

/** A channel of any network that has an adapter of the Chat SDK. */
export class ChatSdkChannel implements Channel {
  readonly unkeyed = true
  readonly shownWork: ShownWork
  readonly #options: ChatSdkChannelOptions
  readonly #adapter: Adapter
  readonly #over = new AbortController()
  /**
   * By id of a message: how many of its pieces have arrived, and whether it began with the note that it may
   * be a duplicate.
   */
  readonly #arrived = new Map<string, { readonly pieces: number; readonly noted: boolean }>()
  #receive: Receive | null = null
  #ready = false
  #starting: Promise<void> = Promise.resolve()

  private constructor(options: ChatSdkChannelOptions, adapter: Adapter) {
    this.#options = options
    this.#adapter = adapter
    const line = { lineAfterMs: lineAfterMs[options.adapter] ?? lineAfterMsUsual }
    this.shownWork = showsNothing.has(options.adapter)
      ? line
      : { ...line, show: async (chat) => void (this.#ready && (await adapter.startTyping(chat))) }
  }

  /**
   * Loads the adapter and makes the channel.
   *
   * @throws {BeaverError} `invalid_configuration` if there is no such adapter, or if it refuses its options
   */
  static async open(options: ChatSdkChannelOptions): Promise<ChatSdkChannel> {
    return new ChatSdkChannel(options, await adapterOf({ ...options, channel: options.name }))
  }

  get name(): string {
    return this.#options.name
  }

  /**
   * Starts to receive messages. It resolves at once: if the network is unreachable, the channel tries again
   * in the background.
   */
  async start(receive: Receive): Promise<void> {
    this.#receive = receive
    this.#starting = this.#initialize()
  }

  /**
   * Takes a request of the network. If the answer is a success, its messages are durable.
   *
   * @throws {BeaverError} `unreachable`, `timeout`, `wrong_state`: the network should repeat the request
   */
  async takeEvent({ headers, body }: NetworkRequest): Promise<NetworkAnswer> {
    if (!this.#ready)
      throw new BeaverError(
        'unreachable',
        `The channel ${this.name} does not reach its network yet. Send it again later.`,
      )
    const intake: Intake = { taken: [], waitUntil: (task) => void task.catch(() => {}) }
    const request = new Request(`https://${this.name}.invalid/`, { method: 'POST', headers, body })
    const answer = await this.#adapter.handleWebhook(request, intake)
    await Promise.all(intake.taken)
    return {
      status: answer.status,
      contentType: answer.headers.get('content-type') ?? 'text/plain',
      body: await answer.text(),
    }
  }

  async send(message: OutboundMessage, signal: AbortSignal, again: boolean): Promise<Sent> {
    if (!this.#ready) return { kind: 'later', reason: 'The network cannot be reached yet.' }
    const mark = message.kind === 'error' ? '✗ ' : ''
    const { pieces: arrived, noted } = this.#arrived.get(message.id) ?? { pieces: 0, noted: again }
    const pieces = piecesOf(
      withoutCalls(`${noted ? '(This may have come before.)\n' : ''}${mark}${message.text}`),
      this.#options.charsMax,
    )
    for (let next = arrived; next < pieces.length; next++) {
      const outcome = await this.#post(message.chat_id, pieces[next] ?? '', signal)
      if (outcome.kind !== 'sent')
        return outcome.kind === 'later' && next > 0 ? { ...outcome, partly: true } : outcome
      this.#arrived.set(message.id, { pieces: next + 1, noted })
      if (this.#arrived.size > partlySentMax)
        this.#arrived.delete(this.#arrived.keys().next().value as string)
    }
    this.#arrived.delete(message.id)
    return { kind: 'sent' }
  }

  async stop(): Promise<void> {
    this.#over.abort()
    this.#receive = null
    const late = Promise.withResolvers<void>()
    const timer = this.#options.clock.after(1_000, late.resolve)
    await Promise.race([Promise.allSettled([this.#starting, this.#adapter.disconnect?.()]), late.promise])
    timer.cancel()
  }

  async #post(chat: string, markdown: string, signal: AbortSignal): Promise<Sent> {
    const { timeoutMs, clock } = this.#options
    const over = Promise.withResolvers<Sent>()
    const stopped = (): void => over.resolve({ kind: 'later', reason: 'The gateway stopped.', unknown: true })
    const timer = clock.after(timeoutMs, () =>
      over.resolve({ kind: 'later', reason: `No answer came within ${timeoutMs} ms.`, unknown: true }),
    )
    signal.addEventListener('abort', stopped, { once: true })
    const posting = this.#adapter
      .postMessage(chat, { markdown })
      .then((): Sent => ({ kind: 'sent' }), outcomeOf)
    return Promise.race([posting, over.promise]).finally(() => {
      timer.cancel()
      signal.removeEventListener('abort', stopped)
    })
  }

  async #initialize(): Promise<void> {
    const { name, logger, clock } = this.#options
    const chat = thinChat({ name, logger, take: (message, lasting) => this.#take(message, lasting) })
    for (let failures = 1; !this.#over.signal.aborted; failures++) {
      try {
        await this.#adapter.initialize(chat)
        // Without its own name, an adapter cannot recognise which messages mention Beaver.
        this.#ready = !('botUserId' in this.#adapter) || this.#adapter.botUserId !== undefined
        if (this.#ready) return
      } catch (error) {
        logger.warn(
          'network_away',
          `The network cannot be reached: ${messageOf(error).slice(0, 300)}. It is tried again.`,
          { channel: name },
        )
      }
      await pause(clock, pauseAfter(failures), this.#over.signal)
    }
  }

  async #take(message: Message, lasting: boolean): Promise<void> {
    const { author } = message
    if (author.isMe || author.isBot === true || author.isSystem === true) return
    const text = textFor(message, this.#adapter)
    const isMeant =
      this.#adapter.isDM?.(message.threadId) === true ||
      isCalled(message, this.#adapter) ||
      decisionIn(text) !== null
    if (!isMeant && codesIn(text).length === 0) return
    const at = Number.isNaN(message.metadata.dateSent.getTime())
      ? undefined
      : message.metadata.dateSent.toISOString()
    const edited = message.metadata.edited ? ({ edited: true } as const) : {}
    const received = {
      chat_id: message.threadId,
      message_id: message.id,
      user: author.userId,
      text,
      at,
      ...edited,
      ...(isMeant ? {} : ({ aside: true } as const)),
    }
    for (let tries = 1; ; tries++) {
      try {
        if (this.#receive === null)
          throw new BeaverError('wrong_state', `The channel ${this.name} does not run.`)
        await this.#receive(received)
        return
      } catch (error) {
        const isLasting = error instanceof BeaverError && error.code === 'invalid_arguments'
        this.#options.logger.warn(
          'message_not_taken',
          `A message was not taken: ${messageOf(error).slice(0, 300)}`,
          { channel: this.name },
        )
        // Do not throw, or the network would repeat this invalid message without end.
        if (isLasting) return
        if (!lasting || this.#over.signal.aborted) throw error
        await pause(this.#options.clock, pauseAfter(tries), this.#over.signal)
      }
    }
  }
}

const namesOf = ({ userName, botUserId }: Adapter): readonly string[] =>
  [userName, botUserId ?? ''].filter((name) => name !== '')

const isCalled = ({ isMention, text }: Message, adapter: Adapter): boolean =>
  isMention ?? namesOf(adapter).some((name) => text.includes(`@${name}`))

/**
 * Whether a part of the message is struck through or quotes another message. The plain text does not show
 * this.
 */
function isStruckOrQuoted(node: unknown): boolean {
  const { type, children } = (node ?? {}) as { type?: unknown; children?: unknown }
  return (
    type === 'delete' || type === 'blockquote' || (Array.isArray(children) && children.some(isStruckOrQuoted))
  )
}

/** Whether a text allows a call or gives more to a budget, if it is meant so. */
const permits = (text: string): boolean => {
  const reply = budgetReplyIn(text)
  return (
    decisionIn(text)?.verb === 'approve' || (reply?.verb === 'more' && amountIn(reply.amount, 'usd') !== null)
  )
}

/**
 * The text of a message without a mention of Beaver at its beginning, so that a decision after the mention is
 * recognised. An approval that is struck through or quoted is marked, so that it does not count.
 */
function textFor({ text, attachments, formatted }: Message, adapter: Adapter): string {
  const called = namesOf(adapter).find((name) =>
    text.trimStart().toLowerCase().startsWith(`@${name.toLowerCase()}`),
  )
  const plain = (called === undefined ? text : text.trimStart().slice(called.length + 1))
    .trim()
    .slice(0, messageCharsMax)
    .toWellFormed()
  const said = isStruckOrQuoted(formatted) && permits(plain) ? `~~${plain}~~` : plain
  const named = attachments.slice(0, attachmentsNamed).map(({ name, type }) => (name ?? type).slice(0, 100))
  const notes = named.length === 0 ? [] : [`[Attachments that were not read: ${named.join(', ')}]`]
  return [said === '' ? '[The message has no text.]' : said, ...notes].join('\n\n')
}

// Splits a long text into messages for a network with a limit. Together, the pieces are the text. A piece
// ends at the end of a line or a word if possible. A character that the network escapes counts twice.

const escaped = /[_*[\]()~`>#+\-=|{}.!\\<&]/
const wordMin = 0.5

/**
 * The pieces of a text.
 *
 * @param most the largest weight of a piece: one for each character, two for an escaped one
 */
export function piecesOf(text: string, most: number): readonly string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length;) {
    const end = endOf(text, from, most)
    pieces.push(text.slice(from, end))
    from = end
  }
  return pieces
}

function endOf(text: string, from: number, most: number): number {
  let [weight, end] = [0, from]
  for (; end < text.length; end++) {
    weight += escaped.test(text[end] ?? '') ? 2 : 1
    if (weight > most) break
  }
  if (end >= text.length) return end
  const least = from + Math.max(1, Math.floor((end - from) * wordMin))
  const line = text.lastIndexOf('\n', end - 1) + 1
  if (line > least) return line
  const word = text.lastIndexOf(' ', end - 1) + 1
  if (word > least) return word
  // Keep the two halves of a surrogate pair together.
  const split = /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') && end - 1 > from
  return Math.max(split ? end - 1 : end, from + 1)
}

/** The text with an invisible space in mentions, so that an agent cannot notify people or a whole chat. */
export const withoutCalls = (text: string): string =>
  text.replaceAll(/<(?=[!@#])/g, '<\u200B').replaceAll(/@(?=everyone\b|here\b|channel\b|all\b)/gi, '@\u200B')

// The outcome of a try to send, from the error of the adapter: a pure function. If the network answered with
// an error, it does not have the message. If no answer came, the outcome is unknown.

/** The classes of adapter errors after which the network would give the same answer again. */
const lasting = new Set(['PermissionError', 'ResourceNotFoundError', 'ValidationError'])
/** The errors of Slack that the message does not cause. */
const passing = new Set([
  'ratelimited',
  'rate_limited',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'invalid_auth',
  'token_expired',
  'token_revoked',
])

function outcomeOf(error: unknown): Sent {
  const reason = messageOf(error).slice(0, 300)
  if (!(error instanceof Error)) return { kind: 'later', reason, unknown: true }
  if (error.name === 'AdapterRateLimitError' || error.name === 'RateLimitError')
    return { kind: 'later', reason, afterMs: secondsIn(error, 'retryAfter') }
  if (error.name === 'AuthenticationError') return { kind: 'later', reason }
  if (lasting.has(error.name)) return { kind: 'never', reason }
  // The client of Slack throws errors with its own codes.
  const code = 'code' in error ? error.code : null
  if (code === 'slack_webapi_rate_limited_error')
    return { kind: 'later', reason, afterMs: secondsIn(error, 'retryAfter') }
  if (code === 'slack_webapi_platform_error')
    return passing.has(slackError(error)) ? { kind: 'later', reason } : { kind: 'never', reason }
  return { kind: 'later', reason, unknown: true }
}

const secondsIn = (error: object, name: string): number | undefined => {
  const value = (error as Record<string, unknown>)[name]
  return typeof value === 'number' && value >= 0 ? value * 1_000 : undefined
}

const slackError = (error: object): string => {
  const { data } = error as { data?: { error?: unknown } }
  return typeof data?.error === 'string' ? data.error : ''
}

// Finds and makes the adapter of a network. The packages of adapters are large, so each is loaded only when a
// channel needs it.

interface AdapterOptions {
  readonly channel: string
  /** `slack`, `telegram`, or another name for which the package `@chat-adapter/<name>` is installed. */
  readonly adapter: string
  /** The options from the documentation of the adapter, with the secrets filled in. */
  readonly options: Readonly<Record<string, unknown>>
  /** How long the network may take to answer, in milliseconds. */
  readonly timeoutMs: number
  readonly logger: Logger
}

type Factory = (options: Readonly<Record<string, unknown>>) => Adapter

/** The adapters that come with Beaver. */
const known: Readonly<Record<string, () => Promise<Readonly<Record<string, unknown>>>>> = {
  slack: () => import('@chat-adapter/slack'),
  telegram: () => import('./telegram-adapter.ts'),
}

/** Options that override those of an adapter. Its own retries would be neither bounded nor counted. */
const fixed: Readonly<Record<string, (timeoutMs: number) => Readonly<Record<string, unknown>>>> = {
  slack: (timeout) => ({
    webClientOptions: { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true, timeout },
  }),
}

/** @throws {BeaverError} `invalid_configuration`, `package_missing` */
async function adapterOf({ channel, adapter, options, timeoutMs, logger }: AdapterOptions): Promise<Adapter> {
  const factory = await factoryOf(channel, adapter)
  try {
    return factory({ ...options, ...fixed[adapter]?.(timeoutMs), logger: chatLogger(channel, logger) })
  } catch (error) {
    throw new BeaverError(
      'invalid_configuration',
      `The adapter ${adapter} of the channel ${channel} refuses its options: ${messageOf(error)}`,
      {
        cause: error,
      },
    )
  }
}

async function factoryOf(channel: string, adapter: string): Promise<Factory> {
  const name = `@chat-adapter/${adapter}`
  let loaded: Readonly<Record<string, unknown>>
  try {
    loaded = await (known[adapter]?.() ?? (import(name) as Promise<Record<string, unknown>>))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND')
      throw new BeaverError(
        'package_missing',
        `The channel ${channel} needs the package ${name}, which is not installed. Add it beside Beaver: npm install ${name}`,
        { cause: error },
      )
    throw new BeaverError(
      'invalid_configuration',
      `The package ${name} of the channel ${channel} cannot be loaded: ${messageOf(error)}`,
      { cause: error },
    )
  }
  const factories = Object.entries(loaded).filter(
    ([key, value]) => /^create[A-Z]\w*Adapter$/.test(key) && typeof value === 'function',
  )
  const [found] = factories
  if (found === undefined || factories.length > 1)
    throw new BeaverError(
      'invalid_configuration',
      `The package ${name} of the channel ${channel} is no adapter of the Chat SDK that Beaver can use.`,
    )
  return found[1] as Factory
}
