// Screen: where a command prints, and what the output can do. Only this file writes to stdout and stderr.
// S1. Colours and spinners are used only on a terminal, and not with NO_COLOR or --no-color.
// S2. A closed pipe is an end, not an error.
import { once } from 'node:events'
import { type Style, styleOf, type Symbols, symbolsOf } from './text/style.ts'

export interface Screen {
  /** Writes lines to stdout. */
  print(...lines: readonly string[]): void
  /** Writes one line of JSON to stdout. */
  json(value: unknown): void
  /** Writes text unchanged to stdout. */
  raw(text: string): void
  /** Writes text unchanged to stdout. Resolves when the reader has room for more. */
  paced(text: string): Promise<void>
  /** Shows a line until something else is printed. If the output is no terminal, it is an ordinary line, printed once. `null` removes it. */
  passing(line: string | null): void
  /** Writes lines to stderr. */
  warn(...lines: readonly string[]): void
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

export function screenOf(options: { colour: boolean; env?: NodeJS.ProcessEnv } = { colour: true }): Screen {
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
  return {
    print: (...lines) => void stdout.write(`${cleared()}${lines.join('\n')}\n`),
    json: (value) => void stdout.write(`${JSON.stringify(value)}\n`),
    raw: (text) => void stdout.write(cleared() + text),
    async paced(text) {
      if (!stdout.write(cleared() + text)) await once(stdout, 'drain')
    },
    warn: (...lines) => void (stdout.write(cleared()), stderr.write(`${lines.join('\n')}\n`)),
    passing(line) {
      if (!live) return line === null ? undefined : void stdout.write(`${line}\n`)
      stdout.write(cleared() + (line ?? ''))
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
