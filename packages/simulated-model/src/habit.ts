// The input of the simulated model's habits, pure functions from a conversation to a reply or `null`.
import type { ToolSchema } from '@beaver/agent'
import type { ToolCall } from '@beaver/core'

export interface SimulatedReply {
  readonly content: string | null
  readonly toolCalls: readonly ToolCall[]
}

/** A tool call of the current turn, with its result if there is one. */
export interface MadeCall {
  readonly name: string
  readonly arguments: string
  readonly result: string | null
}

export interface WorkOrder {
  readonly task: string
  readonly instruction: string
  readonly dependencies: readonly { readonly from: string; readonly text: string }[]
  readonly evidence: string
}

export interface Conversation {
  readonly skills: readonly { readonly name: string; readonly body: string }[]
  /** The system prompt's part from the agent's own configuration. May be empty. */
  readonly own: string
  /** The last user message that activates no skill. */
  readonly userText: string
  /** The same message, if it is a worker's. */
  readonly order: WorkOrder | null
  /** The calls since that message, in order. */
  readonly calls: readonly MadeCall[]
  readonly tools: readonly ToolSchema[]
  /**
   * The id of the n-th call of the reply: the same for the same conversation, and others for a longer one.
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
