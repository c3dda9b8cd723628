// The log file of a child process. It is appended to, and replaced at a start if it is large, so that a home stays small.
import { mkdirSync, openSync, renameSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'

const logBytesMax = 5_000_000
const linesOfErrorMax = 15
const linesReadBytesMax = 64 * 1024

/** Moves a large log to `<file>.1`, which replaces the older one. */
export function rotateLog(file: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size > logBytesMax) renameSync(file, `${file}.1`)
}

/** Returns a descriptor for appending. The caller closes it. */
export function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true })
  return openSync(file, 'a', 0o600)
}

/**
 * The last line with a message: the message of an error in the log, or of an uncaught error without its stack. `null` if there is none. A process
 * that dies before it has a logger leaves only the text that Node.js prints for an uncaught error.
 */
export async function lastLine(file: string): Promise<string | null> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = text
    .slice(-linesReadBytesMax)
    .split('\n')
    .map((line) => messageIn(line.trim()))
  const telling = lines.filter((line) => line !== '' && !/^(at |Node\.js v|[{}[\]^~]|node:internal)/.test(line))
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
