// Reads one line from a person at a terminal. The terminal keeps its mode (no raw mode): it echoes and edits
// the text, and Ctrl-C is still a signal. Text that was typed before the question does not count as an
// answer.
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as after } from 'node:timers/promises'

/** Discards what is typed within `ms` milliseconds. */
export async function discardTyped(input: Readable, ms: number, signal: AbortSignal): Promise<void> {
  input.resume()
  await after(ms, undefined, { signal }).catch(() => {})
  input.pause()
}

/**
 * Reads until a line, the end of the input, or the abort of `signal`. `line` is `null` if there is no line.
 * `ended` says whether the input has ended.
 */
export function readLine(
  input: Readable,
  signal: AbortSignal,
): Promise<{ readonly line: string | null; readonly ended: boolean }> {
  return new Promise((resolve) => {
    const lines = createInterface({ input, terminal: false })
    let line: string | null = null
    const close = (): void => lines.close()
    lines.once('line', (text) => {
      line = text
      close()
    })
    lines.once('close', () => {
      signal.removeEventListener('abort', close)
      input.pause()
      resolve({ line, ended: line === null && !signal.aborted })
    })
    signal.addEventListener('abort', close, { once: true })
    if (signal.aborted) close()
  })
}
