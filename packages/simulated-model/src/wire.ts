// Chat completions on the wire, from the server's side: it reads a request, and writes an answer as a whole
// or as a stream of chunks.
import { hash } from 'node:crypto'
import type { ChatMessage, ToolCall } from '@beaver/core'
import { z } from 'zod'
import type { SimulatedRequest } from './answer.ts'
import type { SimulatedReply } from './habit.ts'
import { simulatedModelName } from './simulated-model-name.ts'

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
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
})

export interface ReadRequest {
  readonly model: string
  readonly request: SimulatedRequest
  readonly stream: boolean
  readonly streamUsage: boolean
}

/** The request in a body, or what is wrong with it. */
export function readRequest(body: string): ReadRequest | { readonly fault: string } {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return { fault: 'The body is not JSON.' }
  }
  const parsed = wireRequest.safeParse(value)
  if (!parsed.success) return { fault: z.prettifyError(parsed.error) }
  const { model, messages, tools, stream, stream_options } = parsed.data
  const request = { messages: messages.map(chatMessage), tools: (tools ?? []).map((tool) => tool.function) }
  return { model, request, stream: stream === true, streamUsage: stream_options?.include_usage === true }
}

function chatMessage(of: z.infer<typeof message>): ChatMessage {
  switch (of.role) {
    case 'assistant':
      return {
        role: 'assistant',
        content: of.content ?? null,
        tool_calls: (of.tool_calls ?? []).map((call) => ({
          id: call.id,
          name: call.function.name,
          arguments: call.function.arguments,
        })),
      }
    case 'developer':
      return { role: 'system', content: of.content }
    default:
      return of as ChatMessage
  }
}

/** The id of an answer. It is derived from the request, so that the same request gives the same id. */
export const completionId = (body: string): string =>
  `chatcmpl-simulated-${hash('sha256', body).slice(0, 24)}`

export interface WireUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}

/**
 * The tokens of the simulated model: four bytes of UTF-8 each, rounded up, of the request's body and of the
 * answer's text and calls.
 */
export function estimateUsage(body: string, reply: SimulatedReply): WireUsage {
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

export function completion(id: string, reply: SimulatedReply, usage: WireUsage): object {
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

export function* completionChunks(
  id: string,
  reply: SimulatedReply,
  usage: WireUsage | null,
): Generator<object> {
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
