// A request as the model of a program gets it. It is what an HTTP endpoint would get, so a program can pass
// it on as it is. Names of tools are such as providers take (tool-name.ts), and arguments of earlier calls
// are JSON objects. Of the state in messages only what this model sent is left. Secrets are masked, as in
// each request that leaves.
import { type ChatRequest, toolNameAtProvider } from '@beaver/agent'
import { type ChatMessage, hasSecret, maskedData } from '@beaver/core'
import { objectText } from '../request-body.ts'

/** The part of a request that crosses as a text. */
export type SentRequest = Pick<ChatRequest, 'messages' | 'tools' | 'settings' | 'output' | 'cache'>

/** @param provider the name of the model in events */
export function sentRequest(
  { messages, tools, settings, output, cache }: ChatRequest,
  provider: string,
): string {
  const sent: SentRequest = {
    messages: messages.map((message) => sentMessage(message, provider)),
    tools: tools.map((tool) => ({ ...tool, name: toolNameAtProvider(tool.name) })),
    settings,
    ...(output === undefined ? {} : { output }),
    ...(cache === undefined ? {} : { cache }),
  }
  const text = JSON.stringify(sent)
  return hasSecret(text) ? JSON.stringify(maskedData(sent)) : text
}

function sentMessage(message: ChatMessage, provider: string): ChatMessage {
  if (message.role !== 'assistant' || message.tool_calls === undefined) return message
  const { provider_state: state, tool_calls: calls, ...said } = message
  const own = state?.provider === provider
  return {
    ...said,
    tool_calls: calls.map(({ extra_content: extra, ...call }) => ({
      ...call,
      name: toolNameAtProvider(call.name),
      arguments: objectText(call.arguments),
      ...(own && extra !== undefined ? { extra_content: extra } : {}),
    })),
    ...(own ? { provider_state: state } : {}),
  }
}

/** The messages as the program's provider reads them: what is left of the state is its own. */
export const ownedMessages = (messages: readonly ChatMessage[], name: string): ChatMessage[] =>
  messages.map((message) =>
    message.role === 'assistant' && message.provider_state !== undefined
      ? { ...message, provider_state: { ...message.provider_state, provider: name } }
      : message,
  )
