// The ChatProvider port: one chat call to a model. Retries are the AgentLoop's business (failure policy), not the provider's.
// P1. A call ends: with an answer, with a `ProviderError`, or with the abort of `signal`. P2. No secret is in an error.
import type { ChatMessage, FailureClass, ToolCall, Usage } from '@beaver/core'

export interface ToolSchema {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments (an object). */
  readonly parameters: Record<string, unknown>
}

export interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolSchema[]
  readonly signal: AbortSignal
  /** Asks for a streamed answer: called with each piece of text as it comes. The answer is the same as without. */
  readonly onText?: (text: string) => void
  /** Called before an answer that has come is read in one go; what it returns is called after. */
  readonly onRead?: () => () => void
  /** The call has its turn under the endpoint's limits already: it is not counted again. Absent: it has not. */
  readonly admitted?: boolean
  /**
   * Waits for the call's turn, which is reserved when this is called: whoever is asked again after the wait sets `admitted`.
   * Absent: the provider waits by itself.
   */
  readonly waitTurn?: (wait: TurnWait) => Promise<void>
}

/** A call's wait for its turn. `reason` is for a person. */
export interface TurnWait {
  readonly ms: number
  readonly reason: string
}

export interface ChatAnswer {
  /** `null` when the model only called tools. */
  readonly content: string | null
  readonly toolCalls: readonly ToolCall[]
  /** As the provider said it: `stop`, `tool_calls`, `length`, `content_filter`, … */
  readonly finishReason: string
  readonly usage: Usage
  /** The model that answered, as the provider names it. */
  readonly model: string
  readonly responseId: string | null
}

export interface ChatProvider {
  /** `openai`, `simulated`, … */
  readonly name: string
  readonly model: string
  /** @throws {ProviderError} */
  chat(request: ChatRequest): Promise<ChatAnswer>
}

/** Why a call has no answer. `class` decides what happens next: see `failurePolicies` in core. */
export class ProviderError extends Error {
  readonly class: FailureClass
  /** HTTP status, if there was a response. */
  readonly status: number | null
  /** The server's wish, in milliseconds. */
  readonly retryAfterMs: number | null

  constructor(failureClass: FailureClass, message: string, options: { status?: number | null; retryAfterMs?: number | null; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ProviderError'
    this.class = failureClass
    this.status = options.status ?? null
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}
