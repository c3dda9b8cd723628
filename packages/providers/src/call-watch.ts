// What ends a provider call early: its caller, the time it may take, and silence in the middle of a stream.
// W1. Whichever comes first aborts the request, and is told afterwards: the client itself ends a stream without a word.
export interface CallWatch {
  /** Of the request. */
  readonly controller: AbortController
  gaveUp(): 'timeout' | 'idle' | null
  /** Something came in: from the first time on, silence is counted from the last. */
  stir(): void
  close(): void
}

/** @param caller aborts the call; the caller finds its own reason there */
export function watchCall(caller: AbortSignal, limits: { readonly timeoutMs: number; readonly idleMs: number }): CallWatch {
  // AbortSignal.any() costs more than the rest of a call.
  const controller = new AbortController()
  let why: ReturnType<CallWatch['gaveUp']> = null
  const stop = (): void => controller.abort()
  const giveUp = (limit: 'timeout' | 'idle'): void => {
    why ??= limit
    stop()
  }
  const timer = setTimeout(giveUp, limits.timeoutMs, 'timeout')
  let idle: NodeJS.Timeout | null = null
  caller.addEventListener('abort', stop, { once: true })
  return {
    controller,
    gaveUp: () => why,
    stir() {
      if (idle === null) idle = setTimeout(giveUp, limits.idleMs, 'idle')
      else idle.refresh()
    },
    close() {
      clearTimeout(timer)
      if (idle !== null) clearTimeout(idle)
      caller.removeEventListener('abort', stop)
    },
  }
}
