// The ids that follow from a message, so that the same message meets the same task and the same answer, however often it is taken.
import { createHash } from 'node:crypto'
import type { InboundMessage } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'

type Named = Pick<InboundMessage, 'channel' | 'chat_id' | 'message_id'>

const digest = (...parts: readonly (string | null)[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex')

export const sessionIdOf = ({ channel, chat_id }: Pick<Named, 'channel' | 'chat_id'>): string => `${channel}:${chat_id}`

export const taskIdOf = ({ channel, chat_id, message_id }: Named): string => `chat_${digest(channel, chat_id, message_id).slice(0, 32)}`

/** @param what tells the answers to one message apart */
export const answerIdOf = ({ channel, chat_id, message_id }: Named, ...what: readonly (string | null)[]): string =>
  `out_${digest(channel, chat_id, message_id, ...what).slice(0, 32)}`

/** A call that waits for a person. */
export interface AskedCall {
  readonly task_id: string
  readonly run_id: string | null
  readonly call_id: string
  readonly call_hash: string | null
}

const digits = '0123456789abcdefghjkmnpqrstvwxyz'

/** The code by which a person in a chat names a call: `k3f-09d`. Another call, or the same with other arguments, has another one. */
export function codeOf({ task_id, run_id, call_id, call_hash }: AskedCall): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([task_id, run_id, call_id, call_hash]))
    .digest()
  const text = Array.from({ length: 6 }, (_, i) => digits[(bytes[i] ?? 0) % 32]).join('')
  return `${text.slice(0, 3)}-${text.slice(3)}`
}

/** The code of a question of a call. */
export const questionCodeOf = ({ index, ...call }: Omit<AskedCall, 'call_hash'> & { readonly index: number }): string =>
  codeOf({ ...call, call_hash: `question ${index}` })

/** What a person decided or answered in a chat. */
export type ChatDecision =
  | { readonly verb: 'approve'; readonly code: string; readonly rest: string }
  | { readonly verb: 'deny'; readonly code: string; readonly reason: string }
  | { readonly verb: 'decline'; readonly code: string; readonly reason: string }
  | { readonly verb: 'answer'; readonly code: string; readonly text: string }

/** `approve k3f-09d`, `deny k3f-09d because …`, `answer k3f-09d 2` or `decline k3f-09d`. `null`: the text is none of them. */
export function decisionIn(text: string): ChatDecision | null {
  const [, word, written, said = ''] = /^\s*(approve|deny|answer|decline)\s+([0-9a-z]{3}-[0-9a-z]{3})(\s[\s\S]*)?$/i.exec(text) ?? []
  if (word === undefined || written === undefined) return null
  const verb = word.toLowerCase() as ChatDecision['verb']
  const code = written.toLowerCase()
  switch (verb) {
    case 'approve':
      return { verb, code, rest: said }
    case 'answer':
      return { verb, code, text: said.trim() }
    default:
      return { verb, code, reason: said.trim().slice(0, 1_000) }
  }
}

/**
 * The arguments that a person wrote behind an approval. `null`: none.
 *
 * @throws {BeaverError} `invalid_arguments` if something else is there: it may be a condition, which would be lost
 */
export function changedArguments(code: string, rest: string): string | null {
  const said = rest.trim()
  if (said.startsWith('{')) return said.slice(0, said.lastIndexOf('}') + 1)
  // What follows in other lines is a signature, for example.
  if ((rest.split('\n')[0] ?? '').trim() === '') return null
  const example = `"approve ${code} {…}" with all of its arguments as a JSON object`
  throw new BeaverError('invalid_arguments', `The call still waits. To allow it as it is, write only "approve ${code}". To change it, write ${example}.`)
}
