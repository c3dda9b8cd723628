// Turns the events of a streamed chat completion into the ChatAnswer that the whole completion would be. An
// answer is complete when the server sent why it ended, or that the stream is done; otherwise it was cut.
// Some servers send the whole completion as one event.
import { type ChatAnswer, ProviderError } from '@beaver/agent'
import type { JsonObject, ToolCall } from '@beaver/core'
import { z } from 'zod'
import {
  answerFrom,
  answerIn,
  type AnswerPlace,
  malformed,
  type AnswerParts,
  thoughtFilter,
} from './chat-completion.ts'
import { errorInChoice, errorOfEvent } from './provider-failure.ts'
import type { StreamEvent } from './response-body.ts'
import {
  wireArguments,
  wireContent,
  wireExtra,
  wireId,
  wireOldCall,
  wireState,
  wireUsage,
  type WireUsage,
} from './wire-shapes.ts'

const callDelta = z.looseObject({
  index: z.coerce.number().int().nonnegative().nullish().catch(null),
  id: wireId,
  function: z.looseObject({ name: z.string().nullish(), arguments: wireArguments }).nullish(),
  extra_content: wireExtra,
})
type CallDelta = z.output<typeof callDelta>

const chunk = z.looseObject({
  id: wireId,
  model: z.string().nullish(),
  choices: z
    .array(
      z.looseObject({
        index: z.coerce.number().nullish().catch(null),
        finish_reason: z.string().nullish(),
        // Kimi has the usage here.
        usage: wireUsage.catch(null),
        delta: z
          .looseObject({
            content: wireContent,
            refusal: z.string().nullish(),
            tool_calls: z.array(callDelta).nullish(),
            function_call: wireOldCall,
            ...wireState,
          })
          .nullish(),
      }),
    )
    .nullish(),
  usage: wireUsage,
  // Groq has the usage here too, also in a stream that was not asked for it:
  // https://github.com/groq/groq-python, `ChatCompletionChunk.x_groq`
  x_groq: z
    .looseObject({ usage: wireUsage.catch(null) })
    .nullish()
    .catch(null),
})

export interface ChatStream {
  /**
   * Takes the next event, and returns its text or ''.
   * @throws {ProviderError} `malformed_output`, or the error that the server sent instead
   */
  take(event: StreamEvent): string
  /** @throws {ProviderError} `provider_unavailable` if the answer was cut, `malformed_output`, `refusal` */
  end(): ChatAnswer
  /** The text of the answer that no event returned, because it might have been thoughts. */
  unshown(): string
  /** Whether the server's template opens thoughts for the model. `null`: the answer does not show it. */
  opensThoughts(): boolean | null
}

/** @param opensThoughts what earlier answers showed of the server's template */
export function chatStream(place: AnswerPlace, opensThoughts = false): ChatStream {
  const calls = openCalls()
  const thoughts = joinedState()
  const text = thoughtFilter(opensThoughts)
  let whole: ChatAnswer | null = null
  let spoke = false
  let done = false
  let refusal = ''
  let id: string | null = null
  let model: string | null = null
  let finishReason: string | null = null
  let usage: WireUsage = null

  function takeChunk(value: unknown): string {
    const parsed = chunk.safeParse(value)
    if (!parsed.success) {
      const issue = parsed.error.issues[0]
      throw malformed(
        place,
        `not a stream of chat completion chunks: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}`,
      )
    }
    id ||= parsed.data.id ?? null
    model ||= parsed.data.model ?? null
    // A chunk with the usage or with a filter's verdict has no choice. We ask for only one choice.
    const choice = parsed.data.choices?.find((each) => (each.index ?? 0) === 0)
    usage = parsed.data.usage ?? choice?.usage ?? parsed.data.x_groq?.usage ?? usage
    if (choice?.finish_reason && choice.finish_reason !== 'null') finishReason = choice.finish_reason
    const { delta } = choice ?? {}
    for (const call of delta?.tool_calls ?? []) calls.add(call)
    if (delta?.function_call)
      calls.add({ index: 0, id: null, function: delta.function_call, extra_content: null })
    if (delta) thoughts.add(delta)
    refusal += delta?.refusal ?? ''
    if (delta === undefined || delta === null || delta.content === null) return ''
    spoke = true
    return text.take(delta.content)
  }

  return {
    take(event) {
      if (event.kind === 'done') return ((done = true), '')
      const error = errorOfEvent(event, place) ?? errorInChoice(event.value, place)
      if (error !== null) throw error
      if (!isWhole(event.value)) return takeChunk(event.value)
      whole = answerIn(event.value, place, '')
      return whole.content ?? ''
    },
    end() {
      if (whole !== null) return whole
      const made = calls.made()
      if (made.some((call) => call.name === '')) throw malformed(place, 'a tool call without a name')
      const hasContent = spoke || made.length > 0 || refusal !== ''
      if (finishReason === null && !(done && hasContent && made.every((call) => isJson(call.arguments))))
        throw new ProviderError(
          'provider_unavailable',
          `The endpoint ${place.host} ended its answer too early.`,
        )
      return answerFrom(
        {
          id,
          model,
          content: spoke ? text.whole() : null,
          refusal,
          calls: made,
          finishReason,
          usage,
          state: thoughts.all(),
        },
        place,
      )
    },
    unshown: () => text.unshown(),
    opensThoughts: () => (spoke && text.whole() !== '' ? text.closesOnly() : null),
  }
}

/** Whether an event is a completion that does not come in pieces. */
function isWhole(value: unknown): boolean {
  const { choices } = (value ?? {}) as { choices?: unknown }
  const [first] = Array.isArray(choices) ? (choices as unknown[]) : []
  return typeof first === 'object' && first !== null && 'message' in first && !('delta' in first)
}

function isJson(text: string): boolean {
  try {
    return text === '' || JSON.parse(text) !== undefined
  } catch {
    return false
  }
}

interface OpenCall {
  readonly index: number | null
  id: string
  name: string
  arguments: string
  extra: JsonObject | null
}

/** Joins tool calls from their pieces. */
function openCalls(): { made(): readonly ToolCall[]; add(delta: CallDelta): void } {
  const open: OpenCall[] = []

  /**
   * The call to which a piece belongs, by its index or its id, because a server may give every call the same
   * index. A piece without both belongs to the last call.
   */
  function callOf({ index, id, function: called }: CallDelta): OpenCall | undefined {
    const same =
      typeof index === 'number'
        ? open.findLast((call) => call.index === index)
        : id
          ? open.findLast((call) => call.id === id)
          : open.at(-1)
    if (same === undefined || !called?.name) return same
    // A name begins a new call, unless it is repeated: with the same id, or before the arguments end.
    if (id && same.id !== '') return same.id === id ? same : undefined
    return same.name === '' || same.arguments === '' || !isJson(same.arguments) ? same : undefined
  }

  return {
    made: () =>
      open.map(({ id, name, arguments: args, extra }) => ({
        id,
        name,
        arguments: args,
        ...(extra === null ? {} : { extra_content: extra }),
      })),
    add(delta) {
      let call = callOf(delta)
      if (call === undefined)
        open.push((call = { index: delta.index ?? null, id: '', name: '', arguments: '', extra: null }))
      call.id ||= delta.id ?? ''
      call.name = joinedName(call.name, delta.function?.name ?? '')
      call.arguments += delta.function?.arguments ?? ''
      call.extra = delta.extra_content ?? call.extra
    },
  }
}

/** Gemini sends pieces of a name, llama.cpp all of it each time: github.com/continuedev/continue/pull/5849 */
const joinedName = (before: string, piece: string): string => (piece === before ? before : before + piece)

/** Joins the fields that may have to go back. */
function joinedState(): { add(delta: AnswerParts['state']): void; all(): AnswerParts['state'] } {
  let content: string | null = null
  let reasoning = ''
  let extra: JsonObject | null = null
  const details: Record<string, JsonObject[string]>[] = []
  return {
    add(delta) {
      if (typeof delta.reasoning_content === 'string') content = (content ?? '') + delta.reasoning_content
      reasoning += delta.reasoning ?? ''
      extra = (delta.extra_content as JsonObject | null | undefined) ?? extra
      for (const each of delta.reasoning_details ?? []) addDetail(details, each as JsonObject)
    },
    all: () => ({
      reasoning_content: content,
      reasoning,
      reasoning_details: details as AnswerParts['state']['reasoning_details'],
      extra_content: extra as AnswerParts['state']['extra_content'],
    }),
  }
}

/** The fields of a detail that come in pieces. */
const growing: ReadonlySet<string> = new Set(['text', 'summary', 'data'])

/** A piece belongs to the last detail if it has the same type and index. */
function addDetail(details: Record<string, JsonObject[string]>[], piece: JsonObject): void {
  const last = details.at(-1)
  if (last === undefined || last['type'] !== piece['type'] || last['index'] !== piece['index'])
    return void details.push({ ...piece })
  for (const [name, value] of Object.entries(piece)) {
    const before = last[name]
    if (growing.has(name) && typeof value === 'string' && typeof before === 'string')
      last[name] = before + value
    else if (value !== null) last[name] = value
  }
}
