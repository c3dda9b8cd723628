// Waits for a condition, never for a time.

/** The real timer, for tests that replace it. */
const { setTimeout: later } = globalThis
/** The longest pause between two looks, in ms, so that a waiting test leaves the processor to others. */
const longestPauseMs = 10

/**
 * The first value of `look` that is neither `null`, `undefined` nor `false`. It looks every `everyMs`; 0
 * means in each turn of the event loop. Default: first at once, then after pauses that grow to 10 ms.
 *
 * @throws {Error} with `what` if there is no such value within `withinMs` (default: 80 s, which is below the
 * time that a test has)
 */
export async function until<Value>(
  what: string,
  look: () => Value | Promise<Value>,
  { withinMs = 80_000, everyMs }: { withinMs?: number; everyMs?: number } = {},
): Promise<NonNullable<Exclude<Value, false>>> {
  const deadline = performance.now() + withinMs
  for (let looks = 0; ; looks++) {
    const seen = await look()
    if (seen !== null && seen !== undefined && seen !== false)
      return seen as NonNullable<Exclude<Value, false>>
    if (performance.now() > deadline)
      throw new Error(`It did not come to this within ${withinMs} ms: ${what}`)
    await new Promise((resolve) =>
      everyMs === 0 ? setImmediate(resolve) : later(resolve, everyMs ?? Math.min(looks, longestPauseMs)),
    )
  }
}

/** A promise that a test settles by hand. */
export interface Held<Value> {
  readonly promise: Promise<Value>
  settle(value: Value): void
  fail(error: Error): void
}

export function held<Value>(): Held<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>()
  promise.catch(() => {})
  return { promise, settle: resolve, fail: reject }
}
