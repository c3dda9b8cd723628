// The port Logger on standard error: one JSON line a fact, or, on a terminal, a line for people.
// Which facts there are belongs to @beaver/core; who reads the file belongs to the command line.
// S1. One fact is one line, however its text breaks. S2. No secret this process knows leaves it. S3. A line is written when the
//     call returns, so that what a process says before it is killed is there. S4. A line has a bound: a long text is cut.
import { writeSync } from 'node:fs'
import { styleText } from 'node:util'
import { type Clock, hideSecrets, type JsonValue, type LogLevel, type Logger, loggerOver, type LogLine, systemClock } from '@beaver/core'

export interface StderrLoggerOptions {
  /** Default: `info`. */
  readonly level?: LogLevel
  /** Keys, tokens and passwords that no line may show. */
  readonly secrets?: readonly string[]
  /** Lines for people; default: whether standard error is a terminal. */
  readonly pretty?: boolean
  readonly clock?: Clock
  /** Takes the finished line; default: standard error. */
  readonly write?: (line: string) => void
}

/** Of a text in a line; of a stack too. */
const charactersMax = 2_000

export function stderrLogger(options: StderrLoggerOptions = {}): Logger {
  const { level = 'info', secrets = [], pretty = process.stderr.isTTY === true, clock = systemClock, write = toStderr } = options
  const clean = hideSecrets(secrets)
  const form = pretty ? prettyLine : jsonLine
  return loggerOver((line) => write(`${clean(form(new Date(clock.now()).toISOString(), line))}\n`), level)
}

function jsonLine(time: string, { level, event, message, fields }: LogLine): string {
  const { time: _time, level: _level, event: _event, message: _message, ...rest } = fields
  return JSON.stringify({ time, level, event, message, ...rest }, (_, value: unknown) => (typeof value === 'string' ? cut(value) : value))
}

const paint = { debug: 'gray', info: 'cyan', warn: 'yellow', error: 'red' } as const

/** `12:00:00.000 warn  The task is failed: …  task_ended task_id=t` */
function prettyLine(time: string, { level, event, message, fields }: LogLine): string {
  const told = Object.entries(fields).flatMap(([name, value]) => (value === undefined || name === 'stack' ? [] : [`${name}=${shown(value)}`]))
  const [head, tail] = [`${time.slice(11, 23)} `, `  ${[event, ...told].join(' ')}`]
  const text = cut(message).replace(/\s+/g, ' ')
  return styled('gray', head) + styled(paint[level], level.padEnd(5)) + ` ${text}` + styled('gray', tail)
}

const shown = (value: JsonValue): string => {
  const text = typeof value === 'string' ? cut(value) : JSON.stringify(value)
  return /^[\w.:/@+-]*$/.test(text) ? text : JSON.stringify(text)
}

const styled = (format: 'gray' | 'cyan' | 'yellow' | 'red', text: string): string => styleText(format, text, { stream: process.stderr })

const cut = (text: string): string => (text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text)

/** At once, from any thread. A terminal or a pipe that is full for a moment takes the rest through the stream. */
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
