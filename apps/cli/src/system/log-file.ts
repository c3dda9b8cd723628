// The log file of a child process. The child appends to it, and a large one is emptied while the child runs,
// so that a home stays small.
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'

const logBytesMax = 5_000_000
const linesOfErrorMax = 15
const linesReadBytesMax = 64 * 1024

/**
 * Copies the end of a large log to `<file>.1`, which replaces the older one, and empties it. A writer that
 * appends to it goes on in the emptied file. On a full disk it is emptied without a copy. A line that is
 * written in the microseconds before the emptying is lost.
 *
 * @param bytesMax a log of more bytes is large. As many are copied, and what is written meanwhile
 */
export function rotateLog(file: string, bytesMax = logBytesMax): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) <= bytesMax) return
  const log = openSync(file, 'r+')
  try {
    const { size } = fstatSync(log)
    const end = Buffer.alloc(Math.min(size, bytesMax + 1))
    const read = readSync(log, end, 0, end.length, size - end.length)
    // The whole lines, if there is one.
    const from = size > end.length ? end.indexOf(0x0a) + 1 : 0
    rmSync(`${file}.1`, { force: true }) // On a full disk this makes room.
    try {
      const copy = openLog(`${file}.1`)
      try {
        writeSync(copy, end.subarray(from, read))
        // What was appended while this was written, until nothing is new.
        for (
          let at = size, more = readSync(log, end, 0, end.length, at);
          more > 0;
          more = readSync(log, end, 0, end.length, at)
        ) {
          writeSync(copy, end.subarray(0, more))
          at += more
        }
      } finally {
        closeSync(copy)
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      rmSync(`${file}.1`, { force: true })
    }
    ftruncateSync(log)
  } finally {
    closeSync(log)
  }
}

/** Returns a descriptor for appending. The caller closes it. */
export function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true })
  return openSync(file, 'a', 0o600)
}

/**
 * The last line with a message: the message of an error in the log, or of an uncaught error without its
 * stack. `null` if there is none. A process that dies before it has a logger leaves only the text that
 * Node.js prints for an uncaught error.
 */
export async function lastLine(file: string): Promise<string | null> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = text
    .slice(-linesReadBytesMax)
    .split('\n')
    .map((line) => messageIn(line.trim()))
  const telling = lines.filter(
    (line) => line !== '' && !/^(at |Node\.js v|[{}[\]^~]|node:internal)/.test(line),
  )
  const error = telling.slice(-linesOfErrorMax).findLast((line) => /^(\w*Error\b.*:|\w+: )/.test(line))
  return (error ?? telling.at(-1))?.replace(/^Error: /, '').slice(0, 500) ?? null
}

/** The message in a line of the log, with a mark if it is an error. Any other line is returned unchanged. */
function messageIn(line: string): string {
  if (!line.startsWith('{')) return line
  try {
    const { level, message } = JSON.parse(line) as { level?: unknown; message?: unknown }
    return typeof message !== 'string' ? '' : level === 'error' ? `Error: ${message}` : message
  } catch {
    return line
  }
}
