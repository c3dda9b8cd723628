// The form of a conversation that a server demands. Chat templates of local models and some makers are strict
// about the order of roles, ids and empty messages; refusals teach this (openai-chat.ts). No word is lost,
// and the order stays. The same conversation gives the same messages, so a resumed run asks as before. A form
// applies to the whole conversation, so that the ids of calls and results agree.
import { createHash } from 'node:crypto'
import type { ChatMessage } from '@beaver/core'

export interface ConversationForm {
  /** After a user message or tool results, the model must speak. */
  readonly alternates: boolean
  /** There is no role `system`. */
  readonly noSystem: boolean
  /** There are only the roles `user` and `assistant`: calls and results become text. */
  readonly noTools: boolean
  /** A message has at most one call. */
  readonly oneCall: boolean
  /** Ids of calls have nine letters and digits. */
  readonly shortIds: boolean
  /** Replaces empty content. `null`: empty content stays. */
  readonly emptyContent: '' | '(empty)' | null
}

export const plainForm: ConversationForm = {
  alternates: false,
  noSystem: false,
  noTools: false,
  oneCall: false,
  shortIds: false,
  emptyContent: null,
}

type Assistant = Extract<ChatMessage, { role: 'assistant' }>

/** @returns `messages` themselves if the form demands nothing */
export function conversationIn(
  form: ConversationForm,
  messages: readonly ChatMessage[],
): readonly ChatMessage[] {
  let formed = messages
  if (form.noSystem) formed = withoutSystem(formed)
  if (form.noTools) formed = withoutTools(formed)
  if (form.oneCall) formed = withSingleCalls(formed)
  if (form.alternates) formed = inTurns(formed)
  if (form.shortIds) formed = formed.map(withShortIds)
  if (form.emptyContent !== null)
    formed = formed.map((message) => withContent(message, form.emptyContent ?? ''))
  return formed
}

/** The system prompt becomes the beginning of the first user message. */
function withoutSystem(messages: readonly ChatMessage[]): ChatMessage[] {
  return joinedUsers(
    messages.map((message) =>
      message.role === 'system' ? { role: 'user', content: message.content } : message,
    ),
  )
}

/** The model reads in words what it called and what the results were. */
function withoutTools(messages: readonly ChatMessage[]): ChatMessage[] {
  const names = new Map<string, string>()
  const described = messages.map((message): ChatMessage => {
    if (message.role === 'tool')
      return {
        role: 'user',
        content: `The result of ${names.get(message.tool_call_id) ?? 'a tool'}:\n${message.content}`,
      }
    if (message.role !== 'assistant' || message.tool_calls === undefined) return message
    for (const { id, name } of message.tool_calls) names.set(id, name)
    const calls = message.tool_calls.map(({ name, arguments: args }) => `I call ${name} with ${args}`)
    return {
      role: 'assistant',
      content: [message.content ?? '', ...calls].filter((text) => text !== '').join('\n'),
    }
  })
  return joinedUsers(described)
}

/** Each call gets its own message, followed by its result. */
function withSingleCalls(messages: readonly ChatMessage[]): ChatMessage[] {
  const results = new Map(
    messages.flatMap((message) =>
      message.role === 'tool' ? [[message.tool_call_id, message] as const] : [],
    ),
  )
  const moved = new Set<ChatMessage>()
  return messages.flatMap((message): ChatMessage[] => {
    if (moved.has(message)) return []
    if (message.role !== 'assistant' || (message.tool_calls?.length ?? 0) < 2) return [message]
    return (message.tool_calls ?? []).flatMap((call, i): ChatMessage[] => {
      const result = results.get(call.id)
      if (result !== undefined) moved.add(result)
      const asked: Assistant =
        i === 0
          ? { ...message, tool_calls: [call] }
          : { role: 'assistant', content: null, tool_calls: [call] }
      return result === undefined ? [asked] : [asked, result]
    })
  })
}

/** What the model is made to say between the results of tools and a user message. */
const bridge: ChatMessage = { role: 'assistant', content: 'I have read it.' }
const goOn: ChatMessage = { role: 'user', content: 'Continue.' }

function inTurns(messages: readonly ChatMessage[]): ChatMessage[] {
  const turned: ChatMessage[] = []
  for (const message of joinedUsers(messages)) {
    const before = turned.at(-1)
    if (message.role === 'user' && before?.role === 'tool') turned.push(bridge)
    if (message.role === 'assistant' && (before?.role === 'assistant' || before?.role === 'system'))
      turned.push(goOn)
    turned.push(message)
  }
  return turned
}

function joinedUsers(messages: readonly ChatMessage[]): ChatMessage[] {
  const joined: ChatMessage[] = []
  for (const message of messages) {
    const before = joined.at(-1)
    if (message.role === 'user' && before?.role === 'user') {
      const images = [...(before.images ?? []), ...(message.images ?? [])]
      const content = `${before.content}\n\n${message.content}`
      joined[joined.length - 1] = {
        ...before,
        ...message,
        content,
        ...(images.length === 0 ? {} : { images }),
      }
    } else joined.push(message)
  }
  return joined
}

function withShortIds(message: ChatMessage): ChatMessage {
  if (message.role === 'tool') return { ...message, tool_call_id: shortId(message.tool_call_id) }
  if (message.role !== 'assistant' || message.tool_calls === undefined) return message
  return { ...message, tool_calls: message.tool_calls.map((call) => ({ ...call, id: shortId(call.id) })) }
}

/** Keeps an id of nine letters and digits, and maps any other to one, always the same. */
function shortId(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id
  return BigInt(`0x${createHash('sha256').update(id).digest('hex')}`)
    .toString(36)
    .slice(0, 9)
}

function withContent(message: ChatMessage, content: string): ChatMessage {
  return message.role !== 'system' && !message.content ? { ...message, content } : message
}
