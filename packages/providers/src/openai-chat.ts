// A ChatProvider on any endpoint that speaks OpenAI's chat completions.
// O1. One call is one HTTP request. There is no retry here, because the AgentLoop has the policy. Only a server that does not know a
//     field is asked again without it. After that the provider leaves this field out.
// O2. A call ends within `timeoutMs`, even if the server stalls in the middle of its answer. A stream that falls silent ends within `idleMs`.
// O3. No error contains the API key, even if the server echoes it.
// O4. What the server sends is checked before it is used (chat-completion.ts, chat-stream.ts).
// O5. On the wire, in the schemas and in the history, tools have their encoded names. Everywhere else they have their own (D-13).
// O6. A streamed answer equals the whole answer. What a server sends is read as what it is, a stream or a whole answer.
// O7. What a provider sent with the messages of its model goes back to it, and to nobody else.
import type { ChatAnswer, ChatProvider, ChatRequest } from '@beaver/agent'
import { type ChatMessage, type ModelSettings, settingsFrom } from '@beaver/core'
import { type CallWatch, watchCall } from './call-watch.ts'
import { type AnswerPlace, readChatCompletion } from './chat-completion.ts'
import { chatStream } from './chat-stream.ts'
import type { HttpAnswer } from './http-post.ts'
import { openAiEndpoint, type OpenAiEndpointOptions } from './openai-endpoint.ts'
import { providerErrorOf } from './provider-failure.ts'
import { type AnswerForm, hasStateOf, requestBody, toolNameIn } from './request-body.ts'
import { bodyOf, bodyText, eventsOfText, isEventText, type StreamEvent } from './response-body.ts'
import { type SentFields, ServerHabits } from './server-habits.ts'

export interface OpenAiChatOptions extends OpenAiEndpointOptions {
  /** A streamed answer is given up after this much silence. Default: `timeoutMs`. */
  readonly idleMs?: number
  /** How the model is asked. A request may replace each of them. Default: as the server decides. */
  readonly settings?: ModelSettings
  /** The context window of the model, in tokens. Default: it is not known. */
  readonly contextTokens?: number
}

/**
 * @example
 * const provider = openAiChatProvider({ name: 'openai', apiKey, model: 'gpt-5', timeoutMs: 120_000 })
 *
 * @throws {BeaverError} `invalid_configuration` if `baseURL` is not an http URL or the key is empty
 */
export function openAiChatProvider(options: OpenAiChatOptions): ChatProvider {
  const { name, model, timeoutMs } = options
  const { post, place } = openAiEndpoint(options)
  const limits = { timeoutMs, idleMs: options.idleMs ?? timeoutMs }
  const habits = new ServerHabits(options.baseURL === undefined ? 'max_completion_tokens' : 'max_tokens')

  async function chat(request: ChatRequest): Promise<ChatAnswer> {
    request.signal.throwIfAborted()
    const watch = watchCall(request.signal, limits)
    const answering: AnswerPlace = {
      ...place,
      earlierCalls: () => callsIn(request.messages),
      toolName: (wire) => toolNameIn(request.tools, wire),
    }
    try {
      const answer = await send(request, watch)
      if (request.onText === undefined) return await readWhole(request, await bodyText(answer, place.host), answering)
      return await readStream(request, answer, { watch, answering })
    } catch (error) {
      request.signal.throwIfAborted()
      throw providerErrorOf(error, { ...place, ...limits, gaveUp: watch.gaveUp() })
    } finally {
      watch.close()
    }
  }

  /** Sends the request, and again without what the server does not know. */
  async function send(request: ChatRequest, watch: CallWatch): Promise<HttpAnswer> {
    const settings = settingsFrom(options.settings, request.settings)
    const streams = request.onText !== undefined
    const sent: SentFields = {
      usage: streams && habits.usage,
      state: habits.state && hasStateOf(name, request.messages),
      outputTokens: settings.output_tokens_max !== undefined,
    }
    const form: AnswerForm = { ...(streams ? { stream: true } : {}), ...(sent.usage ? { stream_options: { include_usage: true } } : {}) }
    const to = { model, stateOf: sent.state ? name : null, filled: habits.filled, settings, outputTokensField: habits.outputTokensField }
    try {
      const answer = await post('/chat/completions', requestBody(to, request, form), watch.controller.signal)
      habits.taken(sent)
      return answer
    } catch (error) {
      if (!habits.learns(error, sent)) throw error
      return send(request, watch)
    }
  }

  async function readStream(request: ChatRequest, answer: HttpAnswer, { watch, answering }: { watch: CallWatch; answering: AnswerPlace }): Promise<ChatAnswer> {
    const { onText = () => undefined } = request
    const show = (text: string | null): void => void (text && onText(text))
    watch.stir()
    const body = await bodyOf(answer, place.host, watch.stir)
    if ('text' in body) {
      const whole = await readWhole(request, body.text, answering)
      show(whole.content)
      return whole
    }
    const stream = chatStream(answering)
    for await (const event of untilDone(body.events, watch)) show(stream.take(event))
    request.signal.throwIfAborted()
    return stream.end()
  }

  return { name, model, chat, ...(options.contextTokens === undefined ? {} : { contextTokens: options.contextTokens }) }
}

/** A body that nobody expects to be a stream may be one. */
async function readWhole(request: ChatRequest, body: string, answering: AnswerPlace): Promise<ChatAnswer> {
  if (!isEventText(body)) return whileRead(request, () => readChatCompletion(body, answering))
  const stream = chatStream(answering)
  for await (const event of eventsOfText(body)) stream.take(event)
  return stream.end()
}

/** The events up to `done`. Then the response has a moment to end. */
async function* untilDone(events: AsyncIterable<StreamEvent>, watch: CallWatch): AsyncGenerator<StreamEvent> {
  let done = false
  try {
    for await (const event of events) {
      if (done) continue
      yield event
      if (event.kind !== 'done') continue
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

const callsIn = (messages: readonly ChatMessage[]): number =>
  messages.reduce((count, message) => count + (message.role === 'assistant' ? (message.tool_calls?.length ?? 0) : 0), 0)
