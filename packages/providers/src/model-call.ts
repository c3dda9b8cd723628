// One call to a model over HTTP, in any protocol of OpenAI: who ends it, and how its answer is read. The
// protocol writes the request and reads what comes (openai-chat.ts, openai-responses.ts). One call is one
// HTTP request. There is no retry here, because the AgentLoop has the policy. Only a server that does not
// know a field is asked again without it. After that the provider leaves this field out. A call ends within
// `timeoutMs`, even if the server stalls in the middle of its answer. A stream that falls silent ends within
// `idleMs`. No error contains the API key, even if the server echoes it. A streamed answer equals the whole
// answer. What a server sends is read as what it is, a stream or a whole answer.
import type { ChatAnswer, ChatProvider, ChatRequest, PaidAnswer, ProviderError } from '@beaver/agent'
import { type ChatMessage, type ModelSettings, settingsFrom } from '@beaver/core'
import type { CacheSetting } from './cache-ways.ts'
import { type CallWatch, watchCall } from './call-watch.ts'
import type { AnswerPlace } from './chat-completion.ts'
import type { HttpAnswer } from './http-post.ts'
import { openAiEndpoint, type OpenAiEndpointOptions } from './openai-endpoint.ts'
import { providerErrorOf, refusalIn, refusedTools } from './provider-failure.ts'
import { toolNameIn } from './request-body.ts'
import { bodyOf, bodyText, eventsOfText, isEventText, type StreamEvent } from './response-body.ts'
import type { StructuredOutput } from './response-format.ts'
import { field } from './server-error.ts'
import { wireUsage, type WireUsage } from './wire-shapes.ts'
import { usageOf } from './wire-usage.ts'

export interface ModelCallOptions extends OpenAiEndpointOptions {
  /** A streamed answer is given up after this much silence. Default: `timeoutMs`. */
  readonly idleMs?: number
  /** How the model is asked. A request may replace each of them. Default: as the server decides. */
  readonly settings?: ModelSettings
  /**
   * When the endpoint itself is asked for the form of an answer. Default: `native` for OpenAI, `auto` for
   * other endpoints.
   */
  readonly structuredOutput?: StructuredOutput
  /** The context window of the model, in tokens. Default: it is not known. */
  readonly contextTokens?: number
  /** Whether the model takes images. Default: its server says so when it is asked. */
  readonly images?: boolean
  /** How the endpoint's cache is helped. Default: what its documentation asks for, if it is known. */
  readonly cache?: CacheSetting
  /**
   * The header that has the key for the cache. Default: a field of the body, or the header that is known of
   * the endpoint.
   */
  readonly cacheKeyHeader?: string
}

/** When an endpoint is asked for the form of an answer if nobody says so. */
export const whenAsked = ({ baseURL }: ModelCallOptions): StructuredOutput =>
  baseURL === undefined ? 'native' : 'auto'

/** How one interface of a server is asked and read. */
export interface WireProtocol {
  /** Its path below the base URL. */
  readonly path: string
  /** What one call sends, and what it learns from refusals. */
  exchange(request: ChatRequest, settings: ModelSettings): WireExchange
  /** Reads a whole answer. @throws {ProviderError} */
  readWhole(body: string, place: AnswerPlace): ChatAnswer
  readStream(place: AnswerPlace): AnswerStream
}

/** The request of one call. */
export interface WireExchange {
  /** The body, as the server is known by now. */
  body(): string
  /** Headers of this request alone. Those of the endpoint come before them. */
  readonly headers: Readonly<Record<string, string>>
  /** The server has taken the last body. */
  taken(): void
  /**
   * Returns whether a refusal of the last body says what the server does not know, so that it is asked again.
   */
  learns(refusal: unknown): boolean
}

/** The events of a streamed answer, as they come. */
export interface AnswerStream {
  /** Takes the next event, and returns its text or ''. @throws {ProviderError} */
  take(event: StreamEvent): string
  /**
   * Whether the last event ended the answer, though the server may not say that the stream is done. Default:
   * only `done` ends it.
   */
  ended?(): boolean
  /** @throws {ProviderError} `provider_unavailable` if the answer was cut, `malformed_output`, `refusal` */
  end(): ChatAnswer
  /** The text of the answer that no event returned. Default: none. */
  unshown?(): string
}

/** The reading of one answer. */
interface Reading {
  readonly watch: CallWatch
  readonly answering: AnswerPlace
  readonly heard: HeardAnswer
}

/** @throws {BeaverError} `invalid_configuration` if `baseURL` is not an http URL or the key is empty */
export function modelCalls(options: ModelCallOptions, protocol: WireProtocol): ChatProvider {
  const { name, model, timeoutMs } = options
  const { post, place } = openAiEndpoint(options)
  const limits = { timeoutMs, idleMs: options.idleMs ?? timeoutMs }

  async function chat(request: ChatRequest): Promise<ChatAnswer> {
    request.signal.throwIfAborted()
    const watch = watchCall(request.signal, limits)
    const answering: AnswerPlace = {
      ...place,
      tools: request.tools,
      earlierCalls: () => callsIn(request.messages),
      toolName: (wire) => toolNameIn(request.tools, wire),
    }
    const reading: Reading = { watch, answering, heard: new HeardAnswer(model) }
    try {
      return await asked(request, reading)
    } catch (error) {
      request.signal.throwIfAborted()
      throw reading.heard.bill(providerErrorOf(error, { ...answering, ...limits, gaveUp: watch.gaveUp() }))
    } finally {
      watch.close()
    }
  }

  /**
   * Sends the request and reads the answer, and again without what the server does not take. Each refusal
   * teaches one thing, so it ends.
   */
  async function asked(request: ChatRequest, reading: Reading): Promise<ChatAnswer> {
    const { watch } = reading
    const exchange = protocol.exchange(request, settingsFrom(options.settings, request.settings))
    const show = request.onText
    for (let shown = false; ;) {
      try {
        const answer = await post(
          protocol.path,
          { body: exchange.body(), headers: exchange.headers },
          watch.controller.signal,
        )
        const read =
          show === undefined
            ? await readWhole(protocol, request, { ...reading, body: await bodyText(answer, place.host) })
            : await readStream(
                { ...request, onText: (text) => ((shown = true), show(text)) },
                answer,
                reading,
              )
        exchange.taken()
        return read
      } catch (error) {
        if (shown || namesTools(error, request) || !exchange.learns(error)) throw error
      }
    }
  }

  async function readStream(request: ChatRequest, answer: HttpAnswer, reading: Reading): Promise<ChatAnswer> {
    const { watch, answering, heard } = reading
    const show = heard.showing(request.onText)
    watch.stir()
    const body = await bodyOf(answer, place.host, watch.stir)
    if ('text' in body) {
      const whole = await readWhole(protocol, request, { ...reading, body: body.text })
      show(whole.content)
      return whole
    }
    const stream = protocol.readStream(answering)
    for await (const event of untilDone(body.events, stream, watch)) {
      if (event.kind !== 'done') heard.take(event.value)
      show(stream.take(event))
    }
    request.signal.throwIfAborted()
    const ended = stream.end()
    show(stream.unshown?.() ?? null)
    return ended
  }

  return {
    name,
    model,
    chat,
    ...(options.contextTokens === undefined ? {} : { contextTokens: options.contextTokens }),
  }
}

/** What a server says of a tool, such as of its name, says nothing of the other fields of the request. */
function namesTools(error: unknown, { tools }: ChatRequest): boolean {
  const said = refusalIn(error)
  return said !== null && refusedTools(said, tools).length > 0
}

/** A body that nobody expects to be a stream may be one. */
async function readWhole(
  protocol: WireProtocol,
  request: ChatRequest,
  { body, answering, heard }: Reading & { body: string },
): Promise<ChatAnswer> {
  if (isEventText(body)) {
    const stream = protocol.readStream(answering)
    for await (const event of eventsOfText(body)) {
      if (event.kind !== 'done') heard.take(event.value)
      stream.take(event)
    }
    return stream.end()
  }
  try {
    return whileRead(request, () => protocol.readWhole(body, answering))
  } catch (error) {
    heard.takeText(body)
    throw error
  }
}

/** The events up to the end of the answer. Then the response has a moment to end. */
async function* untilDone(
  events: AsyncIterable<StreamEvent>,
  stream: AnswerStream,
  watch: CallWatch,
): AsyncGenerator<StreamEvent> {
  let done = false
  try {
    for await (const event of events) {
      if (done) continue
      yield event
      if (event.kind !== 'done' && stream.ended?.() !== true) continue
      done = true
      watch.answered()
    }
  } catch (error) {
    if (!done) throw error
  }
}

/** Calls `onRead` around the reading, because a body that is small on the wire may fill a heap. */
function whileRead({ onRead }: ChatRequest, read: () => ChatAnswer): ChatAnswer {
  const over = onRead?.()
  try {
    return read()
  } finally {
    over?.()
  }
}

/** The number of tool calls in a conversation. */
export const callsIn = (messages: readonly ChatMessage[]): number =>
  messages.reduce(
    (count, message) => count + (message.role === 'assistant' ? (message.tool_calls?.length ?? 0) : 0),
    0,
  )

// What a server counted of an answer that is of no use: it refused, broke off, or sent what nobody can read.
// An answer is paid as soon as the server counts it, or begins to say something. What it does not count is
// unknown, and no zero.

/** Hears what comes of one answer. */
class HeardAnswer {
  readonly #asked: string
  #usage: WireUsage = null
  #model: string | null = null
  #spoke = false

  /** @param asked the model that is asked */
  constructor(asked: string) {
    this.#asked = asked
  }

  /** Takes the value of an event, or a whole answer. */
  take(value: unknown): void {
    const response = field(value, 'response') ?? value
    const choices = field(response, 'choices')
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
    for (const place of [response, choice, field(response, 'x_groq')]) {
      const given = field(place, 'usage')
      if (typeof given === 'object' && given !== null) this.#usage = wireUsage.parse(given)
    }
    if (
      says(choice) ||
      (typeof field(value, 'type') === 'string' && String(field(value, 'type')).endsWith('.delta'))
    )
      this.#spoke = true
    const model = field(response, 'model')
    if (typeof model === 'string' && model !== '') this.#model = model
  }

  /** Shows the pieces of its text. */
  showing(onText: (text: string) => void = () => undefined): (text: string | null) => void {
    return (text) => {
      if (!text) return
      this.#spoke = true
      onText(text)
    }
  }

  takeText(body: string): void {
    try {
      this.take(JSON.parse(body))
    } catch {
      // It has no count that can be read.
    }
  }

  /** Says what is paid with the failure of this answer. */
  bill(error: ProviderError): ProviderError {
    error.paid ??= this.#paid(error)
    return error
  }

  #paid({ class: failureClass }: ProviderError): PaidAnswer | null {
    if (this.#usage === null && !this.#spoke && failureClass !== 'refusal') return null
    const usage = usageOf(this.#usage)
    // A gateway that fails at once counts nothing.
    const isNothing = usage.input_tokens + usage.output_tokens === 0 && usage.unknown_calls === undefined
    return isNothing ? null : { usage, model: this.#model ?? this.#asked }
  }
}

/** Whether a choice of a stream has a piece of anything: of a text, of thoughts, of a call, of a refusal. */
function says(choice: unknown): boolean {
  const delta = field(choice, 'delta')
  if (typeof delta !== 'object' || delta === null) return false
  return Object.entries(delta).some(
    ([name, piece]) =>
      name !== 'role' && piece !== null && piece !== '' && !(Array.isArray(piece) && piece.length === 0),
  )
}
