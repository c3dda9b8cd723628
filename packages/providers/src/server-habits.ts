// What one server takes in a request, learned from its refusals. Each refusal teaches one thing, so a request is repeated a few times at most.
import { missesSignature, missesThoughts, refusesState, refusesStreamOptions, refusesTokensField } from './provider-failure.ts'
import type { FilledState, OutputTokensField } from './request-body.ts'

/** What a request had that a server may not know. */
export interface SentFields {
  readonly usage: boolean
  readonly state: boolean
  readonly outputTokens: boolean
}

export class ServerHabits {
  /** Whether it counts the tokens of a stream. */
  usage = true
  /** Whether it takes back what it sent with its messages. */
  state = true
  /** What it misses in messages of other models. */
  filled: FilledState = { thoughts: false, signatures: false }
  outputTokensField: OutputTokensField
  /** It has the other name, or it has taken this one. */
  #fieldIsKnown = false

  constructor(outputTokensField: OutputTokensField) {
    this.outputTokensField = outputTokensField
  }

  /** A request was not refused. */
  taken({ outputTokens }: SentFields): void {
    this.#fieldIsKnown ||= outputTokens
  }

  /** Returns whether a refusal says what the server does not know, so that it is asked again. */
  learns(refusal: unknown, sent: SentFields): boolean {
    if (sent.usage && refusesStreamOptions(refusal)) {
      this.usage = false
      return true
    }
    if (!this.filled.thoughts && missesThoughts(refusal)) {
      this.filled = { ...this.filled, thoughts: true }
      return true
    }
    if (!this.filled.signatures && missesSignature(refusal)) {
      this.filled = { ...this.filled, signatures: true }
      return true
    }
    if (sent.state && refusesState(refusal)) {
      this.state = false
      return true
    }
    if (!sent.outputTokens || this.#fieldIsKnown || !refusesTokensField(refusal)) return false
    this.#fieldIsKnown = true
    this.outputTokensField = this.outputTokensField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
    return true
  }
}
