// Turns the body of a chat completion into a ChatAnswer. Servers may leave out fields, but the fields that they send must have the right type.
import { type ChatAnswer, ProviderError } from '@beaver/agent'
import type { ToolCall } from '@beaver/core'
import { z } from 'zod'
import { type AnsweringPlace, errorInAnswer, errorInChoice } from './provider-failure.ts'

export interface AnswerPlace extends AnsweringPlace {
  /** The number of tool calls in the conversation before this answer. */
  readonly earlierCalls: () => number
  /** Returns the tool name for a name on the wire. */
  readonly toolName: (name: string) => string
}

const tokens = z.int().nonnegative().nullish()
export const wireUsage = z.looseObject({ prompt_tokens: tokens, completion_tokens: tokens }).nullish()

const completion = z.looseObject({
  id: z.string().nullish(),
  model: z.string().nullish(),
  choices: z
    .array(
      z.looseObject({
        finish_reason: z.string().nullish(),
        message: z.looseObject({
          content: z.string().nullish(),
          refusal: z.string().nullish(),
          tool_calls: z
            .array(
              z.looseObject({
                id: z.string().nullish(),
                type: z.literal('function').nullish(),
                function: z.looseObject({ name: z.string().min(1), arguments: z.string().nullish() }),
              }),
            )
            .nullish(),
        }),
      }),
    )
    .min(1),
  usage: wireUsage,
})

/** @throws {ProviderError} `malformed_output`, `refusal` if the model declined, or the error that the server tells instead of an answer */
export function readChatCompletion(body: string, place: AnswerPlace): ChatAnswer {
  const value = parseJson(body, place)
  const error = errorInChoice(value, place)
  if (error !== null) throw error
  const parsed = completion.safeParse(value)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw (
      errorInAnswer(value, place) ??
      malformed(place, `not a chat completion: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}. It begins: ${begin(body)}`)
    )
  }
  const { id, model, choices, usage } = parsed.data
  const choice = choices[0]
  if (choice === undefined) throw malformed(place, 'no choice')
  const { message, finish_reason: finishReason } = choice
  const calls = (message.tool_calls ?? []).map((call) => ({ id: call.id ?? '', name: call.function.name, arguments: call.function.arguments ?? '' }))
  return answerFrom({ id, model, content: message.content ?? null, refusal: message.refusal ?? '', calls, finishReason, usage }, place)
}

/** The content of an answer, which came as a whole or was joined from a stream. */
export interface Said {
  readonly id: string | null | undefined
  readonly model: string | null | undefined
  readonly content: string | null
  readonly refusal: string
  readonly calls: readonly ToolCall[]
  readonly finishReason: string | null | undefined
  readonly usage: z.output<typeof wireUsage>
}

/** @throws {ProviderError} `refusal` if the model declined */
export function answerFrom({ id, model, content, refusal, calls, finishReason, usage }: Said, place: AnswerPlace): ChatAnswer {
  if (refusal !== '' && !content && calls.length === 0) {
    throw new ProviderError('refusal', `The model ${place.model} declined: ${place.redact(refusal)}`)
  }
  return {
    // Some servers send '' where others send nothing.
    content: content === '' && calls.length > 0 ? null : content,
    toolCalls: withIds(calls, place),
    finishReason: finishReason || (calls.length > 0 ? 'tool_calls' : 'stop'),
    usage: { input_tokens: usage?.prompt_tokens ?? 0, output_tokens: usage?.completion_tokens ?? 0, calls: 1 },
    model: model || place.model,
    responseId: id || null,
  }
}

/** A call without its own id gets one from its place in the conversation: the same request gives the same id, and each id is used once. */
function withIds(calls: readonly ToolCall[], place: AnswerPlace): ToolCall[] {
  const taken = new Set<string>()
  return calls.map((call, index) => {
    let { id } = call
    if (id === '' || taken.has(id)) id = `call_${place.earlierCalls() + index}`
    taken.add(id)
    return { id, name: place.toolName(call.name), arguments: call.arguments || '{}' }
  })
}

function parseJson(body: string, place: AnswerPlace): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw malformed(place, `not JSON. It begins: ${begin(body)}`)
  }
}

/** This is longer than the part that a message shows, so that nothing is cut before it is redacted. */
const begin = (body: string): string => body.slice(0, 4000)

export function malformed(place: Pick<AnsweringPlace, 'host' | 'redact'>, what: string): ProviderError {
  // The text is redacted before it is cut, because half a key is still a secret.
  return new ProviderError('malformed_output', place.redact(`The endpoint ${place.host} sent an answer that is ${what}`))
}
