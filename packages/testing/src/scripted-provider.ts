// A ChatProvider that gives a test's answers in order and keeps its requests. A request without a reply is a
// defect, and breaks the loop. A call ends when its signal aborts. Only `streams` gives an answer in pieces.
import {
  cancelledCall,
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  type PaidAnswer,
} from '@beaver/agent'
import type { ToolCall } from '@beaver/core'

/** An answer, an error to throw, or a promise that the test settles by hand. */
export type ScriptedReply =
  | Partial<ChatAnswer>
  | Error
  | Promise<Partial<ChatAnswer>>
  | ((request: ChatRequest) => Partial<ChatAnswer> | Promise<Partial<ChatAnswer>>)

export interface ScriptedProvider extends ChatProvider {
  readonly requests: readonly ChatRequest[]
  /** The number of unused replies. */
  readonly repliesLeft: number
}

export function scriptedProvider(replies: readonly ScriptedReply[], name = 'scripted'): ScriptedProvider {
  const requests: ChatRequest[] = []
  return {
    name,
    model: 'scripted-model',
    requests,
    get repliesLeft() {
      return Math.max(0, replies.length - requests.length)
    },
    async chat(request) {
      request.signal.throwIfAborted()
      const reply = replies[requests.length]
      requests.push(request)
      if (reply === undefined)
        throw new Error(
          `The provider was asked ${requests.length} times; its script has ${replies.length} replies.`,
        )
      if (reply instanceof Error) throw reply
      const scripted = typeof reply === 'function' ? reply(request) : reply
      return { ...silence, ...(await Promise.race([scripted, aborted(request.signal)])) }
    },
  }
}

const silence: ChatAnswer = {
  content: null,
  toolCalls: [],
  finishReason: 'stop',
  usage: { input_tokens: 10, output_tokens: 5, calls: 1 },
  model: 'scripted-model',
  responseId: null,
}

export const says = (content: string): Partial<ChatAnswer> => ({ content })

/** A final answer that streams in pieces if the loop asks for it. With `error`, it breaks after them. */
export function streams(
  pieces: readonly string[],
  error?: Error,
): (request: ChatRequest) => Partial<ChatAnswer> {
  return ({ onText }) => {
    for (const piece of pieces) onText?.(piece)
    if (error !== undefined) throw error
    return says(pieces.join(''))
  }
}

/** Hangs until the call is cancelled, and must then be paid. */
export function hangsPaid(paid: PaidAnswer): (request: ChatRequest) => Promise<never> {
  return ({ signal }) =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(cancelledCall(paid, signal.reason)), { once: true }),
    )
}

/** Calls tools: `calls(['echo', { text: 'a' }])`, with ids `c1`, `c2`, … Arguments that are text stay. */
export function calls(
  ...wanted: readonly (readonly [tool: string, args: unknown, id?: string])[]
): Partial<ChatAnswer> {
  return {
    finishReason: 'tool_calls',
    toolCalls: wanted.map(([name, args, id], i): ToolCall => ({
      id: id ?? `c${i + 1}`,
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args),
    })),
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  )
}
