// Checks the answer of a program's model before it leaves the main thread. Its type promises a form, but a program may be JavaScript, or pass on
// what a server sent.
import { type ChatAnswer, ProviderError } from '@beaver/agent'
import { jsonObject, toolCall, usage } from '@beaver/core'
import { z } from 'zod'
import { bodyBytesMax } from '../response-body.ts'

const chatAnswer = z.object({
  content: z.string().nullable(),
  toolCalls: z.array(toolCall.extend({ name: z.string().min(1) })),
  finishReason: z.string(),
  usage,
  model: z.string().min(1),
  responseId: z.string().nullable(),
  state: jsonObject.optional(),
})

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
    throw malformed(where, `that is no ChatAnswer: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}`)
  }
  // The answer of one call counts as one call.
  const answer = { ...parsed.data, usage: { ...parsed.data.usage, calls: 1 } } as ChatAnswer
  const text = attempt(() => JSON.stringify(answer))
  if (text === null) throw malformed(where, 'that is no JSON')
  if (text.length > bodyBytesMax) throw malformed(where, `of more than ${bodyBytesMax} characters`)
  return text
}

export const malformed = (where: string, what: string): ProviderError => new ProviderError('malformed_output', `The endpoint ${where} gave an answer ${what}.`)

/** A value may have a getter that throws, or contain itself. */
function attempt<Value>(read: () => Value): Value | null {
  try {
    return read()
  } catch {
    return null
  }
}
