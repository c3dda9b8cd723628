// Screen: where a command prints, and what the output can do. Only this file writes to stdout and stderr.
// Colours and spinners are used only on a terminal, and not with NO_COLOR or --no-color. A closed pipe is an
// end, not an error. Nothing that a terminal obeys leaves this file, except Beaver's own styles and the
// frames of the live view. What goes to a pipe or a file is cleaned, too, unless the person says --raw. JSON
// keeps every character, as an escape.
import { safeJson } from '@beaver/core'
import { once } from 'node:events'
import { plainText, styledText } from './text/plain-text.ts'
import { type Style, styleOf, type Symbols, symbolsOf } from './text/style.ts'
import { wrappedFor } from './text/wrap-screen.ts'

export interface Screen {
  /** Writes texts of one or more lines to stdout. On a terminal the lines are broken between words. */
  print(...texts: readonly string[]): void
  /** Writes one line of JSON to stdout. */
  json(value: unknown): void
  /** Writes text to stdout as it is, without a line end of its own. */
  write(text: string): void
  /** Moves the cursor of the terminal by Beaver's own sequences, and then writes the text, in one write. */
  control(sequences: string, text?: string): void
  /** Writes one line of JSON to stdout. Resolves when the reader has room for more. */
  paced(json: string): Promise<void>
  /**
   * Shows a line until something else is printed. If the output is no terminal, it is an ordinary line,
   * printed once. `null` removes it.
   */
  passing(line: string | null): void
  /** The same to stderr. */
  warn(...texts: readonly string[]): void
  /** Whether stdout is a terminal that can move its cursor. */
  readonly live: boolean
  /** Whether stdout is a terminal. */
  readonly interactive: boolean
  /** The columns of the terminal. `Infinity` if stdout is no terminal, so that nothing is cut. */
  readonly columns: number
  readonly rows: number
  readonly style: Style
  /** The style for stderr. */
  readonly errorStyle: Style
  readonly symbols: Symbols
}

/** @param options `raw`: output that goes to a pipe or a file is not cleaned */
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
    json: (value) => void stdout.write(`${safeJson(JSON.stringify(value))}\n`),
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
