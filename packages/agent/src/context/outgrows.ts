// Estimates whether a request is too long for the context window of a model, so that a conversation is
// shortened before it is refused. Servers that cut a conversation that is too long do not say so.
import { type ChatMessage, estimateTokens, imageTokens, type ModelSettings } from '@beaver/core'

/** An estimate may be wrong by so much: it may fill only this part of the window. */
const filledMax = 0.9
/** What the answer needs if nobody said how long it may be. */
const answerTokens = 4_096

/** The part of a request that grows with a conversation, and what is sent beside it. */
interface Sent {
  readonly messages: readonly ChatMessage[]
  /** The estimated tokens of the tools. */
  readonly toolsTokens: number
  readonly settings: ModelSettings | undefined
}

/** @param windowTokens the context window of the model, in tokens */
export function outgrows(windowTokens: number, { messages, ...sent }: Sent): boolean {
  const room = roomFor(windowTokens, sent)
  let tokens = 0
  for (const message of messages) {
    tokens += tokensOf(message)
    if (tokens > room) return true
  }
  return false
}

/** How many tokens the conversation may have. */
function roomFor(windowTokens: number, { toolsTokens, settings }: Omit<Sent, 'messages'>): number {
  const answer = Math.min(settings?.output_tokens_max ?? answerTokens, windowTokens / 4)
  return windowTokens * filledMax - answer - toolsTokens
}

/** By how many tokens a conversation is too long, by an estimate. Negative: so much room is left. */
export const tokensOver = (windowTokens: number, { messages, ...sent }: Sent): number =>
  messages.reduce((sum, message) => sum + tokensOf(message), 0) - roomFor(windowTokens, sent)

/** A message never changes, and each turn asks again. */
const known = new WeakMap<ChatMessage, number>()

function tokensOf(message: ChatMessage): number {
  const before = known.get(message)
  if (before !== undefined) return before
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : []
  const state =
    message.role === 'assistant' && message.provider_state !== undefined
      ? JSON.stringify(message.provider_state.fields)
      : ''
  const text = [
    message.content ?? '',
    state,
    ...calls.map(({ name, arguments: args }) => `${name} ${args}`),
  ].join('\n')
  const images = message.role === 'user' || message.role === 'tool' ? (message.images ?? []) : []
  const tokens = images.reduce((sum, image) => sum + imageTokens(image), estimateTokens(text))
  known.set(message, tokens)
  return tokens
}
