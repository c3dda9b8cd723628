// Ctrl-C and its relatives, for commands that must tidy up first.
// I1. The first aborts `asked`, a later one `forced`. I2. Copies of one key press (a terminal and a wrapper both pass it on)
//     count as one. I3. A closed terminal or pipe is an interrupt too.

export interface Interrupts extends Disposable {
  /** Aborted by the first interrupt. */
  readonly asked: AbortSignal
  /** Aborted by the second. */
  readonly forced: AbortSignal
  /** What a shell would report: 130 for Ctrl-C. 0 when nothing was interrupted. */
  readonly exitCode: number
}

const sameMs = 400
const closedListeners = new Set<() => void>()
const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

export function listenForInterrupts(): Interrupts {
  const asked = new AbortController()
  const forced = new AbortController()
  let exitCode = 0
  let lastAt = -Infinity
  const interrupt = (code: number): void => {
    const now = performance.now()
    if (now - lastAt < sameMs) return
    lastAt = now
    if (exitCode === 0) {
      exitCode = code
      asked.abort()
    } else forced.abort()
  }
  const listeners = Object.entries(codes).map(([name, code]) => [name, () => interrupt(code)] as const)
  for (const [name, listener] of listeners) process.on(name, listener)
  const closed = (): void => interrupt(codes.SIGHUP)
  closedListeners.add(closed)
  return {
    asked: asked.signal,
    forced: forced.signal,
    get exitCode() {
      return exitCode
    },
    [Symbol.dispose]() {
      for (const [name, listener] of listeners) process.off(name, listener)
      closedListeners.delete(closed)
    },
  }
}

/** Told by main when stdout is closed; false: nobody has anything to tidy up. */
export function announceClosed(): boolean {
  for (const listener of closedListeners) listener()
  return closedListeners.size > 0
}
