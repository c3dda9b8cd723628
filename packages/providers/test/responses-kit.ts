// What the tests of the Responses API share besides kit.ts.
import type { ChatAnswer, ChatProvider } from '@beaver/agent'
import type { ChatMessage } from '@beaver/core'
import { openAiResponsesProvider, type OpenAiResponsesOptions } from '../src/openai-responses.ts'
import { apiKey } from './kit.ts'

export const responsesProvider = (
  baseURL: string,
  over: Partial<OpenAiResponsesOptions> = {},
): ChatProvider =>
  openAiResponsesProvider({ name: 'test', baseURL, apiKey, model: 'm', timeoutMs: 60_000, ...over })

/** The messages after a call: the call as a loop keeps it, and its results. */
export const answered = ({ content, toolCalls, state }: ChatAnswer, of = 'test'): ChatMessage[] => [
  {
    role: 'assistant',
    content,
    tool_calls: toolCalls,
    ...(state === undefined ? {} : { provider_state: { provider: of, fields: state } }),
  },
  ...toolCalls.map(({ id }): ChatMessage => ({
    role: 'tool',
    tool_call_id: id,
    content: '{"sky": "sunny"}',
  })),
]
