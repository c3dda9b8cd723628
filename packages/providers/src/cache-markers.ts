// Marks in the messages of a request: the endpoint caches everything up to a mark. There are at most four,
// which is the endpoints' limit: at the end of what other sessions share, of the system prompt, of the
// previous request, and of this one. So a request finds what the previous one wrote although endpoints look
// back only 20 parts. Marks and the parts of a system prompt change no word of it.
import type { ChatRequest } from '@beaver/agent'
import type { ChatMessage } from '@beaver/core'
import type OpenAI from 'openai'

type WireMessage = OpenAI.ChatCompletionMessageParam

/** Where the mark of a tool's result is. */
export type ResultMarks = 'part' | 'message' | 'none'

export interface Marking {
  readonly sharedChars: number
  readonly results: ResultMarks
}

/** A write to a cache costs more, so only a request with tools has marks: later ones begin as it does. */
export const isMarked = ({ cache, tools }: Pick<ChatRequest, 'cache' | 'tools'>): boolean =>
  cache !== undefined && tools.length > 0

/**
 * The places in a conversation that get a mark.
 *
 * @param carries whether a message can have one
 * @returns indexes of messages, in order
 */
export function markedPlaces(
  messages: readonly ChatMessage[],
  carries: (message: ChatMessage) => boolean,
): readonly number[] {
  const carried = ({ role, content }: ChatMessage): boolean =>
    role !== 'assistant' && (content ?? '').trim() !== ''
  const lastBefore = (end: number): number =>
    messages.findLastIndex((message, i) => i < end && carried(message) && carries(message))
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant')
  const places = [
    messages[0]?.role === 'system' ? 0 : -1,
    lastAnswer < 0 ? -1 : lastBefore(lastAnswer),
    lastBefore(messages.length),
  ]
  return [...new Set(places)].filter((place) => place >= 0)
}

const mark = { cache_control: { type: 'ephemeral' } } as const

/**
 * The messages of chat completions with marks. `wire` has the same messages in the same places.
 *
 * @internal: the published package has no types of `openai`
 */
export function withMarks(
  messages: readonly ChatMessage[],
  wire: readonly WireMessage[],
  { sharedChars, results }: Marking,
): readonly WireMessage[] {
  const places = new Set(markedPlaces(messages, ({ role }) => role !== 'tool' || results !== 'none'))
  return wire.map((message, i) => {
    if (!places.has(i)) return message
    if (message.role === 'tool' && results === 'message') return { ...message, ...mark }
    return {
      ...message,
      content: markedParts(message.content, i === 0 && message.role === 'system' ? sharedChars : 0),
    } as WireMessage
  })
}

function markedParts(content: WireMessage['content'], sharedChars: number): object[] {
  if (typeof content === 'string')
    return textParts(content, sharedChars).map((text) => ({ type: 'text', text, ...mark }))
  const parts: readonly object[] = content ?? []
  // Only a part of text takes a mark.
  const last = parts.findLastIndex(
    (part) => 'text' in part && typeof part.text === 'string' && part.text.trim() !== '',
  )
  return parts.map((part, i) => (i === last ? { ...part, ...mark } : part))
}

/** The text in its shared part and the rest, each of which gets a mark. */
export function textParts(text: string, sharedChars: number): readonly string[] {
  const [shared, rest] = [text.slice(0, sharedChars), text.slice(sharedChars)]
  return shared.trim() === '' || rest.trim() === '' ? [text] : [shared, rest]
}
