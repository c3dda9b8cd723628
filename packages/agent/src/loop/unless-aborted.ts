/**
 * Resolves with `null` as soon as `signal` aborts.
 *
 * @example
 * await unlessAborted(Promise.resolve('done'), AbortSignal.abort()) // => null
 */
export async function unlessAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value | null> {
  if (signal.aborted) return null
  const { promise: aborted, resolve } = Promise.withResolvers<null>()
  const onAbort = (): void => resolve(null)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
