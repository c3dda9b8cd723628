// The body of a chat request on the wire, and the names of tools there.
import { type ChatRequest, toolNameAtProvider, toolNamesFromProvider, type ToolSchema } from '@beaver/agent'
import { type ChatMessage, hasSecret, maskedData, type ModelSettings } from '@beaver/core'
import type OpenAI from 'openai'

/** The form in which the answer should come. */
export interface AnswerForm {
  readonly stream?: true
  readonly stream_options?: { readonly include_usage: true }
}

/** Whom a request is for. */
export interface Recipient {
  readonly model: string
  /** The provider that gets back what it sent with its messages. `null`: nobody. */
  readonly stateOf: string | null
  /** What takes the place of state that a message of another model does not have. */
  readonly filled: FilledState
  readonly settings: ModelSettings
  /** The name that the server has for the most tokens of an answer. */
  readonly outputTokensField: OutputTokensField
}

/** Whether each message with calls has thoughts, and each call the signature of one. */
export interface FilledState {
  readonly thoughts: boolean
  readonly signatures: boolean
}

/** OpenAI's newer name, and the one that most other servers know. */
export type OutputTokensField = 'max_completion_tokens' | 'max_tokens'

/**
 * The body as JSON: first what all requests of a loop share, at the end the messages, which grow. What begins alike is cheap for a provider that
 * keeps a cache. What a run sends was masked when it was recorded. Descriptions of tools and skills are not recorded, and an older journal may
 * contain a key that this process knows by now.
 */
export function requestBody(to: Recipient, { messages, tools }: Pick<ChatRequest, 'messages' | 'tools'>, form: AnswerForm): string {
  const shared = { model: to.model, ...form, ...(tools.length === 0 ? {} : { tools: wireTools(tools) }) }
  const body = { ...wireSettings(to), ...shared, messages: messages.map((message) => wireMessage(message, to)) } satisfies OpenAI.ChatCompletionCreateParams
  const text = JSON.stringify(body)
  return hasSecret(text) ? JSON.stringify(maskedData(body)) : text
}

function wireSettings({ settings, outputTokensField }: Recipient): Record<string, unknown> {
  const { temperature, top_p, output_tokens_max: most, reasoning_effort, extra_body } = settings
  return { ...extra_body, temperature, top_p, reasoning_effort, ...(most === undefined ? {} : { [outputTokensField]: most }) }
}

/** Whether a provider gets fields back that it sent with these messages. */
export const hasStateOf = (provider: string, messages: readonly ChatMessage[]): boolean =>
  messages.some((message) => message.role === 'assistant' && message.provider_state?.provider === provider)

/** Returns the tool name for a name on the wire. */
export function toolNameIn(tools: readonly ToolSchema[], wire: string): string {
  const before = known.get(tools)
  const nameOf = before ?? toolNamesFromProvider(tools)
  if (before === undefined) known.set(tools, nameOf)
  return nameOf(wire)
}

/** The tools of a loop are the same in every call. */
const known = new WeakMap<readonly ToolSchema[], (wire: string) => string>()

const wireTools = (tools: readonly ToolSchema[]): OpenAI.ChatCompletionTool[] =>
  tools.map(({ name, description, parameters }) => ({ type: 'function', function: { name: toolNameAtProvider(name), description, parameters } }))

/** Gemini's word for a call that Gemini did not make. */
const noSignature = { google: { thought_signature: 'skip_thought_signature_validator' } }

function wireMessage(message: ChatMessage, { stateOf, filled }: Recipient): OpenAI.ChatCompletionMessageParam {
  if (message.role !== 'assistant') return message as OpenAI.ChatCompletionMessageParam
  const { content, tool_calls: calls, provider_state: state } = message
  if (calls === undefined) return { role: 'assistant', content }
  const own = state !== undefined && state.provider === stateOf
  return {
    ...(filled.thoughts ? { reasoning_content: '' } : {}),
    ...(own ? state.fields : {}),
    role: 'assistant',
    content,
    tool_calls: calls.map(({ id, name, arguments: args, extra_content: extra }, i) => ({
      id,
      type: 'function',
      function: { name: toolNameAtProvider(name), arguments: objectText(args) },
      ...(own && extra !== undefined ? { extra_content: extra } : filled.signatures && i === 0 ? { extra_content: noSignature } : {}),
    })),
  }
}

/** Servers parse the arguments of earlier calls, and refuse the whole conversation if one is no JSON object. The call's result says what was wrong. */
function objectText(args: string): string {
  try {
    const value: unknown = JSON.parse(args)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? args : '{}'
  } catch {
    return '{}'
  }
}
