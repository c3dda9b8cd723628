// Ids that are computed from a message, so that a message that is taken again finds the same task and the
// same answer. The writer is part of each id: in some networks, such as e-mail, the writer chooses the id of
// the message, and could otherwise take the id of another writer's message.
import { createHash } from 'node:crypto'
import type { InboundMessage } from '@beaver/contracts'
import type { AskedCall } from '@beaver/core/task-view'

/** What tells one message from all others. */
export type NamedMessage = Pick<InboundMessage, 'channel' | 'chat_id' | 'message_id'> & {
  readonly user: Pick<InboundMessage['user'], 'name'>
}

const digest = (...parts: readonly (string | null)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex')

export const sessionIdOf = ({ channel, chat_id }: Pick<InboundMessage, 'channel' | 'chat_id'>): string =>
  `${channel}:${chat_id}`

/**
 * The channel in the id of a session. `null`: the session is not a chat's.
 *
 * @example channelOfSession('support:room-7') // => 'support'
 */
export const channelOfSession = (session: string): string | null =>
  /^([\w-]{1,32}):/.exec(session)?.[1] ?? null

/**
 * Whether a task has the id of a message of a chat.
 *
 * @example
 * isTaskOfChat('task_01m853483k7t8z8bsheeg97x2v') // => false
 */
export const isTaskOfChat = (task_id: string): boolean => /^chat_[0-9a-f]{32}$/.test(task_id)

export const taskIdOf = ({ channel, chat_id, message_id, user }: NamedMessage): string =>
  `chat_${digest(channel, chat_id, user.name, message_id).slice(0, 32)}`

/** The id of a text that answers a message. @param parts distinguishes the texts that answer one message */
export const answerIdOf = (
  { channel, chat_id, message_id, user }: NamedMessage,
  ...parts: readonly (string | null)[]
): string => `out_${digest(channel, chat_id, user.name, message_id, ...parts).slice(0, 32)}`

/** The fields from which the code of a call is computed. */
export interface NamedCall {
  readonly task_id: string
  readonly run_id: string | null
  readonly call_id: string
  readonly call_hash: string | null
}

export const namedCall = (
  task_id: string,
  { runId, callId, asked }: Pick<AskedCall, 'runId' | 'callId' | 'asked'>,
): NamedCall => ({ task_id, run_id: runId ?? null, call_id: callId, call_hash: asked.call_hash ?? null })

const digits = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * The code by which people in a chat name a call, such as `k3f-09d`. Each call has its own code, and the same
 * call with other arguments has another one.
 */
export function codeOf({ task_id, run_id, call_id, call_hash }: NamedCall): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([task_id, run_id, call_id, call_hash]))
    .digest()
  const text = Array.from({ length: 6 }, (_, i) => digits[(bytes[i] ?? 0) % 32]).join('')
  return `${text.slice(0, 3)}-${text.slice(3)}`
}

/** The code of what a task asks for a budget. `key`: that of the ask. */
export const budgetCodeOf = (task_id: string, key: string): string =>
  codeOf({ task_id, run_id: null, call_id: `budget ${key}`, call_hash: null })

/** The code of a question. `index`: its place among the questions of its call. */
export const questionCodeOf = ({
  index,
  ...call
}: Omit<NamedCall, 'call_hash'> & { readonly index: number }): string =>
  codeOf({ ...call, call_hash: `question ${index}` })
