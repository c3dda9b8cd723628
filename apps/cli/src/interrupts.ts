// Handles Ctrl-C and similar signals for commands that must clean up first. The first interrupt aborts
// `asked`, a later one `forced`. Copies of one key press count as one, because a terminal and a wrapper may
// both pass it on. A closed terminal or pipe is an interrupt too.

export interface Interrupts extends Disposable {
  /** The first interrupt aborts it. */
  readonly asked: AbortSignal
  /** The second interrupt aborts it. */
  readonly forced: AbortSignal
  /** The exit code that a shell would report: 130 for Ctrl-C. 0 if nothing was interrupted. */
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

/** What interrupted a command, for the record. */
export function interruptText(exitCode: number): string {
  if (exitCode === codes.SIGTERM) return 'The command was ended by a signal (SIGTERM).'
  return exitCode === codes.SIGHUP
    ? 'The terminal of the command was closed.'
    : 'Interrupted by the user (Ctrl-C).'
}

/** Called by main when stdout is closed. Returns false if no command has to clean up. */
export function announceClosed(): boolean {
  for (const listener of closedListeners) listener()
  return closedListeners.size > 0
}
