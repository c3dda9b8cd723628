// The port Logger on standard error: each fact is one JSON line or, on a terminal, one line for people;
// @beaver/core defines the facts. No secret that this process knows leaves it. A line is written before the
// call returns, so that it survives a kill; only what a full terminal or pipe does not take is written later.
// Hidden characters are escaped, so that no text controls a terminal. A text is cut at `charactersMax`
// characters, except inside arrays and objects of a line for people.
import { writeSync } from 'node:fs'
import { styleText } from 'node:util'
import {
  type Clock,
  type JsonValue,
  type LogLevel,
  type Logger,
  loggerOver,
  type LogLine,
  safeJson,
  systemClock,
  visible,
} from '@beaver/core'
import { hideSecrets, type KnownSecret } from '@beaver/core/secrets'

export interface StderrLoggerOptions {
  /** Default: `info`. */
  readonly level?: LogLevel
  /** The keys, tokens and passwords that no line may show. */
  readonly secrets?: readonly KnownSecret[]
  /** Whether to write lines for people. Default: true if standard error is a terminal. */
  readonly pretty?: boolean
  readonly clock?: Clock
  /** Takes the finished line. Default: writes it to standard error. */
  readonly write?: (line: string) => void
}

/** The bound of a text in a line, and of a stack. */
const charactersMax = 2_000

export function stderrLogger(options: StderrLoggerOptions = {}): Logger {
  const {
    level = 'info',
    secrets = [],
    pretty = process.stderr.isTTY === true,
    clock = systemClock,
    write = toStderr,
  } = options
  const clean = hideSecrets(secrets)
  const form = pretty ? prettyLine : jsonLine
  return loggerOver((line) => write(`${clean(form(new Date(clock.now()).toISOString(), line))}\n`), level)
}

function jsonLine(time: string, { level, event, message, fields }: LogLine): string {
  const { time: _time, level: _level, event: _event, message: _message, ...rest } = fields
  return safeJson(
    JSON.stringify({ time, level, event, message, ...rest }, (_, value: unknown) =>
      typeof value === 'string' ? cut(value) : value,
    ),
  )
}

const paint = { debug: 'gray', info: 'cyan', warn: 'yellow', error: 'red' } as const

/** `12:00:00.000 warn  The task is failed: …  task_ended task_id=t` */
function prettyLine(time: string, { level, event, message, fields }: LogLine): string {
  const shownFields = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined || name === 'stack' ? [] : [`${name}=${shown(value)}`],
  )
  const [head, tail] = [`${time.slice(11, 23)} `, `  ${[event, ...shownFields].join(' ')}`]
  const text = visible(cut(message).replace(/\s+/g, ' '))
  return styled('gray', head) + styled(paint[level], level.padEnd(5)) + ` ${text}` + styled('gray', tail)
}

const shown = (value: JsonValue): string => {
  const text = typeof value === 'string' ? cut(value) : JSON.stringify(value)
  return /^[\w.:/@+-]*$/.test(text) ? text : visible(JSON.stringify(text))
}

const styled = (format: 'gray' | 'cyan' | 'yellow' | 'red', text: string): string =>
  styleText(format, text, { stream: process.stderr })

const cut = (text: string): string =>
  text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text

/**
 * Writes at once, from any thread. If a terminal or a pipe is full for a moment, the rest goes through the
 * stream.
 */
function toStderr(line: string): void {
  const bytes = Buffer.from(line)
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(2, bytes, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') process.stderr.write(bytes.subarray(written))
      return
    }
  }
}
