// The messages between a thread whose loops ask a model of the program, and the main thread, where the
// program has it. Requests and answers are texts: they are made and read once, and a value that is no plain
// data cannot cross.
import type { FailureClass } from '@beaver/core'
import type { RefusedTool } from '@beaver/agent'

/** From the thread of a loop. */
export type ToProgram =
  | {
      readonly kind: 'ask'
      readonly call: number
      /** The name under which the program gave the model. */
      readonly model: string
      /** `SentRequest` as JSON. */
      readonly request: string
      readonly images?: ReadonlyMap<string, Uint8Array>
      readonly streams: boolean
    }
  /** Nobody waits for the call any more. */
  | { readonly kind: 'abandon'; readonly call: number }

/** From the main thread. A call ends with one `answer` or one `failed`, and nothing of it follows. */
export type FromProgram =
  | { readonly kind: 'text'; readonly call: number; readonly text: string }
  /** A `ChatAnswer` as JSON. */
  | { readonly kind: 'answer'; readonly call: number; readonly answer: string }
  | { readonly kind: 'failed'; readonly call: number; readonly failure: SentFailure }

/** A `ProviderError` as data. */
export interface SentFailure {
  readonly class: FailureClass
  readonly message: string
  readonly status: number | null
  readonly retryAfterMs: number | null
  readonly refusedTools: readonly RefusedTool[]
}
