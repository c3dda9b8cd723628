// The body of a chat request on the wire, and the names of tools there.
import { type ChatRequest, toolNameAtProvider, toolNamesFromProvider, type ToolSchema } from '@beaver/agent'
import type { ChatMessage, JsonObject, ModelSettings } from '@beaver/core'
import { hasSecret, maskedData } from '@beaver/core/secrets'
import type OpenAI from 'openai'
import { isMarked, type ResultMarks, withMarks } from './cache-markers.ts'
import { type ConversationForm, conversationIn } from './conversation-form.ts'
import { type FormLevel, responseFormat } from './response-format.ts'
import { stateField } from './responses-state.ts'
import { mediaTypesOf, type ShownImages, userMessage, withContents, withResultImages } from './wire-images.ts'

export interface AnswerForm {
  readonly stream?: true
  readonly stream_options?: { readonly include_usage: true }
}

export interface Recipient {
  readonly model: string
  /** The provider that gets its own state back. `null`: none does. */
  readonly stateOf: string | null
  /** What replaces state that messages of other models do not have. */
  readonly filled: FilledState
  readonly conversation: ConversationForm
  /** Whether to describe the tools of earlier calls even if none may be called now. */
  readonly describesCalls: boolean
  readonly settings: ModelSettings
  /** Whether the server takes images. If not, a text replaces each. Default: yes. */
  readonly images?: boolean
  /** The server's name for the answer's token limit. */
  readonly outputTokensField: OutputTokensField
  /** How to ask the server for the form of the answer, if the request has one. Default: not at all. */
  readonly formLevel?: FormLevel
  /** Whether the cache key is a field of the body. Default: no. */
  readonly cacheKey?: boolean
  /** Where tool results have their marks for a cache. Default: nothing is marked. */
  readonly marks?: ResultMarks | null
}

/** Whether each message with calls has thoughts, and each call the signature of one. */
export interface FilledState {
  readonly thoughts: boolean
  readonly signatures: boolean
}

/** OpenAI's newer name, and the name that most other servers know. */
export type OutputTokensField = 'max_completion_tokens' | 'max_tokens'

/**
 * The body as JSON. What all requests of a loop share comes first, and the growing messages last, because a
 * provider's cache makes equal beginnings cheap. Secrets are masked although a run masks what it records:
 * descriptions of tools and skills are not recorded, and an older journal may contain a key that is known
 * only now.
 */
export function requestBody(
  to: Recipient,
  { messages, tools, output, images, cache, mustCall }: BodyOf,
  form: AnswerForm,
): string {
  const shared = { model: to.model, ...form, ...offered(to, messages, tools, mustCall) }
  const format = output === undefined ? undefined : responseFormat(output, to.formLevel ?? 'none')
  const shown: ShownImages = to.images === false ? null : (images ?? new Map())
  const body = {
    // `extra_body` may override this field.
    ...(to.cacheKey === true && cache !== undefined ? { prompt_cache_key: cache.key } : {}),
    ...wireSettings(to),
    ...(format === undefined ? {} : { response_format: format }),
    ...shared,
    messages: wireMessages(to, { messages, tools, cache }, shown),
  }
  const text = JSON.stringify(body)
  const masked = hasSecret(text) ? JSON.stringify(maskedData(body)) : text
  return images === undefined || to.images === false
    ? masked
    : withContents(masked, images, mediaTypesOf(messages))
}

type BodyOf = Pick<ChatRequest, 'messages' | 'tools' | 'output' | 'cache' | 'mustCall'> & {
  readonly images?: NonNullable<ShownImages> | undefined
}

function wireMessages(
  to: Recipient,
  { messages, tools, cache }: BodyOf,
  shown: ShownImages,
): readonly OpenAI.ChatCompletionMessageParam[] {
  const conversation = conversationIn(to.conversation, withResultImages(messages))
  const wire = conversation.map((message) => wireMessage(message, to, shown))
  const { marks = null } = to
  if (marks === null || cache === undefined || !isMarked({ cache, tools })) return wire
  return withMarks(conversation, wire, { sharedChars: cache.sharedChars, results: marks })
}

function wireSettings({ settings, outputTokensField }: Recipient): Record<string, unknown> {
  const { temperature, top_p, output_tokens_max: most, reasoning_effort, extra_body } = settings
  return {
    ...extra_body,
    temperature,
    top_p,
    reasoning_effort,
    ...(most === undefined ? {} : { [outputTokensField]: most }),
  }
}

/** Whether a provider gets its own state back with these messages. */
export const hasStateOf = (provider: string, messages: readonly ChatMessage[]): boolean =>
  messages.some((message) => message.role === 'assistant' && message.provider_state?.provider === provider)

export function toolNameIn(tools: readonly ToolSchema[], wire: string): string {
  const before = known.get(tools)
  const nameOf = before ?? toolNamesFromProvider(tools)
  if (before === undefined) known.set(tools, nameOf)
  return nameOf(wire)
}

/** The tools of a loop are the same in every call. */
const known = new WeakMap<readonly ToolSchema[], (wire: string) => string>()

const wireTools = (tools: readonly ToolSchema[]): OpenAI.ChatCompletionTool[] =>
  tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name: toolNameAtProvider(name), description, parameters },
  }))

/** Some servers refuse calls without described tools. They get the called tools, and none may be called. */
function offered(
  { describesCalls }: Recipient,
  messages: readonly ChatMessage[],
  tools: readonly ToolSchema[],
  mustCall = false,
): Record<string, never> | Offered {
  if (tools.length > 0)
    return { tools: wireTools(tools), ...(mustCall ? { tool_choice: 'required' as const } : {}) }
  const called = new Set(
    messages.flatMap((message) =>
      message.role === 'assistant' ? (message.tool_calls ?? []).map(({ name }) => name) : [],
    ),
  )
  if (!describesCalls || called.size === 0) return {}
  const described = [...called].map((name) => ({
    name,
    description: 'It cannot be called any more.',
    parameters: { type: 'object', properties: {} },
  }))
  return { tools: wireTools(described), tool_choice: 'none' }
}

type Offered = Pick<OpenAI.ChatCompletionCreateParams, 'tools' | 'tool_choice'>

/** Gemini's value for a call that Gemini did not make. */
const noSignature = { google: { thought_signature: 'skip_thought_signature_validator' } }

function wireMessage(
  message: ChatMessage,
  { stateOf, filled }: Recipient,
  shown: ShownImages,
): OpenAI.ChatCompletionMessageParam {
  if (message.role === 'user' && message.images !== undefined)
    return userMessage(message.content, message.images, shown)
  if (message.role !== 'assistant') return message as OpenAI.ChatCompletionMessageParam
  const { content, tool_calls: calls, provider_state: state } = message
  if (calls === undefined) return { role: 'assistant', content }
  const own = state !== undefined && state.provider === stateOf
  // DeepSeek does not find the thoughts beside `null`.
  const thinks = filled.thoughts || (own && 'reasoning_content' in state.fields)
  return {
    ...(filled.thoughts ? { reasoning_content: '' } : {}),
    ...(own ? chatFields(state.fields) : {}),
    role: 'assistant',
    content: content ?? (thinks ? '' : null),
    tool_calls: calls.map(({ id, name, arguments: args, extra_content: extra }, i) => ({
      id,
      type: 'function',
      function: { name: toolNameAtProvider(name), arguments: objectText(args) },
      ...(own && extra !== undefined
        ? { extra_content: extra }
        : filled.signatures && i === 0
          ? { extra_content: noSignature }
          : {}),
    })),
  }
}

/** Without the state of an answer from the Responses API: the endpoint had another protocol then. */
const chatFields = (fields: JsonObject): JsonObject => (stateField in fields ? {} : fields)

/** Servers refuse a conversation with arguments that are no JSON object. The result tells the mistake. */
export function objectText(args: string): string {
  try {
    const value: unknown = JSON.parse(args)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? args : '{}'
  } catch {
    return '{}'
  }
}
