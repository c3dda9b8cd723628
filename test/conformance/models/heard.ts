// What came back of one request, as Beaver's provider read it.
import type { ChatAnswer } from '@beaver/agent'
import type { FailureClass } from '@beaver/core/supervision'

/** `unasked`: nothing was sent, or nobody waited for the answer. */
export type Heard = Answered | Refused | { readonly kind: 'unasked'; readonly why: string }

export interface Answered {
  readonly kind: 'answer'
  readonly answer: ChatAnswer
  /** The texts of a streamed answer, as they came. */
  readonly pieces: readonly string[]
}

export interface Refused {
  readonly kind: 'failure'
  readonly class: FailureClass
  /** The HTTP status, if there was a response. */
  readonly status: number | null
  readonly message: string
}
