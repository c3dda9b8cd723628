// The calls of the tasks of chats that wait for a decision, as far as this process follows the tasks.
import type { InboundMessage } from '@beaver/contracts'
import { type RecordedEvent, type WaitingCall, waitingCalls } from '@beaver/core'
import { type AskedCall, codeOf, sessionIdOf, taskIdOf } from './message-ids.ts'

/** A call that waits in a chat. */
export interface ChatCall extends AskedCall {
  readonly code: string
  readonly tool: string
  readonly subject: string
}

type Named = Pick<InboundMessage, 'channel' | 'chat_id' | 'message_id'>

export class ChatCalls {
  readonly #tasks = new Map<string, { readonly session: string; waiting: readonly WaitingCall[] }>()

  /** Follows the task of a message. The returned function takes its next event. */
  follow(message: Named): (event: RecordedEvent) => void {
    const task = { session: sessionIdOf(message), waiting: [] as readonly WaitingCall[] }
    this.#tasks.set(taskIdOf(message), task)
    return (event) => void (task.waiting = waitingCalls(task.waiting, event))
  }

  forget(message: Named): void {
    this.#tasks.delete(taskIdOf(message))
  }

  /** Whether a call of the task of a message waits. */
  waits(message: Named): boolean {
    return (this.#tasks.get(taskIdOf(message))?.waiting.length ?? 0) > 0
  }

  inChat(session: string): readonly ChatCall[] {
    return [...this.#tasks].flatMap(([task_id, task]) =>
      task.session === session ? task.waiting.map((call) => chatCall(task_id, call)) : [],
    )
  }
}

function chatCall(task_id: string, { runId, callId, asked }: WaitingCall): ChatCall {
  const call = { task_id, run_id: runId ?? null, call_id: callId, call_hash: asked.call_hash ?? null }
  return { ...call, code: codeOf(call), tool: asked.tool_name, subject: asked.subject }
}
