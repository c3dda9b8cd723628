// Handles Ctrl-C and similar signals for commands that must clean up first. The first interrupt aborts
// `asked`, a later one aborts `forced`. Interrupts within `sameMs` count as one, because a terminal and a
// wrapper may both pass on the same key press. A closed terminal or pipe is an interrupt, too.

/** The interrupts of one command. Disposing it stops the handling of signals. */
export interface Interrupts extends Disposable {
  /** Aborts at the first interrupt. */
  readonly asked: AbortSignal
  /** Aborts at the second interrupt. */
  readonly forced: AbortSignal
  /**
   * The exit code of the first interrupt that a shell would report, such as 130 for Ctrl-C. 0: no interrupt.
   */
  readonly exitCode: number
}

const sameMs = 400
const closedListeners = new Set<() => void>()
const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/** Handles signals until the result is disposed. */
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

/** Says what interrupted a command, for the journal. */
export function interruptText(exitCode: number): string {
  if (exitCode === codes.SIGTERM) return 'The command was ended by a signal (SIGTERM).'
  return exitCode === codes.SIGHUP
    ? 'The terminal of the command was closed.'
    : 'Interrupted by the user (Ctrl-C).'
}

/** Interrupts the running commands, because stdout was closed. Returns whether a command must clean up. */
export function announceClosed(): boolean {
  for (const listener of closedListeners) listener()
  return closedListeners.size > 0
}
