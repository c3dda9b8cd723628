// The log file of a child process, to which the child appends. A large file is emptied while the child runs,
// so that the home stays small.
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolder } from '@beaver/platform'

const logBytesMax = 5_000_000
const linesOfErrorMax = 15
const linesReadBytesMax = 64 * 1024

/**
 * Copies the end of a large log to `<file>.1`, in place of an older copy, and empties the log. A writer that
 * appends continues in the emptied file. On a full disk, the log is emptied without a copy. A line that is
 * written in the microseconds before the emptying is lost.
 *
 * @param bytesMax the largest size of a log that is left alone, in bytes. About as many bytes are copied, and
 * those that are appended during the copy. Default: 5,000,000
 */
export function rotateLog(file: string, bytesMax = logBytesMax): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) <= bytesMax) return
  const log = openSync(file, 'r+')
  try {
    const { size } = fstatSync(log)
    const end = Buffer.alloc(Math.min(size, bytesMax + 1))
    const read = readSync(log, end, 0, end.length, size - end.length)
    // The copy begins at the start of a line, if the end of the log contains one.
    const from = size > end.length ? end.indexOf(0x0a) + 1 : 0
    rmSync(`${file}.1`, { force: true }) // On a full disk this makes room.
    try {
      const copy = openLog(`${file}.1`)
      try {
        writeSync(copy, end.subarray(from, read))
        // Copies what was appended in the meantime, until nothing is new.
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

/** Opens a log for appending and returns its file descriptor. The caller must close it. */
export function openLog(file: string): number {
  makeFolder(dirname(file))
  return openSync(file, 'a', 0o600)
}

/**
 * The last line of a log that explains an end: an error of the log, or an uncaught error without its stack,
 * because a process that dies before it has a logger leaves only the text of Node.js. Without an error, the
 * last message; `null` if there is none.
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

/**
 * The message in a line of the log, with `Error: ` before an error's message. Other lines are returned
 * unchanged.
 */
function messageIn(line: string): string {
  if (!line.startsWith('{')) return line
  try {
    const { level, message } = JSON.parse(line) as { level?: unknown; message?: unknown }
    return typeof message !== 'string' ? '' : level === 'error' ? `Error: ${message}` : message
  } catch {
    return line
  }
}
