// One channel for all networks for which the Chat SDK has an adapter, such as Slack and Telegram. A request
// of the network is answered with success only when its messages are durable. A network that does not repeat
// messages, because somebody asks it for them, is not told that they were taken before they are. The
// network's id of a message is its idempotency key: a repeated event has the same. An event may have several
// ids, such as the mention and the message of Slack; a message has one. In a group only what calls Beaver by
// its name is heard, decisions about calls, and what may name a call. What programs write is not heard. A
// person is named by the id in the network: names can change, and somebody else may take them. The network
// has no key of idempotency, so a try whose end nobody knows is counted. A long answer is several messages;
// those that arrived are not sent again by this process.
import type { OutboundMessage } from '@beaver/contracts'
import { BeaverError, type Clock, type Logger, messageOf, pause } from '@beaver/core'
import type { Adapter, Message } from 'chat'
import type { Channel, Receive, Sent, ShownWork } from '../channel.ts'
import { codesIn, decisionIn } from '../decision.ts'
import { pauseAfter } from '../persist.ts'
import { chatLogger, type Intake, thinChat } from './thin-chat.ts'

export interface ChatSdkChannelOptions extends Omit<AdapterOptions, 'channel'> {
  readonly name: string
  /** How much text a message may have. */
  readonly charsMax: number
  readonly clock: Clock
}

/** A request as it came. */
export interface NetworkRequest {
  readonly headers: Headers
  readonly body: string
}

/** What the network is told. */
export interface NetworkAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/**
 * After how much work a chat gets a line, in milliseconds. Where it is not known whether a network shows that
 * somebody writes, the line comes soon.
 */
const lineAfterMs: Readonly<Record<string, number>> = { telegram: 600_000 }
const lineAfterMsUsual = 10_000
/** In Slack, only apps with the feature "Agents & AI Apps" may show that they write. */
const showsNothing: ReadonlySet<string> = new Set(['slack'])

const messageCharsMax = 90_000
const attachmentsNamed = 20
/** How many messages of which a part arrived are remembered. */
const partlySentMax = 1_000

export class ChatSdkChannel implements Channel {
  readonly unkeyed = true
  readonly shownWork: ShownWork
  readonly #of: ChatSdkChannelOptions
  readonly #adapter: Adapter
  readonly #over = new AbortController()
  /** How many pieces of a message have arrived, and whether it began with a note. */
  readonly #arrived = new Map<string, { readonly pieces: number; readonly noted: boolean }>()
  #receive: Receive | null = null
  #ready = false
  #starting: Promise<void> = Promise.resolve()

  private constructor(of: ChatSdkChannelOptions, adapter: Adapter) {
    this.#of = of
    this.#adapter = adapter
    const line = { lineAfterMs: lineAfterMs[of.adapter] ?? lineAfterMsUsual }
    this.shownWork = showsNothing.has(of.adapter)
      ? line
      : { ...line, show: async (chat) => void (this.#ready && (await adapter.startTyping(chat))) }
  }

  /** @throws {BeaverError} `invalid_configuration` if there is no such adapter, or it refuses its options */
  static async open(of: ChatSdkChannelOptions): Promise<ChatSdkChannel> {
    return new ChatSdkChannel(of, await adapterOf({ ...of, channel: of.name }))
  }

  get name(): string {
    return this.#of.name
  }

  /** Begins to receive. A network that is away does not keep the gateway from starting. */
  async start(receive: Receive): Promise<void> {
    this.#receive = receive
    this.#starting = this.#initialize()
  }

  /**
   * Takes a request of the network. Its messages are durable if this answers with success.
   *
   * @throws {BeaverError} `unreachable`, `timeout`, `wrong_state`: the network is to send it again
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
      this.#of.charsMax,
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
    const timer = this.#of.clock.after(1_000, late.resolve)
    await Promise.race([Promise.allSettled([this.#starting, this.#adapter.disconnect?.()]), late.promise])
    timer.cancel()
  }

  async #post(chat: string, markdown: string, signal: AbortSignal): Promise<Sent> {
    const { timeoutMs, clock } = this.#of
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
    const { name, logger, clock } = this.#of
    const chat = thinChat({ name, logger, take: (message, lasting) => this.#take(message, lasting) })
    for (let failures = 1; !this.#over.signal.aborted; failures++) {
      try {
        await this.#adapter.initialize(chat)
        // An adapter that does not know its own name cannot tell what is meant for it.
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
        this.#of.logger.warn(
          'message_not_taken',
          `A message was not taken: ${messageOf(error).slice(0, 300)}`,
          { channel: this.name },
        )
        // The network would repeat it for ever.
        if (isLasting) return
        if (!lasting || this.#over.signal.aborted) throw error
        await pause(this.#of.clock, pauseAfter(tries), this.#over.signal)
      }
    }
  }
}

const namesOf = ({ userName, botUserId }: Adapter): readonly string[] =>
  [userName, botUserId ?? ''].filter((name) => name !== '')

const isCalled = ({ isMention, text }: Message, adapter: Adapter): boolean =>
  isMention ?? namesOf(adapter).some((name) => text.includes(`@${name}`))

/**
 * Whether a part of the message is struck through, or quotes another one. Its plain text does not show this.
 */
function isStruckOrQuoted(node: unknown): boolean {
  const { type, children } = (node ?? {}) as { type?: unknown; children?: unknown }
  return (
    type === 'delete' || type === 'blockquote' || (Array.isArray(children) && children.some(isStruckOrQuoted))
  )
}

/**
 * The text without the name of Beaver at its beginning, so that a decision is one. An approval that is struck
 * through or quoted is none.
 */
function textFor({ text, attachments, formatted }: Message, adapter: Adapter): string {
  const called = namesOf(adapter).find((name) =>
    text.trimStart().toLowerCase().startsWith(`@${name.toLowerCase()}`),
  )
  const plain = (called === undefined ? text : text.trimStart().slice(called.length + 1))
    .trim()
    .slice(0, messageCharsMax)
    .toWellFormed()
  const said = isStruckOrQuoted(formatted) && decisionIn(plain)?.verb === 'approve' ? `~~${plain}~~` : plain
  const named = attachments.slice(0, attachmentsNamed).map(({ name, type }) => (name ?? type).slice(0, 100))
  const notes = named.length === 0 ? [] : [`[Attachments that were not read: ${named.join(', ')}]`]
  return [said === '' ? '[The message has no text.]' : said, ...notes].join('\n\n')
}

// A long text as messages of a network that takes only so much. The pieces together are the text. They end at
// the ends of lines or words where there is one. A character that a network writes with an escape counts as
// two. Nothing in the text calls everybody in a chat.

const escaped = /[_*[\]()~`>#+\-=|{}.!\\<&]/
const wordMin = 0.5

/** @param most the weight of a piece */
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
  // Both halves of a character outside the basic plane stay together.
  const split = /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') && end - 1 > from
  return Math.max(split ? end - 1 : end, from + 1)
}

/** The text, with an invisible space in what would call people. */
export const withoutCalls = (text: string): string =>
  text.replaceAll(/<(?=[!@#])/g, '<\u200B').replaceAll(/@(?=everyone\b|here\b|channel\b|all\b)/gi, '@\u200B')

// What became of a message, by the error of its adapter: a pure function.
// A network that answered has not got the message; if no answer came, nobody knows.

/**
 * Errors of adapters, by the names of their classes: the network has answered, and will say the same again.
 */
const lasting = new Set(['PermissionError', 'ResourceNotFoundError', 'ValidationError'])
/** What Slack says if nothing is wrong with the message. */
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
  // The client of Slack has codes of its own.
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

// Finds and makes the adapter of a network. The packages of adapters are large, so each is loaded only if a
// channel uses it.

interface AdapterOptions {
  readonly channel: string
  /** `slack`, `telegram`, or another one whose package `@chat-adapter/<name>` is installed. */
  readonly adapter: string
  /** What the adapter is given, as its documentation says, with the secrets. */
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

/** What is not to be left to an adapter: its own repetitions would be neither bounded nor counted. */
const fixed: Readonly<Record<string, (timeoutMs: number) => Readonly<Record<string, unknown>>>> = {
  slack: (timeout) => ({
    webClientOptions: { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true, timeout },
  }),
}

/** @throws {BeaverError} `invalid_configuration` */
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
    throw new BeaverError(
      'invalid_configuration',
      `The channel ${channel} needs the package ${name}. Install it beside Beaver.`,
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
