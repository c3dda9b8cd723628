// The checkpoints that a projector keeps in its home, outside of the journal: a file of lines `{"time": …,
// "note": …}`, newest last. A checkpoint is in the file before it is anywhere else, so that nobody else has
// one that this file does not know. The file does not grow without end: its older half is dropped at a start.
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { BeaverError, messageOf } from '@beaver/core'

const bytesMax = 8 << 20

/** The last note in the file; `null` if there is none. A line that was cut short is skipped. */
export function lastKeptNote(file: string): string | null {
  const lines = linesOf(file)
  for (const line of lines.toReversed()) {
    const note = noteOf(line)
    if (note !== null) return note
  }
  return null
}

/**
 * Readies a file for this process: ends a line that a crash cut short, and drops the older half of a file
 * that is too large.
 */
export function readyKept(file: string): void {
  const lines = linesOf(file)
  if (lines.reduce((sum, line) => sum + line.length, 0) > bytesMax) {
    writeFileSync(`${file}.partial`, lines.slice(Math.floor(lines.length / 2)).join('\n') + '\n', {
      mode: 0o600,
    })
    renameSync(`${file}.partial`, file)
  } else if (lines.length > 0 && !readFileSync(file, 'utf8').endsWith('\n')) {
    appendFileSync(file, '\n')
  }
}

export function keepNote(file: string, time: string, note: string): void {
  appendFileSync(file, `${JSON.stringify({ time, note })}\n`, { mode: 0o600 })
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new BeaverError('start_failed', `The checkpoints in ${file} cannot be read: ${messageOf(cause)}.`, {
      cause,
    })
  }
}

function noteOf(line: string): string | null {
  try {
    const { note } = JSON.parse(line) as { readonly note?: unknown }
    return typeof note === 'string' ? note : null
  } catch {
    return null
  }
}
