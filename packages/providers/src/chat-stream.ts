// Turns the chunks of a streamed chat completion into the ChatAnswer that the whole completion would have been.
// S1. The fields of a chunk must have the right type.
// S2. An answer is complete when the server has said why it ended. If the stream just stops, the answer was cut.
// S3. The pieces of a tool call are joined by their index, or by their id if a server gives every call the same index.
import { type ChatAnswer, ProviderError } from '@beaver/agent'
import type { ToolCall } from '@beaver/core'
import { z } from 'zod'
import { type AnswerPlace, answerFrom, malformed, wireUsage } from './chat-completion.ts'
import { errorInChoice } from './provider-failure.ts'

const callDelta = z.looseObject({
  index: z.int().nonnegative().nullish(),
  id: z.string().nullish(),
  type: z.literal('function').nullish(),
  function: z.looseObject({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
})
type CallDelta = z.output<typeof callDelta>

const chunk = z.looseObject({
  id: z.string().nullish(),
  model: z.string().nullish(),
  choices: z
    .array(
      z.looseObject({
        index: z.int().nonnegative().nullish(),
        finish_reason: z.string().nullish(),
        delta: z.looseObject({ content: z.string().nullish(), refusal: z.string().nullish(), tool_calls: z.array(callDelta).nullish() }).nullish(),
      }),
    )
    .nullish(),
  usage: wireUsage,
})

export interface ChatStream {
  /** Takes the next chunk, and returns its text or ''. @throws {ProviderError} `malformed_output`, or the error that the server tells instead */
  take(value: unknown): string
  /** @throws {ProviderError} `provider_unavailable` if the answer was cut, `malformed_output`, `refusal` */
  end(): ChatAnswer
}

export function chatStream(place: AnswerPlace): ChatStream {
  const calls = openCalls()
  const text: string[] = []
  let spoke = false
  let refusal = ''
  let id: string | null = null
  let model: string | null = null
  let finishReason: string | null = null
  let usage: z.output<typeof wireUsage> = null

  return {
    take(value) {
      const error = errorInChoice(value, place)
      if (error !== null) throw error
      const parsed = chunk.safeParse(value)
      if (!parsed.success) {
        const issue = parsed.error.issues[0]
        throw malformed(place, `not a stream of chat completion chunks: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}`)
      }
      id ||= parsed.data.id ?? null
      model ||= parsed.data.model ?? null
      usage = parsed.data.usage ?? usage
      // Chunks with the usage or with a filter's verdict have no choice. We ask for one choice only.
      const choice = parsed.data.choices?.find((each) => (each.index ?? 0) === 0)
      finishReason = choice?.finish_reason || finishReason
      for (const delta of choice?.delta?.tool_calls ?? []) calls.add(delta)
      refusal += choice?.delta?.refusal ?? ''
      const piece = choice?.delta?.content
      if (typeof piece !== 'string') return ''
      spoke = true
      text.push(piece)
      return piece
    },
    end() {
      if (finishReason === null) throw new ProviderError('provider_unavailable', `The endpoint ${place.host} ended its answer too early.`)
      const made = calls.made()
      if (made.some((call) => call.name === '')) throw malformed(place, 'a tool call without a name')
      return answerFrom({ id, model, content: spoke ? text.join('') : null, refusal, calls: made, finishReason, usage }, place)
    },
  }
}

/** Joins tool calls from their pieces. */
function openCalls(): { made(): readonly ToolCall[]; add(delta: CallDelta): void } {
  const open: { index: number | null; id: string; name: string; pieces: string[] }[] = []

  /** The call to which a piece belongs: by its index, else by its id, else the last one. A new id with a name begins a new call. */
  function callOf({ index, id, function: called }: CallDelta): (typeof open)[number] | undefined {
    const same = typeof index === 'number' ? open.findLast((call) => call.index === index) : id ? open.findLast((call) => call.id === id) : open.at(-1)
    return same !== undefined && id && same.id !== '' && same.id !== id && called?.name ? undefined : same
  }

  return {
    made: () => open.map(({ id, name, pieces }) => ({ id, name, arguments: pieces.join('') })),
    add(delta) {
      let call = callOf(delta)
      if (call === undefined) open.push((call = { index: delta.index ?? null, id: '', name: '', pieces: [] }))
      call.id ||= delta.id ?? ''
      call.name ||= delta.function?.name ?? ''
      call.pieces.push(delta.function?.arguments ?? '')
    },
  }
}
