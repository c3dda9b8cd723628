// Ends a provider call early: if its caller aborts it, if it takes too long, or if a stream falls silent or
// stays open. It keeps the reason, because the client itself ends an aborted stream without an error.
export interface CallWatch {
  /** Aborts the request. */
  readonly controller: AbortController
  gaveUp(): 'timeout' | 'idle' | null
  /** Reports that data came in. Silence counts from the last report, and not before the first. */
  stir(): void
  /** Reports a complete answer. If its response ends soon, the connection is kept; else it is aborted. */
  answered(): void
  close(): void
}

/** How long a server may take to end its response after the end of the stream. */
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
