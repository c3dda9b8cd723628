// Waits for a condition, never for a time.

/**
 * The first value of `look` that is neither `null`, `undefined` nor `false`. It looks again every `everyMs` (default: each turn of the event loop).
 *
 * @throws {Error} with `what`, if there is no such value within `withinMs` (default: 10 s)
 */
export async function until<Value>(
  what: string,
  look: () => Value | Promise<Value>,
  { withinMs = 10_000, everyMs = 0 }: { withinMs?: number; everyMs?: number } = {},
): Promise<NonNullable<Exclude<Value, false>>> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const seen = await look()
    if (seen !== null && seen !== undefined && seen !== false) return seen as NonNullable<Exclude<Value, false>>
    if (performance.now() > deadline) throw new Error(`It did not come to this within ${withinMs} ms: ${what}`)
    await new Promise((resolve) => (everyMs === 0 ? setImmediate(resolve) : setTimeout(resolve, everyMs)))
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
