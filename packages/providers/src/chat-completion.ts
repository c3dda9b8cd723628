// Turns the body of a chat completion into a ChatAnswer, in spite of missing or unusual fields
// (wire-shapes.ts).
import { type ChatAnswer, ProviderError } from '@beaver/agent'
import type { JsonObject, ToolCall } from '@beaver/core'
import { z } from 'zod'
import { type AnsweringPlace, errorInAnswer, errorInChoice } from './provider-failure.ts'
import {
  unquoted,
  wireArguments,
  wireContent,
  wireExtra,
  wireId,
  wireOldCall,
  wireState,
  wireUsage,
  type WireUsage,
} from './wire-shapes.ts'
import { usageOf } from './wire-usage.ts'

export interface AnswerPlace extends AnsweringPlace {
  /** The number of tool calls in the conversation before this answer. */
  readonly earlierCalls: () => number
  /** Returns the tool name for a name on the wire. */
  readonly toolName: (name: string) => string
}

const completion = z.looseObject({
  id: wireId,
  model: z.string().nullish(),
  choices: z
    .array(
      z.looseObject({
        finish_reason: z.string().nullish(),
        message: z.looseObject({
          content: wireContent,
          refusal: z.string().nullish(),
          tool_calls: z
            .array(
              z.looseObject({
                id: wireId,
                extra_content: wireExtra,
                function: z.looseObject({ name: z.string().min(1), arguments: wireArguments }),
              }),
            )
            .nullish(),
          function_call: wireOldCall,
          ...wireState,
        }),
      }),
    )
    .min(1),
  usage: wireUsage,
})

/** @throws {ProviderError} `malformed_output`, `refusal`, or the error that the server sent instead */
export function readChatCompletion(body: string, place: AnswerPlace): ChatAnswer {
  return answerIn(parseJson(body, place), place, body)
}

/** @param body the text to show in an error message */
export function answerIn(value: unknown, place: AnswerPlace, body: string): ChatAnswer {
  const error = errorInChoice(value, place)
  if (error !== null) throw error
  const parsed = completion.safeParse(value)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw (
      errorInAnswer(value, place) ??
      malformed(
        place,
        `not a chat completion: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}. It begins: ${begin(body)}`,
      )
    )
  }
  const { id, model, choices, usage } = parsed.data
  const choice = choices[0]
  if (choice === undefined) throw malformed(place, 'no choice')
  const { message, finish_reason: finishReason } = choice
  const calls = (message.tool_calls ?? oldCalls(message.function_call)).map((call): ToolCall => ({
    ...{ id: call.id ?? '', name: call.function.name, arguments: call.function.arguments },
    ...(call.extra_content ? { extra_content: call.extra_content } : {}),
  }))
  const content = message.content === null ? null : withoutThoughts(message.content)
  return answerFrom(
    { id, model, content, refusal: message.refusal ?? '', calls, finishReason, usage, state: message },
    place,
  )
}

const oldCalls = (call: z.output<typeof wireOldCall>) =>
  call?.name
    ? [{ id: '', extra_content: null, function: { name: call.name, arguments: call.arguments } }]
    : []

/** The content of an answer, which came as a whole or was joined from a stream. */
export interface AnswerParts {
  readonly id: string | null | undefined
  readonly model: string | null | undefined
  readonly content: string | null
  readonly refusal: string
  readonly calls: readonly ToolCall[]
  readonly finishReason: string | null | undefined
  readonly usage: WireUsage
  /** The fields that may have to go back to the server. */
  readonly state: z.output<z.ZodObject<typeof wireState>>
}

/** @throws {ProviderError} `refusal` if the model declined */
export function answerFrom(
  { id, model, content, refusal, calls, finishReason, usage, state }: AnswerParts,
  place: AnswerPlace,
): ChatAnswer {
  if (refusal !== '' && !content && calls.length === 0) {
    throw new ProviderError('refusal', `The model ${place.model} declined: ${place.redact(refusal)}`)
  }
  const back = calls.length > 0 ? stateOf(state, calls) : null
  return {
    // Some servers send '' where others send nothing.
    content: content === '' && calls.length > 0 ? null : content,
    toolCalls: withIds(calls, place),
    // Some servers send the text 'null' before the answer ends, and some also at its end.
    finishReason:
      !finishReason || finishReason === 'null' ? (calls.length > 0 ? 'tool_calls' : 'stop') : finishReason,
    usage: usageOf(usage),
    model: model || place.model,
    responseId: id || null,
    ...(back === null ? {} : { state: back }),
  }
}

/** What goes back. Details contain the plain thought. `null`: nothing. Empty: only the state of calls. */
function stateOf(
  {
    reasoning_content: content,
    reasoning,
    reasoning_details: details,
    extra_content: extra,
  }: AnswerParts['state'],
  calls: readonly ToolCall[],
): JsonObject | null {
  const hasDetails = details !== null && details !== undefined && details.length > 0
  const state: Record<string, JsonObject[string]> = {
    // A model that thinks wants its empty thoughts back too.
    ...(typeof content === 'string' ? { reasoning_content: content } : {}),
    ...(reasoning && !hasDetails ? { reasoning } : {}),
    ...(hasDetails ? { reasoning_details: details } : {}),
    ...(extra ? { extra_content: extra } : {}),
  }
  return Object.keys(state).length === 0 && calls.every((call) => call.extra_content === undefined)
    ? null
    : state
}

/** Gives a call without an id one from its place, so that equal requests have equal ids, each used once. */
export function withIds(
  calls: readonly ToolCall[],
  place: Pick<AnswerPlace, 'earlierCalls' | 'toolName'>,
): ToolCall[] {
  const taken = new Set<string>()
  return calls.map((call, index) => {
    let { id } = call
    if (id === '' || taken.has(id)) id = `call_${place.earlierCalls() + index}`
    taken.add(id)
    return { ...call, id, name: place.toolName(call.name), arguments: unquoted(call.arguments) || '{}' }
  })
}

/** Some servers end a whole answer as they end a stream. */
const endOfStream = /\s*(data:\s*)?\[DONE\]\s*$/

export function parseJson(body: string, place: AnswerPlace): unknown {
  try {
    return JSON.parse(endOfStream.test(body.slice(-40)) ? body.replace(endOfStream, '') : body)
  } catch {
    throw malformed(place, `not JSON. It begins: ${begin(body)}`)
  }
}

/** Longer than the part that a message shows, so that a secret is redacted before the text is cut. */
export const begin = (body: string): string => body.slice(0, 4000)

export function malformed(place: Pick<AnsweringPlace, 'host' | 'redact'>, what: string): ProviderError {
  // The text is redacted before it is cut, because half a key is still a secret.
  return new ProviderError(
    'malformed_output',
    place.redact(`The endpoint ${place.host} sent an answer that is ${what}`),
  )
}

// Models think in `<think>…</think>` before they answer, and servers without a parser leave these thoughts in
// the text. Only a block at the beginning counts. Some templates write the opening tag, so that the answer
// has only the closing one. The first such answer of an endpoint shows its thoughts. Later answers of this
// endpoint are held back until the thoughts end.
const open = '<think>'
const close = '</think>'

/** The tags of the models: Qwen, DeepSeek and most others; Gemini; Magistral; Seed-OSS; Kimi-VL. */
const tags: readonly (readonly [open: string, close: string])[] = [
  [open, close],
  ['<thought>', '</thought>'],
  ['[THINK]', '[/THINK]'],
  ['<seed:think>', '</seed:think>'],
  ['◁think▷', '◁/think▷'],
]

/** The text without the thoughts before it; empty if the thoughts have no end. */
export function withoutThoughts(text: string): string {
  const begun = text.trimStart()
  const pair = tags.find(([opening]) => begun.startsWith(opening))
  if (pair !== undefined) {
    const end = begun.indexOf(pair[1])
    return end === -1 ? '' : begun.slice(end + pair[1].length).trimStart()
  }
  return closesOnly(text) ? text.slice(text.indexOf(close) + close.length).trimStart() : text
}

/** Whether a text has only the end of its thoughts. */
const closesOnly = (text: string): boolean => text.includes(close) && !text.includes(open)

/** Removes the thoughts from a text that comes in pieces. */
interface ThoughtFilter {
  /** Takes the next piece, and returns the text that can be shown now. */
  take(piece: string): string
  /** The whole text without the thoughts. */
  whole(): string
  /** The whole text if nothing was shown, else ''. */
  unshown(): string
  /** Whether the text has only the end of its thoughts. */
  closesOnly(): boolean
}

/** @param opened whether the thoughts have begun before the text */
export function thoughtFilter(opened: boolean): ThoughtFilter {
  const pieces: string[] = []
  /** What is not shown yet. `null`: the thoughts are over, and each piece is shown. */
  let held: string | null = ''
  /** Whether nothing but white space came after the thoughts, which is left out. */
  let trims = false

  /** @param closing the tag after which the answer begins */
  function afterThoughts(text: string, closing: string): string {
    const end = text.indexOf(closing)
    if (end === -1) return ''
    held = null
    const shown = text.slice(end + closing.length).trimStart()
    trims = shown === ''
    return shown
  }

  return {
    take(piece) {
      pieces.push(piece)
      if (held === null) {
        if (!trims) return piece
        const shown = piece.trimStart()
        trims = shown === ''
        return shown
      }
      held += piece
      const begun = held.trimStart()
      const pair = tags.find(([opening]) => begun.startsWith(opening))
      if (pair !== undefined) return afterThoughts(begun, pair[1])
      if (opened) return afterThoughts(begun, close)
      if (tags.some(([opening]) => opening.startsWith(begun))) return ''
      const all = held
      held = null
      return all
    },
    whole: () => withoutThoughts(pieces.join('')),
    unshown: () => (held === null ? '' : withoutThoughts(pieces.join(''))),
    closesOnly: () => closesOnly(pieces.join('')),
  }
}
