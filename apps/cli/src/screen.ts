// The place where a command prints, and what the output can do. Only this file writes to stdout and stderr.
// Colours and spinners appear only on a terminal, and not with NO_COLOR or --no-color. Text for a terminal
// contains no control sequences except Beaver's own styles and the frames of the live view. Text for a pipe
// or a file is cleaned, too, unless the user says --raw. JSON keeps every character, if necessary as an
// escape. A closed pipe ends the output; it is not an error.
import { safeJson } from '@beaver/core'
import { once } from 'node:events'
import { plainText, styledText } from './text/plain-text.ts'
import { type Style, styleOf, type Symbols, symbolsOf } from './text/style.ts'
import { wrappedFor } from './text/wrap-screen.ts'

export interface Screen {
  /** Writes texts of one or more lines to stdout. On a terminal, long lines are broken between words. */
  print(...texts: readonly string[]): void
  /**
   * Writes the answer of a command to stdout, as one line of JSON. A command has one answer; a listing is an
   * object with a field for its rows.
   */
  json(answer: object): void
  /** Writes one line of the JSON of a stream to stdout: an event, or the result after the events. */
  jsonLine(line: object): void
  /** Writes a text to stdout, without adding a line end or breaking lines. */
  write(text: string): void
  /** Writes Beaver's own control sequences to the terminal and then a text, in one write. */
  control(sequences: string, text?: string): void
  /** Writes one line of JSON to stdout, and resolves when the reader can take more. */
  paced(json: string): Promise<void>
  /**
   * Shows a line until something else is printed; `null` removes it. If stdout is not a terminal, the line is
   * printed once, like any other.
   */
  passing(line: string | null): void
  /** Writes texts to stderr, as `print` does to stdout. */
  warn(...texts: readonly string[]): void
  /** Whether stdout is a terminal that can move its cursor. */
  readonly live: boolean
  /** Whether stdout is a terminal. */
  readonly interactive: boolean
  /** The columns of the terminal. If stdout is not a terminal, `Infinity`, so that nothing is cut. */
  readonly columns: number
  readonly rows: number
  readonly style: Style
  /** The style for stderr. */
  readonly errorStyle: Style
  readonly symbols: Symbols
}

/**
 * Makes the screen of this process.
 *
 * @param options `raw`: output to a pipe or a file is not cleaned. Default: false. `env`: default
 * `process.env`
 */
export function screenOf(
  options: { colour: boolean; raw?: boolean; env?: NodeJS.ProcessEnv } = { colour: true },
): Screen {
  const { stdout, stderr } = process
  const env = options.env ?? process.env
  const coloured = options.colour && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
  const interactive = stdout.isTTY === true
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  const utf8 = !/^(C|POSIX)$/.test(locale) && env['TERM'] !== 'linux'
  const live = interactive && env['TERM'] !== 'dumb'
  let passing = false
  let answered = false
  const writeJson = (value: object): void => void stdout.write(`${safeJson(JSON.stringify(value))}\n`)
  const cleared = (): string => {
    const erase = passing ? '\r\u001B[K' : ''
    passing = false
    return erase
  }
  const clean = interactive ? styledText : options.raw === true ? String : plainText
  const cleanError = stderr.isTTY === true ? styledText : options.raw === true ? String : plainText
  return {
    print: (...texts) =>
      texts.length === 0
        ? undefined
        : void stdout.write(`${cleared()}${wrappedFor(stdout, ...texts.map(clean))}\n`),
    json(answer) {
      if (answered) throw new Error('A command has one answer in JSON.')
      answered = true
      writeJson(answer)
    },
    jsonLine: writeJson,
    write: (text) => void stdout.write(cleared() + clean(text)),
    control: (sequences, text = '') => void stdout.write(cleared() + sequences + clean(text)),
    async paced(json) {
      if (!stdout.write(`${cleared()}${safeJson(json)}\n`)) await once(stdout, 'drain')
    },
    warn: (...texts) =>
      texts.length === 0
        ? undefined
        : void (stdout.write(cleared()), stderr.write(`${wrappedFor(stderr, ...texts.map(cleanError))}\n`)),
    passing(line) {
      if (!live) return line === null ? undefined : void stdout.write(`${clean(line)}\n`)
      stdout.write(cleared() + clean(line ?? ''))
      passing = line !== null
    },
    interactive,
    live,
    get columns() {
      return interactive ? stdout.columns || 80 : Infinity
    },
    get rows() {
      return stdout.rows || 24
    },
    style: styleOf(interactive && coloured),
    errorStyle: styleOf(stderr.isTTY === true && coloured),
    symbols: symbolsOf({ utf8, turning: interactive && coloured }),
  }
}
