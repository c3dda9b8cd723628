// What the modules made of examples call to check their claims. It loads nothing that costs time.
import { inspect, isDeepStrictEqual } from 'node:util'

/** The claims of one example, by their numbers from 0. */
export interface Checks {
  equal(claim: number, actual: unknown, expected: unknown): void
  /** @throws {Error} if `act` does not reject with an error of this code */
  throws(claim: number, act: () => Promise<unknown>, code: string): Promise<void>
  allReached(): void
}

export function checks(count: number): Checks {
  const open = new Set(Array.from({ length: count }, (_, claim) => claim))
  return {
    equal(claim, actual, expected) {
      open.delete(claim)
      if (!isDeepStrictEqual(actual, expected))
        throw new Error(`It gives ${shown(actual)}, not ${shown(expected)}.`)
    },
    async throws(claim, act, code) {
      open.delete(claim)
      const failure = await act().then(
        () => null,
        (error: unknown) => error,
      )
      if (failure === null) throw new Error(`It throws nothing, not ${code}.`)
      if ((failure as { code?: unknown }).code !== code)
        throw new Error(`It throws ${shown(failure)}, not ${code}.`)
    },
    allReached() {
      if (open.size > 0) throw new Error(`${open.size} of its results were not reached.`)
    },
  }
}

const shown = (value: unknown): string => inspect(value, { depth: 8 })
