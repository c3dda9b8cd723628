// OpenCalls: which call a server means when it asks in the protocol of 2025. Its request does not name the
// call, and all calls share one connection. A question goes to the person of the call that asked, or to
// nobody. So it is given to a call only if no other call could have asked. A call that has ended did not ask,
// because it would wait for the answer. So the question of several open calls waits, for a bounded time,
// until all but one of them have ended. A question outside of all calls gets `cancel`.
import type { Clock } from '@beaver/core'
import type { CallInputs } from './call-inputs.ts'
import type { ElicitationAnswer } from './read-elicitation.ts'

const waitMsMax = 10_000
const waitingMax = 100

export class OpenCalls {
  readonly #clock: Clock
  readonly #open = new Set<CallInputs>()
  readonly #waiting = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns a function that ends the call */
  begin(inputs: CallInputs): () => void {
    this.#open.add(inputs)
    return () => {
      this.#open.delete(inputs)
      for (const look of this.#waiting) look()
    }
  }

  async answer(params: unknown): Promise<ElicitationAnswer> {
    const asker = await this.#asker()
    return asker === null ? { action: 'cancel' } : asker.answer(params)
  }

  #asker(): Promise<CallInputs | null> {
    const could = [...this.#open]
    const [only = null] = could
    if (could.length <= 1 || this.#waiting.size >= waitingMax)
      return Promise.resolve(could.length === 1 ? only : null)
    const { promise, resolve } = Promise.withResolvers<CallInputs | null>()
    const look = (): void => {
      const left = could.filter((each) => this.#open.has(each))
      if (left.length <= 1) end(left[0] ?? null)
    }
    const end = (asker: CallInputs | null): void => {
      late.cancel()
      this.#waiting.delete(look)
      resolve(asker)
    }
    const late = this.#clock.after(waitMsMax, () => {
      for (const each of could)
        each.note(
          'A question was cancelled, because several calls of its server were open and it did not say which one asked.',
        )
      end(null)
    })
    this.#waiting.add(look)
    return promise
  }
}
