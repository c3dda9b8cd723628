// Checks the answer of a program's model before it leaves the main thread. Its type promises a form, but a
// program may be JavaScript, or pass on what a server sent.
import { type ChatAnswer, ProviderError } from '@beaver/agent'
import { jsonObject, partsOfUsage, toolCall, type Usage, type UsagePart, usageParts } from '@beaver/core'
import { z } from 'zod'
import { bodyBytesMax } from '../response-body.ts'
import { wireTokens } from '../wire-shapes.ts'

const chatAnswer = z.object({
  content: z.string().nullable(),
  toolCalls: z.array(toolCall.extend({ name: z.string().min(1) })),
  finishReason: z.string(),
  usage: z.unknown().transform(ownUsage),
  model: z.string().min(1),
  responseId: z.string().nullable(),
  state: jsonObject.optional(),
})

const reported = z
  .looseObject({
    input_tokens: wireTokens,
    output_tokens: wireTokens,
    ...Object.fromEntries(usageParts.map((part) => [part, wireTokens])),
  })
  .catch({ input_tokens: null, output_tokens: null })

/** An answer that is paid for is not thrown away for its bill. What of it makes no sense is unknown. */
function ownUsage(given: unknown): Usage {
  const read: Readonly<Record<string, unknown>> = attempt(() => reported.parse(given)) ?? {}
  const countOf = (name: string): number => (typeof read[name] === 'number' ? read[name] : 0)
  const isTold = typeof read['input_tokens'] === 'number' && typeof read['output_tokens'] === 'number'
  const [input, output] = [countOf('input_tokens'), countOf('output_tokens')]
  const of = { reasoning_tokens: output, audio_output_tokens: output, unknown_calls: 1 } as const
  const partOf = (part: UsagePart): number =>
    part === 'unknown_calls' && !isTold
      ? 1
      : Math.min(countOf(part), part in of ? of[part as keyof typeof of] : input)
  // The answer of one call counts as one call.
  return { input_tokens: input, output_tokens: output, calls: 1, ...partsOfUsage(partOf) }
}

/**
 * The answer as JSON.
 *
 * @param where the model, in words
 * @throws {ProviderError} `malformed_output`
 */
export function ownAnswerText(given: unknown, where: string): string {
  const parsed = attempt(() => chatAnswer.safeParse(given))
  if (parsed === null) throw malformed(where, 'that cannot be read')
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw malformed(
      where,
      `that is no ChatAnswer: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}`,
    )
  }
  const answer = parsed.data as ChatAnswer
  const text = attempt(() => JSON.stringify(answer))
  if (text === null) throw malformed(where, 'that is no JSON')
  if (text.length > bodyBytesMax) throw malformed(where, `of more than ${bodyBytesMax} characters`)
  return text
}

export const malformed = (where: string, what: string): ProviderError =>
  new ProviderError('malformed_output', `The endpoint ${where} gave an answer ${what}.`)

/** A value may have a getter that throws, or contain itself. */
function attempt<Value>(read: () => Value): Value | null {
  try {
    return read()
  } catch {
    return null
  }
}
