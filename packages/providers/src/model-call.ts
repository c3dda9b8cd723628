// One call to a model over HTTP, in any protocol of OpenAI: what ends it, and how its answer is read. The
// protocols (openai-chat.ts, openai-responses.ts) write the request and read the answer. The AgentLoop
// retries; here, only a server that refuses a field is asked again without it. No error contains the API key,
// even if the server echoes it. An answer is read as a stream or as a whole by what it is, whatever the
// server calls it.
import {
  brokenOffUsage,
  cancelledCall,
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  type PaidAnswer,
  type ProviderError,
} from '@beaver/agent'
import { type ChatMessage, type ModelSettings, settingsFrom } from '@beaver/core'
import { traceHeaders } from '@beaver/core/trace'
import type { CacheSetting } from './cache-ways.ts'
import { type CallWatch, watchCall } from './call-watch.ts'
import type { AnswerPlace } from './chat-completion.ts'
import type { HttpAnswer } from './http-post.ts'
import { openAiEndpoint, type OpenAiEndpointOptions } from './openai-endpoint.ts'
import { EndpointRefusal, providerErrorOf, refusalIn, refusedTools } from './provider-failure.ts'
import { toolNameIn } from './request-body.ts'
import { bodyOf, bodyText, eventsOfText, isEventText, type StreamEvent } from './response-body.ts'
import type { StructuredOutput } from './response-format.ts'
import { field } from './server-error.ts'
import { wireUsage, type WireUsage } from './wire-shapes.ts'
import { usageOf } from './wire-usage.ts'

export interface ModelCallOptions extends OpenAiEndpointOptions {
  /** Ends a streamed answer after this much silence. Default: `timeoutMs`. */
  readonly idleMs?: number
  /** A request may replace each setting. Default: the server's own. */
  readonly settings?: ModelSettings
  /** When to ask the endpoint itself for the form of an answer. Default: `native` for OpenAI, else `auto`. */
  readonly structuredOutput?: StructuredOutput
  /** The context window of the model, in tokens. Default: unknown. */
  readonly contextTokens?: number
  /** Whether the model takes images. Default: its refusals tell. */
  readonly images?: boolean
  /** Default: the way that the documentation of a known endpoint asks for. */
  readonly cache?: CacheSetting
  /** The header for the cache key. Default: the known header of the endpoint, or a field of the body. */
  readonly cacheKeyHeader?: string
}

export const whenAsked = ({ baseURL }: ModelCallOptions): StructuredOutput =>
  baseURL === undefined ? 'native' : 'auto'

export interface WireProtocol {
  readonly path: string
  /** What one call sends, and what refusals teach it. */
  exchange(request: ChatRequest, settings: ModelSettings): WireExchange
  /** Reads a whole answer. @throws {ProviderError} */
  readWhole(body: string, place: AnswerPlace): ChatAnswer
  readStream(place: AnswerPlace): AnswerStream
}

export interface WireExchange {
  /** The body, by what is known of the server now. */
  body(): string
  /** Headers of this request alone. They override those of the endpoint. */
  readonly headers: Readonly<Record<string, string>>
  /** Notes that the server took the last body. */
  taken(): void
  /** Whether a refusal of the last body tells what the server does not take, so that it is asked again. */
  learns(refusal: unknown): boolean
}

export interface AnswerStream {
  /** Takes the next event, and returns its text or ''. @throws {ProviderError} */
  take(event: StreamEvent): string
  /** Whether the last event ended the answer without the server's `done`. Default: only `done` ends it. */
  ended?(): boolean
  /** @throws {ProviderError} `provider_unavailable` if the answer was cut, `malformed_output`, `refusal` */
  end(): ChatAnswer
  /** The text of the answer that no event returned. Default: none. */
  unshown?(): string
}

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
    const reading: Reading = { watch, answering, heard: new HeardAnswer(model, request) }
    try {
      return await asked(request, reading)
    } catch (error) {
      if (request.signal.aborted) throw reading.heard.cancelled(request.signal.reason)
      const gaveUp = watch.gaveUp()
      throw reading.heard.bill(providerErrorOf(error, { ...answering, ...limits, gaveUp }), gaveUp !== null)
    } finally {
      watch.close()
    }
  }

  /** Sends the request, and again without what the server refuses. Each refusal teaches one thing. */
  async function asked(request: ChatRequest, reading: Reading): Promise<ChatAnswer> {
    const { watch, heard } = reading
    const exchange = protocol.exchange(request, settingsFrom(options.settings, request.settings))
    const show = request.onText
    for (let shown = false; ;) {
      try {
        const answer = await post(
          protocol.path,
          {
            body: exchange.body(),
            headers: { ...traceHeaders(request.trace), ...exchange.headers },
            onSent: heard.sent,
          },
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
        if (error instanceof EndpointRefusal || refusalIn(error) !== null) heard.refused()
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
    heard.ended()
    const ended = stream.end()
    show(stream.unshown?.() ?? null)
    return ended
  }

  const { contextTokens, settings } = options
  const outputTokensMax = settings?.output_tokens_max
  return {
    name,
    model,
    chat,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(outputTokensMax === undefined ? {} : { outputTokensMax }),
  }
}

/** A refusal of a tool, for example of its name, says nothing about other fields of the request. */
function namesTools(error: unknown, { tools }: ChatRequest): boolean {
  const refusal = refusalIn(error)
  return refusal !== null && refusedTools(refusal, tools).length > 0
}

/** A body that should not be a stream may be one. */
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
    heard.ended()
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

export const callsIn = (messages: readonly ChatMessage[]): number =>
  messages.reduce(
    (count, message) => count + (message.role === 'assistant' ? (message.tool_calls?.length ?? 0) : 0),
    0,
  )

// What must be paid for a call without an answer: the server refused, broke off, or sent unreadable data, or
// the call was cancelled. The server's count wins. An answer that begins to say something and is not complete
// is counted by the bytes that were sent and received; one that is complete without a count is unknown, not
// zero. A call that is cancelled, or on which Beaver gave up, has cost what was sent.

class HeardAnswer {
  readonly #asked: string
  readonly #request: ChatRequest
  #usage: WireUsage = null
  #model: string | null = null
  #sent = false
  #spoke = false
  #ended = false
  #bytes = 0

  /** @param asked the requested model */
  constructor(asked: string, request: ChatRequest) {
    this.#asked = asked
    this.#request = request
  }

  readonly sent = (): void => {
    this.#sent = true
  }

  /** Notes that the server took nothing of what was sent. */
  refused(): void {
    this.#sent = false
  }

  /** Notes the end of the stream. */
  ended(): void {
    this.#ended = true
  }

  /** Takes the value of an event, or a whole answer. */
  take(value: unknown): void {
    const response = field(value, 'response') ?? value
    const choices = field(response, 'choices')
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
    for (const place of [response, choice, field(response, 'x_groq')]) {
      const usageField = field(place, 'usage')
      if (typeof usageField === 'object' && usageField !== null) this.#usage = wireUsage.parse(usageField)
    }
    const piece = pieceIn(value, choice)
    if (piece !== null) this.#spoke = true
    this.#bytes += piece ?? 0
    const model = field(response, 'model')
    if (typeof model === 'string' && model !== '') this.#model = model
  }

  /** Passes the pieces of its text on. */
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

  /**
   * Adds what must be paid to the failure of this answer.
   *
   * @param gaveUp whether it came too late, so that its server may have worked on it
   */
  bill(error: ProviderError, gaveUp: boolean): ProviderError {
    error.paid ??= gaveUp && this.#sent ? this.#billed(true) : this.#paid(error)
    return error
  }

  /** What a call throws that was cancelled for a reason: the reason itself if nothing was sent. */
  cancelled(reason: unknown): unknown {
    return this.#sent ? cancelledCall(this.#billed(true), reason) : reason
  }

  #paid({ class: failureClass }: ProviderError): PaidAnswer | null {
    if (this.#usage === null && !this.#spoke && failureClass !== 'refusal') return null
    // A stream that ended too early was broken off, too.
    const isCut = this.#spoke && (!this.#ended || failureClass === 'provider_unavailable')
    const billed = this.#billed(isCut)
    const { input_tokens: input, output_tokens: output, unknown_calls: unknown } = billed.usage
    // A gateway that fails at once counts nothing.
    return input + output === 0 && unknown === undefined ? null : billed
  }

  /** @param isCut whether the answer is not complete */
  #billed(isCut: boolean): PaidAnswer {
    const usage = usageOf(this.#usage)
    return {
      usage: isCut && usage.unknown_calls !== undefined ? brokenOffUsage(this.#request, this.#bytes) : usage,
      model: this.#model ?? this.#asked,
    }
  }
}

/**
 * How many bytes an event has of a text, of thoughts, of a call or of a refusal; `null` if it has nothing of
 * an answer.
 */
function pieceIn(event: unknown, choice: unknown): number | null {
  const type = field(event, 'type')
  if (typeof type === 'string' && type.endsWith('.delta')) return bytesIn(field(event, 'delta'))
  const delta = field(choice, 'delta')
  if (typeof delta !== 'object' || delta === null) return null
  const pieces = Object.entries(delta).filter(
    ([name, piece]) =>
      name !== 'role' && piece !== null && piece !== '' && !(Array.isArray(piece) && piece.length === 0),
  )
  return pieces.length === 0 ? null : pieces.reduce((sum, [, piece]) => sum + bytesIn(piece), 0)
}

/** The bytes of all texts in a piece. Some servers send a text and its parts, or thoughts under two names. */
function bytesIn(piece: unknown): number {
  if (typeof piece === 'string') return Buffer.byteLength(piece)
  if (typeof piece !== 'object' || piece === null) return 0
  return Object.values(piece).reduce<number>((sum, part) => sum + bytesIn(part), 0)
}
