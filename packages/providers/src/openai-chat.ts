// A ChatProvider on any endpoint that speaks OpenAI's chat completions.
// O1. One call is one HTTP request: no retry here, the AgentLoop has the policy. O2. A call ends within `timeoutMs`, also when
//     the server stalls in the middle of its answer. O3. The API key is in no error, also when the server echoes it.
// O4. What the server sends is checked before it is believed (chat-completion.ts). O5. Tools have their encoded names on the
//     wire, in the schemas and in the history alike, and their own everywhere else (D-13).
import { type ChatAnswer, type ChatProvider, type ChatRequest, ProviderError, toolNameAtProvider, toolNamesFromProvider, type ToolSchema } from '@beaver/agent'
import { BeaverError, type ChatMessage } from '@beaver/core'
import OpenAI from 'openai'
import { readChatCompletion } from './chat-completion.ts'
import { bodyBytesMax, httpFetch } from './http-fetch.ts'
import { providerErrorOf } from './provider-failure.ts'
import { redactor } from './redact.ts'

export interface OpenAiChatOptions {
  /** As journals and reports name it: `openai`, `simulated`, … */
  readonly name: string
  /** Default `https://api.openai.com/v1`. */
  readonly baseURL?: string
  readonly apiKey: string
  readonly model: string
  /** For the whole call, the answer's body included. */
  readonly timeoutMs: number
  /** Default: `httpFetch()`. */
  readonly fetch?: typeof fetch
}

/**
 * @example
 * const provider = openAiChatProvider({ name: 'openai', apiKey, model: 'gpt-5', timeoutMs: 120_000 })
 *
 * @throws {BeaverError} `invalid_configuration` when `baseURL` is no http URL or the key is empty
 */
export function openAiChatProvider(options: OpenAiChatOptions): ChatProvider {
  const { name, model, timeoutMs } = options
  const baseURL = options.baseURL ?? 'https://api.openai.com/v1'
  const host = hostOf(baseURL)
  if (options.apiKey === '') throw new BeaverError('invalid_configuration', `The provider ${name} has an empty API key`)
  const client = new OpenAI({
    baseURL,
    apiKey: options.apiKey,
    adminAPIKey: null,
    maxRetries: 0,
    timeout: timeoutMs,
    // The client would log requests, headers included, to the console when OPENAI_LOG says so.
    logLevel: 'off',
    fetch: options.fetch ?? httpFetch(),
    // Someone else's endpoint does not learn the account's ids.
    ...(options.baseURL === undefined ? {} : { organization: null, project: null }),
  })
  const redact = redactor(options.apiKey)
  const where = { name, host, model, timeoutMs, redact }

  async function chat(request: ChatRequest): Promise<ChatAnswer> {
    request.signal.throwIfAborted()
    // AbortSignal.any() costs more than the rest of this function.
    const controller = new AbortController()
    const stop = (): void => controller.abort()
    const timer = setTimeout(stop, timeoutMs)
    request.signal.addEventListener('abort', stop, { once: true })
    try {
      const response = await client
        .post('/chat/completions', { body: requestBody(model, request), headers: jsonHeaders, signal: controller.signal })
        .asResponse()
      return readChatCompletion(await bodyText(response, where), {
        model,
        earlierCalls: () => callsIn(request.messages),
        toolName: (name) => toolsOf(request.tools).nameOf(name),
        redact,
        host,
      })
    } catch (error) {
      request.signal.throwIfAborted()
      throw providerErrorOf(error, { ...where, timedOut: controller.signal.aborted })
    } finally {
      clearTimeout(timer)
      request.signal.removeEventListener('abort', stop)
    }
  }

  return { name, model, chat }
}

const jsonHeaders = { 'content-type': 'application/json' }

interface WireTools {
  readonly text: string
  /** The tool a name of the provider's stands for. */
  readonly nameOf: (name: string) => string
}

/** The tools of a loop are the same at every call, and the larger part of a short request: their text is made once. */
const wireTools = new WeakMap<readonly ToolSchema[], WireTools>()

function requestBody(model: string, request: ChatRequest): string {
  const body = JSON.stringify({ model, messages: request.messages.map(wireMessage) } satisfies OpenAI.ChatCompletionCreateParamsNonStreaming)
  return request.tools.length === 0 ? body : `${body.slice(0, -1)},"tools":${toolsOf(request.tools).text}}`
}

function toolsOf(tools: readonly ToolSchema[]): WireTools {
  const known = wireTools.get(tools)
  if (known !== undefined) return known
  const wire = tools.map(({ name, description, parameters }): OpenAI.ChatCompletionTool => ({
    type: 'function',
    function: { name: toolNameAtProvider(name), description, parameters },
  }))
  const made = { text: JSON.stringify(wire), nameOf: toolNamesFromProvider(tools) }
  wireTools.set(tools, made)
  return made
}

function wireMessage(message: ChatMessage): OpenAI.ChatCompletionMessageParam {
  if (message.role !== 'assistant' || message.tool_calls === undefined) return message as OpenAI.ChatCompletionMessageParam
  return {
    role: 'assistant',
    content: message.content,
    tool_calls: message.tool_calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: toolNameAtProvider(call.name), arguments: call.arguments },
    })),
  }
}

async function bodyText(response: Response, where: { host: string }): Promise<string> {
  const length = Number(response.headers.get('content-length') ?? NaN)
  if (length <= bodyBytesMax) return await response.text()
  if (Number.isNaN(length) && response.body !== null) {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes > bodyBytesMax) break
      chunks.push(chunk)
    }
    if (bytes <= bodyBytesMax) return Buffer.concat(chunks).toString()
  }
  await response.body?.cancel().catch(() => undefined)
  throw new ProviderError('malformed_output', `The endpoint ${where.host} sent an answer of more than ${bodyBytesMax} bytes.`, { status: response.status })
}

const callsIn = (messages: readonly ChatMessage[]): number =>
  messages.reduce((count, message) => count + (message.role === 'assistant' ? (message.tool_calls?.length ?? 0) : 0), 0)

function hostOf(baseURL: string): string {
  const url = URL.parse(baseURL)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new BeaverError('invalid_configuration', `The base URL of a provider must be an http or https URL, such as https://api.openai.com/v1`)
  return url.host
}
