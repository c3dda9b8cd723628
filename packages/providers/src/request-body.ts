// The body of a chat request on the wire, and the names of tools there.
// B1. The tools of a loop are the same in every call, and they are the larger part of a short request. So their text is made once and put into
//     the text of the rest, and not serialised again.
// B2. Either way the body is the same JSON value.
import { type ChatRequest, toolNameAtProvider, toolNamesFromProvider, type ToolSchema } from '@beaver/agent'
import { type ChatMessage, isOn } from '@beaver/core'
import type OpenAI from 'openai'

/** The form in which the answer should come. */
export interface AnswerForm {
  readonly stream?: true
  readonly stream_options?: { readonly include_usage: true }
}

/** The body as JSON. If the switch `tool_text` is off, it is serialised as a whole. */
export function requestBody(model: string, { messages, tools }: Pick<ChatRequest, 'messages' | 'tools'>, form: AnswerForm): string {
  const rest = { model, messages: messages.map(wireMessage), ...form } satisfies OpenAI.ChatCompletionCreateParams
  if (tools.length === 0) return JSON.stringify(rest)
  if (!isOn('tool_text')) return JSON.stringify({ ...rest, tools: wireTools(tools) })
  return `${JSON.stringify(rest).slice(0, -1)},"tools":${knownTools(tools).text}}`
}

/** Returns the tool name for a name on the wire. */
export const toolNameIn = (tools: readonly ToolSchema[], wire: string): string => knownTools(tools).nameOf(wire)

interface KnownTools {
  readonly text: string
  readonly nameOf: (wire: string) => string
}

const known = new WeakMap<readonly ToolSchema[], KnownTools>()

function knownTools(tools: readonly ToolSchema[]): KnownTools {
  const before = known.get(tools)
  if (before !== undefined) return before
  const made = { text: JSON.stringify(wireTools(tools)), nameOf: toolNamesFromProvider(tools) }
  known.set(tools, made)
  return made
}

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
