// What a finish reason says about an answer, by the providers' documentation. Only words that are known to
// mean `complete` or `calls` count as success. The journal keeps the server's own word, and a resumed run
// reads this table again.
import type { FailureClass } from '@beaver/core/supervision'
import { rawToolCall } from '../loop/raw-tool-call.ts'
import { type ChatAnswer, ProviderError } from './chat-provider.ts'

/**
 * - `complete`: the model said all that it wanted. `calls`: it wants to call tools.
 * - `cut`: it reached the limit of its output. `window`: it filled the context window.
 * - `refused`: the model or a filter declined.
 * - `failed`: the server broke off. `malformed`: the model wrote what its server could not read.
 * - `unknown`: nobody knows.
 */
export type FinishMeaning =
  | 'complete'
  | 'calls'
  | 'cut'
  | 'window'
  | 'refused'
  | 'failed'
  | 'malformed'
  | 'unknown'

const words: Readonly<Record<Exclude<FinishMeaning, 'unknown'>, string>> = {
  complete:
    'stop stop_sequence stop_token end end_turn eos eos_token endoftext complete completed done finished',
  calls: 'tool_calls tool_call tool_use function_call',
  cut: 'length max_tokens max_output_tokens max_length model_length token_limit',
  window: 'model_context_window_exceeded context_window_exceeded context_length_exceeded',
  refused:
    'content_filter content_filtered refusal safety sensitive recitation blocklist prohibited_content spii image_safety language guardrail_intervened error_toxic',
  failed:
    'error network_error insufficient_system_resource abort aborted cancelled canceled user_cancel error_limit timeout time_limit not_finished server_error overloaded incomplete failed in_progress queued',
  malformed:
    'malformed_function_call unexpected_tool_call malformed_tool_use malformed_model_output missing_thought_signature too_many_tool_calls repetition',
}

const meanings: ReadonlyMap<string, FinishMeaning> = new Map(
  Object.entries(words).flatMap(([meaning, list]) =>
    list.split(' ').map((word) => [word, meaning as FinishMeaning] as const),
  ),
)

/**
 * What a finish reason means, in any case of its letters. A word that no server documents is `unknown`.
 *
 * @example
 * finishMeaning('MAX_TOKENS') // => 'cut'
 * finishMeaning('cosmic_ray') // => 'unknown'
 */
export const finishMeaning = (reason: string): FinishMeaning =>
  meanings.get(reason.toLowerCase()) ?? 'unknown'

/**
 * Returns the answer if the model ended it. An answer that was cut or refused is returned too: it is what the
 * model has to say, and the run decides. Some servers say that the model calls tools although it only says
 * something: a text is an answer, unless the text is a call that the server did not read as one.
 *
 * @param isTool whether a tool of this name is known
 * @throws {ProviderError} `provider_unavailable`, `context_overflow` or `malformed_output` if the answer
 * ended in another way
 */
export function endedAnswer(answer: ChatAnswer, isTool: (name: string) => boolean): ChatAnswer {
  const { content, finishReason, toolCalls, model, usage } = answer
  const broken = (failureClass: FailureClass, what: string): ProviderError => {
    const message = `The model ${model} ended its answer with the finish reason ${JSON.stringify(finishReason)}: ${what}`
    // A gateway that fails at once counts nothing.
    const isPaid = usage.input_tokens + usage.output_tokens > 0 || usage.unknown_calls !== undefined
    return new ProviderError(failureClass, message, { paid: isPaid ? { usage, model } : null })
  }
  switch (finishMeaning(finishReason)) {
    case 'failed':
      throw broken('provider_unavailable', 'its server broke off, and the answer is not complete.')
    case 'window':
      throw broken('context_overflow', 'the conversation filled its context window.')
    case 'malformed':
      throw broken('malformed_output', 'its server could not read what it wrote.')
    case 'unknown':
      throw broken('malformed_output', 'Beaver does not know whether such an answer is complete.')
    case 'calls':
      if (
        toolCalls.length > 0 ||
        (content !== null && content.trim() !== '' && rawToolCall(content, isTool) === null)
      )
        return answer
      throw broken('malformed_output', 'but the answer has no tool call.')
    default:
      return answer
  }
}
