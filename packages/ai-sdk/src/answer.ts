// What a model gave as a ChatAnswer. The finish reason keeps the provider's own word if Beaver knows it. The
// unified word decides otherwise. Counts are whole, and no part of a usage is more than its total.
import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import {
  type ChatAnswer,
  type ChatRequest,
  finishMeaning,
  ProviderError,
  toolNamesFromProvider,
} from '@beaver/agent'
import { messageOf, partsOfUsage, type ToolCall, type Usage, type UsagePart } from '@beaver/core'
import { keptContent } from './kept-content.ts'
import type { ModelOutput } from './streamed-output.ts'

interface Asked {
  readonly request: Pick<ChatRequest, 'tools' | 'output'>
  readonly model: string
  readonly provider: string
}

/** @throws {ProviderError} `malformed_output` if the output is not as the specification says */
export function answerOf(output: ModelOutput, asked: Asked): ChatAnswer {
  try {
    return readOutput(output, asked)
  } catch (error) {
    throw new ProviderError(
      'malformed_output',
      `The endpoint of ${asked.provider} gave a result that cannot be read: ${messageOf(error)}`,
    )
  }
}

function readOutput(output: ModelOutput, { request, model }: Asked): ChatAnswer {
  const { content, finishReason, usage, response } = output
  const nameOf = toolNamesFromProvider(request.tools)
  const toolCalls = content.flatMap((part): ToolCall[] => {
    // A tool of the provider ran there already, and its result is in the text.
    if (part.type !== 'tool-call' || part.providerExecuted === true) return []
    return [
      { id: part.toolCallId, name: nameOf(part.toolName), arguments: part.input === '' ? '{}' : part.input },
    ]
  })
  const text = textOf(content)
  const said = request.output === undefined ? text : (output.structuredOutputText ?? text)
  const state = toolCalls.length === 0 ? null : keptContent(content)
  return {
    content: said === '' && toolCalls.length > 0 ? null : said,
    toolCalls,
    finishReason: finishWord(finishReason),
    usage: usageOf(usage),
    model: response?.modelId || model,
    responseId: response?.id || null,
    ...(state === null ? {} : { state }),
  }
}

const textOf = (content: readonly LanguageModelV4Content[]): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('')

/** The words of the specification, as finish-reason.ts knows them. */
const words: Readonly<Record<LanguageModelV4FinishReason['unified'], string>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  error: 'error',
  // The stream of the provider ended without saying that it is complete.
  interrupted: 'not_finished',
  other: 'other',
}

function finishWord({ unified, raw }: LanguageModelV4FinishReason): string {
  if (unified === 'error' || unified === 'interrupted') return words[unified]
  if (raw !== undefined && finishMeaning(raw) !== 'unknown') return raw
  return unified === 'other' ? raw || 'other' : words[unified]
}

function usageOf({ inputTokens: input, outputTokens: output }: LanguageModelV4Usage): Usage {
  const parts: Partial<Record<UsagePart, number>> = {
    cached_input_tokens: count(input.cacheRead),
    cache_write_tokens: count(input.cacheWrite),
    reasoning_tokens: count(output.reasoning),
    unknown_calls: isTold(input.total, input.noCache) && isTold(output.total, output.text) ? 0 : 1,
  }
  return {
    input_tokens: Math.max(
      count(input.total),
      count(input.noCache) + count(input.cacheRead) + count(input.cacheWrite),
    ),
    output_tokens: Math.max(count(output.total), count(output.text) + count(output.reasoning)),
    calls: 1,
    ...partsOfUsage((part) => parts[part] ?? 0),
  }
}

const isTold = (...counts: readonly (number | undefined)[]): boolean =>
  counts.some((tokens) => typeof tokens === 'number' && tokens >= 0 && tokens < Infinity)
const count = (tokens: number | undefined): number =>
  typeof tokens === 'number' && tokens > 0 && tokens < Infinity ? Math.round(tokens) : 0
