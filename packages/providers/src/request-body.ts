// The body of a chat request on the wire, and the names of tools there.
import { type ChatRequest, toolNameAtProvider, toolNamesFromProvider, type ToolSchema } from '@beaver/agent'
import { type ChatMessage, hasSecret, maskedData } from '@beaver/core'
import type OpenAI from 'openai'

/** The form in which the answer should come. */
export interface AnswerForm {
  readonly stream?: true
  readonly stream_options?: { readonly include_usage: true }
}

/**
 * The body as JSON: first what all requests of a loop share, at the end the messages, which grow. What begins alike is cheap for a provider that
 * keeps a cache. What a run sends was masked when it was recorded. Descriptions of tools and skills are not recorded, and an older journal may
 * contain a key that this process knows by now.
 */
export function requestBody(model: string, { messages, tools }: Pick<ChatRequest, 'messages' | 'tools'>, form: AnswerForm): string {
  const shared = { model, ...form, ...(tools.length === 0 ? {} : { tools: wireTools(tools) }) }
  const body = { ...shared, messages: messages.map(wireMessage) } satisfies OpenAI.ChatCompletionCreateParams
  const text = JSON.stringify(body)
  return hasSecret(text) ? JSON.stringify(maskedData(body)) : text
}

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

function wireMessage(message: ChatMessage): OpenAI.ChatCompletionMessageParam {
  if (message.role !== 'assistant' || message.tool_calls === undefined) return message as OpenAI.ChatCompletionMessageParam
  return {
    role: 'assistant',
    content: message.content,
    tool_calls: message.tool_calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: toolNameAtProvider(call.name), arguments: call.arguments },
    })),
  }
}
