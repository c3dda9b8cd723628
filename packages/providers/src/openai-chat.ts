// A ChatProvider on any endpoint that speaks OpenAI's chat completions.
// O1. One call is one HTTP request. There is no retry here, because the AgentLoop has the policy. Only a server that does not know
//     `stream_options` is asked again. After that the provider leaves this option out.
// O2. A call ends within `timeoutMs`, even if the server stalls in the middle of its answer. A stream that falls silent ends within `idleMs`.
// O3. No error contains the API key, even if the server echoes it.
// O4. What the server sends is checked before it is used (chat-completion.ts, chat-stream.ts).
// O5. On the wire, in the schemas and in the history, tools have their encoded names. Everywhere else they have their own (D-13).
// O6. A streamed answer equals the whole answer. If a server does not stream, its answer is read as a whole.
import type { ChatAnswer, ChatProvider, ChatRequest } from '@beaver/agent'
import type { ChatMessage } from '@beaver/core'
import { type CallWatch, watchCall } from './call-watch.ts'
import { type AnswerPlace, readChatCompletion } from './chat-completion.ts'
import { chatStream } from './chat-stream.ts'
import type { HttpAnswer } from './http-post.ts'
import { openAiEndpoint, type OpenAiEndpointOptions } from './openai-endpoint.ts'
import { providerErrorOf, refusesStreamOptions } from './provider-failure.ts'
import { type AnswerForm, requestBody, toolNameIn } from './request-body.ts'
import { bodyText, eventsOf, isEventStream } from './response-body.ts'

export interface OpenAiChatOptions extends OpenAiEndpointOptions {
  /** A streamed answer is given up after this much silence. Default: `timeoutMs`. */
  readonly idleMs?: number
}

/**
 * @example
 * const provider = openAiChatProvider({ name: 'openai', apiKey, model: 'gpt-5', timeoutMs: 120_000 })
 *
 * @throws {BeaverError} `invalid_configuration` if `baseURL` is not an http URL or the key is empty
 */
export function openAiChatProvider(options: OpenAiChatOptions): ChatProvider {
  const { name, model, timeoutMs } = options
  const { client, post, place } = openAiEndpoint(options)
  const limits = { timeoutMs, idleMs: options.idleMs ?? timeoutMs }
  let askForUsage = true

  async function chat(request: ChatRequest): Promise<ChatAnswer> {
    request.signal.throwIfAborted()
    const watch = watchCall(request.signal, limits)
    const answering: AnswerPlace = {
      ...place,
      earlierCalls: () => callsIn(request.messages),
      toolName: (wire) => toolNameIn(request.tools, wire),
    }
    try {
      const { onText } = request
      const readWhole = (body: string): ChatAnswer => whileRead(request, () => readChatCompletion(body, answering))
      if (onText === undefined) return readWhole(await bodyText(await send(request, watch, {}), place.host))
      return await readStream(await sendStreaming(request, watch), { watch, answering, onText, readWhole })
    } catch (error) {
      request.signal.throwIfAborted()
      throw providerErrorOf(error, { ...place, ...limits, gaveUp: watch.gaveUp() })
    } finally {
      watch.close()
    }
  }

  function send(request: ChatRequest, watch: CallWatch, how: AnswerForm): Promise<HttpAnswer> {
    return post('/chat/completions', requestBody(model, request, how), watch.controller.signal)
  }

  async function sendStreaming(request: ChatRequest, watch: CallWatch): Promise<HttpAnswer> {
    if (!askForUsage) return send(request, watch, { stream: true })
    try {
      return await send(request, watch, { stream: true, stream_options: { include_usage: true } })
    } catch (error) {
      if (!refusesStreamOptions(error)) throw error
      askForUsage = false
      return send(request, watch, { stream: true })
    }
  }

  async function readStream(
    answer: HttpAnswer,
    {
      watch,
      answering,
      onText,
      readWhole,
    }: { watch: CallWatch; answering: AnswerPlace; onText: (text: string) => void; readWhole: (body: string) => ChatAnswer },
  ): Promise<ChatAnswer> {
    if (!isEventStream(answer)) {
      const whole = readWhole(await bodyText(answer, place.host))
      if (whole.content) onText(whole.content)
      return whole
    }
    const stream = chatStream(answering)
    watch.stir()
    for await (const event of eventsOf(answer, { client: await client(), host: place.host, controller: watch.controller, stir: watch.stir })) {
      const text = stream.take(event)
      if (text !== '') onText(text)
    }
    // The client ends an aborted stream without an error, so the abort is checked here.
    watch.controller.signal.throwIfAborted()
    return stream.end()
  }

  return { name, model, chat }
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
