// Turns the body of a response into a ChatAnswer. Servers may leave out fields, and write some in another
// form (wire-shapes.ts).
// A1. Only messages, calls and thoughts are read. Other items are the work of a server's own tools, and say
// nothing to the agent.
import type { ChatAnswer } from '@beaver/agent'
import type { ToolCall } from '@beaver/core'
import { z } from 'zod'
import {
  answerFrom,
  type AnswerPlace,
  begin,
  malformed,
  parseJson,
  withoutThoughts,
} from './chat-completion.ts'
import { errorInAnswer, errorInResponse } from './provider-failure.ts'
import { type WireItem, stateOfOutput } from './responses-state.ts'
import { unquoted, wireArguments, wireContent, wireId, wireUsage } from './wire-shapes.ts'

const outputItem = z.looseObject({ type: z.string().nullish() })
const call = z.looseObject({ id: wireId, call_id: wireId, name: z.string().min(1), arguments: wireArguments })
const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() })
const message = z.looseObject({ content: wireContent })

const responseObject = z.looseObject({
  id: wireId,
  model: z.string().nullish(),
  status: z.string().nullish(),
  incomplete_details: z.looseObject({ reason: z.string().nullish() }).nullish().catch(null),
  output: z.array(outputItem),
  usage: wireUsage,
})
/** A response from a server, or joined from a stream. */
export type WireResponse = z.output<typeof responseObject>

/** @throws {ProviderError} `malformed_output`, `refusal`, or the error that the server sent instead */
export function readWireResponse(body: string, place: AnswerPlace): ChatAnswer {
  return answerOfResponse(responseIn(parseJson(body, place), place, body), place)
}

/**
 * @param body the text to show in an error message
 * @throws {ProviderError} `malformed_output`, or the error that the server sent
 */
export function responseIn(value: unknown, place: AnswerPlace, body: string): WireResponse {
  if (isFailed(value)) throw errorInResponse(value, place)
  const parsed = responseObject.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw (
    errorInAnswer(value, place) ??
    malformed(
      place,
      `not a response: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}. It begins: ${begin(body)}`,
    )
  )
}

const isFailed = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'status' in value && value.status === 'failed'

/** @throws {ProviderError} `malformed_output`, or `refusal` if the model declined */
export function answerOfResponse(
  { id, model, status, incomplete_details: details, output, usage }: WireResponse,
  place: AnswerPlace,
): ChatAnswer {
  const calls: ToolCall[] = []
  const kept: WireItem[] = []
  const texts: string[] = []
  let refusal = ''
  for (const item of output) {
    switch (item.type) {
      case 'function_call': {
        const made = call.safeParse(item)
        if (!made.success)
          throw malformed(
            place,
            `a response with a function call that has no ${made.error.issues[0]?.path.join('.')}`,
          )
        calls.push({
          id: made.data.call_id || made.data.id || '',
          name: made.data.name,
          arguments: unquoted(made.data.arguments),
        })
        kept.push(item)
        break
      }
      case 'reasoning':
        kept.push(item)
        break
      case 'message': {
        const parsed = message.safeParse(item)
        if (!parsed.success) throw malformed(place, 'a response with a message whose content cannot be read')
        if (parsed.data.content !== null) texts.push(parsed.data.content)
        refusal += refusalIn(item['content'])
        kept.push(item)
        break
      }
      default: // A1
    }
  }
  const content = texts.length === 0 ? null : withoutThoughts(texts.join(''))
  const finishReason = finishOf(status, details?.reason)
  const answer = answerFrom({ id, model, content, refusal, calls, finishReason, usage, state: {} }, place)
  const state = stateOfOutput(kept, answer)
  return state === null ? answer : { ...answer, state }
}

/** The server's most precise word: why a response is incomplete, else its status. */
const finishOf = (status: string | null | undefined, reason: string | null | undefined): string | null =>
  status === 'incomplete' && reason ? reason : status || null

const refusalIn = (content: unknown): string =>
  Array.isArray(content)
    ? content
        .map((part) => refusalPart.safeParse(part))
        .flatMap(({ data }) => (data === undefined ? [] : [data.refusal]))
        .join('')
    : ''
