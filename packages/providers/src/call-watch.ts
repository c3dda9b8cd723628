// Ends a provider call early: if its caller aborts it, if it takes too long, or if a stream falls silent or
// stays open. The first of these aborts the request. Its reason is kept, because the client itself ends a
// stream without an error.
export interface CallWatch {
  /** Aborts the request. */
  readonly controller: AbortController
  gaveUp(): 'timeout' | 'idle' | null
  /**
   * Says that data came in. Silence is counted from the last such call; before the first call it is not
   * counted.
   */
  stir(): void
  /**
   * Says that the answer is complete. If the response does not end soon, the request is aborted; if it does,
   * its connection is kept.
   */
  answered(): void
  close(): void
}

/** The time in which a server ends its response after it said that the stream is done. */
const endMsMax = 100

/** @param caller aborts the call, and holds the caller's own reason */
export function watchCall(
  caller: AbortSignal,
  limits: { readonly timeoutMs: number; readonly idleMs: number },
): CallWatch {
  // AbortSignal.any() would cost more than the rest of a call.
  const controller = new AbortController()
  let why: ReturnType<CallWatch['gaveUp']> = null
  const stop = (): void => controller.abort()
  const giveUp = (limit: 'timeout' | 'idle'): void => {
    why ??= limit
    stop()
  }
  const timer = setTimeout(giveUp, limits.timeoutMs, 'timeout')
  let idle: NodeJS.Timeout | null = null
  let ending: NodeJS.Timeout | null = null
  caller.addEventListener('abort', stop, { once: true })
  return {
    controller,
    gaveUp: () => why,
    stir() {
      if (idle === null) idle = setTimeout(giveUp, limits.idleMs, 'idle')
      else idle.refresh()
    },
    answered() {
      ending ??= setTimeout(stop, endMsMax)
    },
    close() {
      clearTimeout(timer)
      if (ending !== null) clearTimeout(ending)
      if (idle !== null) clearTimeout(idle)
      caller.removeEventListener('abort', stop)
    },
  }
}
