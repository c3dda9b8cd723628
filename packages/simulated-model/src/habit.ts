// Defines the input of the simulated model's habits. A habit is a pure function from a conversation to a
// reply, or to `null` if it has none.
import type { ToolSchema } from '@beaver/agent'
import type { ToolCall } from '@beaver/core'

export interface SimulatedReply {
  readonly content: string | null
  readonly toolCalls: readonly ToolCall[]
}

/** A tool call of the present turn of the conversation, with its result if it has one. */
export interface MadeCall {
  readonly name: string
  readonly arguments: string
  readonly result: string | null
}

/** The parts of a worker's message. */
export interface WorkOrder {
  readonly task: string
  readonly instruction: string
  readonly dependencies: readonly { readonly from: string; readonly text: string }[]
  readonly evidence: string
}

export interface Conversation {
  readonly skills: readonly { readonly name: string; readonly body: string }[]
  /** What the agent's own configuration adds to the system prompt. Empty: nothing. */
  readonly own: string
  /** The last message of the user that activates no skill. */
  readonly userText: string
  /** The same message, if it has the form of a worker's message. */
  readonly order: WorkOrder | null
  /** The calls since that message, in order. */
  readonly calls: readonly MadeCall[]
  readonly tools: readonly ToolSchema[]
  /**
   * An id for the n-th call of the reply. The same conversation gives the same ids; a longer one gives
   * others.
   */
  callId(index: number): string
}

export type Habit = (conversation: Conversation) => SimulatedReply | null

export const say = (content: string): SimulatedReply => ({ content, toolCalls: [] })

export function callTools(
  conversation: Conversation,
  calls: readonly { readonly name: string; readonly args: unknown }[],
): SimulatedReply {
  return {
    content: null,
    toolCalls: calls.map(({ name, args }, index) => ({
      id: conversation.callId(index),
      name,
      arguments: JSON.stringify(args),
    })),
  }
}
