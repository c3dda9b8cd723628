// Serves the simulated model over HTTP, as OpenAI's chat completions, on the loopback interface only.
import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { ChatMessage, ToolCall } from '@beaver/core'
import { z } from 'zod'
import { answer, type SimulatedRequest } from './answer.ts'
import type { SimulatedReply } from './habit.ts'
import { simulatedModelName } from './simulated-model-name.ts'

export interface SimulatedModel {
  /** `http://127.0.0.1:<port>`. A client's base URL is this with `/v1`. */
  readonly url: string
  close(): Promise<void>
}

const bodyBytesMax = 32 * 1024 * 1024

/** @param options `port`: default any free port. `latencyMs`: the time for each answer, default 0 */
export async function startSimulatedModel(
  options: { port?: number; latencyMs?: number } = {},
): Promise<SimulatedModel> {
  const closing = new AbortController()
  const server = createServer((request, response) => {
    serve(request, response, { latencyMs: options.latencyMs ?? 0, signal: closing.signal }).catch(
      (error: unknown) => {
        if (response.headersSent) response.destroy()
        else
          fail(response, 500, {
            type: 'server_error',
            message: error instanceof Error ? error.message : String(error),
          })
      },
    )
  })
  // Longer than clients keep idle connections, so that no request meets a closing connection.
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        closing.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  how: { latencyMs: number; signal: AbortSignal },
): Promise<void> {
  const path = (request.url ?? '/').split('?')[0]
  if (request.method === 'GET' && path === '/v1/models') {
    return send(response, 200, {
      object: 'list',
      data: [{ id: simulatedModelName, object: 'model', created: 0, owned_by: 'beaver' }],
    })
  }
  if (path !== '/v1/chat/completions')
    return fail(response, 404, {
      message: `There is no ${path} here; there are /v1/chat/completions and /v1/models.`,
    })
  if (request.method !== 'POST') return fail(response, 405, { message: 'Use POST.' })
  const body = await readBody(request)
  if (body === null) return fail(response, 413, { message: `The body is larger than ${bodyBytesMax} bytes.` })
  const read = readRequest(body)
  if ('fault' in read) return fail(response, 400, { message: read.fault })
  if (read.model !== simulatedModelName) {
    return fail(response, 404, {
      code: 'model_not_found',
      message: `The simulated model answers to ${simulatedModelName} only, not to ${JSON.stringify(read.model.slice(0, 100))}.`,
    })
  }
  if (how.latencyMs > 0) await wait(how.latencyMs, undefined, { signal: how.signal })
  const reply = answer(read.request)
  const usage = estimateUsage(body, reply)
  const id = completionId(body)
  if (!read.stream) return send(response, 200, completion(id, reply, usage))
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (const chunk of completionChunks(id, reply, read.streamUsage ? usage : null))
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  response.end('data: [DONE]\n\n')
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function send(response: ServerResponse, status: number, value: object): void {
  const body = JSON.stringify(value)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

function fail(
  response: ServerResponse,
  status: number,
  error: { message: string; type?: string; code?: string },
): void {
  send(response, status, { error: { type: 'invalid_request_error', param: null, code: null, ...error } })
}

const text = z.union([
  z.string(),
  z
    .array(z.looseObject({ text: z.string().optional() }))
    .transform((parts) => parts.map((part) => part.text ?? '').join('')),
])

const message = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer']), content: text }),
  z.object({ role: z.literal('user'), content: text }),
  z.object({
    role: z.literal('assistant'),
    content: text.nullish(),
    tool_calls: z
      .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
      .nullish(),
  }),
  z.object({ role: z.literal('tool'), tool_call_id: z.string(), content: text }),
])

const wireRequest = z.object({
  model: z.string(),
  messages: z.array(message).min(1),
  tools: z
    .array(
      z.object({
        function: z.object({
          name: z.string(),
          description: z.string().default(''),
          parameters: z.record(z.string(), z.unknown()).default({}),
        }),
      }),
    )
    .nullish(),
  tool_choice: z.unknown().optional(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
})

interface ReadRequest {
  readonly model: string
  readonly request: SimulatedRequest
  readonly stream: boolean
  readonly streamUsage: boolean
}

/** The request in a body, or what is wrong with it. */
function readRequest(body: string): ReadRequest | { readonly fault: string } {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return { fault: 'The body is not JSON.' }
  }
  const parsed = wireRequest.safeParse(value)
  if (!parsed.success) return { fault: z.prettifyError(parsed.error) }
  const { model, messages, tools, tool_choice: choice, stream, stream_options } = parsed.data
  const request = {
    messages: messages.map(chatMessage),
    tools: (tools ?? []).map((tool) => tool.function),
    ...(choice === 'required' ? { mustCall: true } : {}),
  }
  return { model, request, stream: stream === true, streamUsage: stream_options?.include_usage === true }
}

function chatMessage(sent: z.infer<typeof message>): ChatMessage {
  switch (sent.role) {
    case 'assistant':
      return {
        role: 'assistant',
        content: sent.content ?? null,
        tool_calls: (sent.tool_calls ?? []).map((call) => ({
          id: call.id,
          name: call.function.name,
          arguments: call.function.arguments,
        })),
      }
    case 'developer':
      return { role: 'system', content: sent.content }
    default:
      return sent as ChatMessage
  }
}

/** Derived from the request, so that the same request gives the same id. */
const completionId = (body: string): string => `chatcmpl-simulated-${hash('sha256', body).slice(0, 24)}`

interface WireUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}

/** Counts four bytes of UTF-8 as one token, rounded up, in the request's body and in the answer. */
function estimateUsage(body: string, reply: SimulatedReply): WireUsage {
  const tokens = (bytes: number): number => Math.ceil(bytes / 4)
  const prompt = tokens(Buffer.byteLength(body))
  const completion = tokens(
    Buffer.byteLength(
      (reply.content ?? '') + reply.toolCalls.map((call) => call.name + call.arguments).join(''),
    ),
  )
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

const finishReason = (reply: SimulatedReply): string => (reply.toolCalls.length > 0 ? 'tool_calls' : 'stop')

const wireCall = ({ id, name, arguments: args }: ToolCall): object => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})

function completion(id: string, reply: SimulatedReply, usage: WireUsage): object {
  const calls = reply.toolCalls.length === 0 ? {} : { tool_calls: reply.toolCalls.map(wireCall) }
  const choice = {
    index: 0,
    message: { role: 'assistant', content: reply.content, refusal: null, ...calls },
    logprobs: null,
    finish_reason: finishReason(reply),
  }
  // `created` is 0, because the simulated model has no clock.
  return { id, object: 'chat.completion', created: 0, model: simulatedModelName, choices: [choice], usage }
}

const charactersAChunk = 64

function* completionChunks(id: string, reply: SimulatedReply, usage: WireUsage | null): Generator<object> {
  const chunk = (delta: object, finish: string | null = null): object => ({
    id,
    object: 'chat.completion.chunk',
    created: 0,
    model: simulatedModelName,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  })
  yield chunk({ role: 'assistant', content: reply.content === null ? null : '' })
  for (const piece of pieces(reply.content ?? '')) yield chunk({ content: piece })
  for (const [index, call] of reply.toolCalls.entries()) {
    yield chunk({
      tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }],
    })
    for (const piece of pieces(call.arguments))
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] })
  }
  yield chunk({}, finishReason(reply))
  if (usage !== null)
    yield { id, object: 'chat.completion.chunk', created: 0, model: simulatedModelName, choices: [], usage }
}

function* pieces(whole: string): Generator<string> {
  for (let at = 0; at < whole.length;) {
    // A character of two units is not cut.
    const end =
      at + charactersAChunk + (/[\ud800-\udbff]/.test(whole[at + charactersAChunk - 1] ?? '') ? 1 : 0)
    yield whole.slice(at, end)
    at = end
  }
}
