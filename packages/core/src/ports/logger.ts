// The Logger port: what operators read. One fact a call; the journal stays the record of what happened.
// Where the lines go belongs to the adapter (@beaver/platform); which facts there are stands in ../log/facts.ts.
// L1. A call never throws and never waits. L2. An adapter hides secrets: a caller may pass a text that others wrote.
// L3. `event` is a constant in snake_case, so that lines can be searched by it; what varies stands in the fields.
import type { JsonValue } from '../json.ts'

/** From the least to the most important. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

/** What a line tells besides its message. `undefined` leaves a field out. Names are those of the wire: `task_id`, `run_id`. */
export interface LogFields {
  readonly tenant?: string | undefined
  readonly session_id?: string | undefined
  readonly task_id?: string | undefined
  readonly run_id?: string | undefined
  readonly node_id?: string | undefined
  /** Which daemon the fact is about. */
  readonly daemon?: string | undefined
  readonly [field: string]: JsonValue | undefined
}

export interface Logger {
  /** @param message one sentence in plain English, without a name that stands in the fields already */
  debug(event: string, message: string, fields?: LogFields): void
  info(event: string, message: string, fields?: LogFields): void
  warn(event: string, message: string, fields?: LogFields): void
  error(event: string, message: string, fields?: LogFields): void
  /** The same logger with fields that stand in every line; those of a call win. */
  with(fields: LogFields): Logger
}

/** One fact as an adapter gets it. */
export interface LogLine {
  readonly level: LogLevel
  readonly event: string
  readonly message: string
  readonly fields: LogFields
}

/** A logger over a function that takes each line of at least `level`. What `write` throws is dropped (L1). */
export function loggerOver(write: (line: LogLine) => void, level: LogLevel = 'debug', common: LogFields = {}): Logger {
  const least = logLevels.indexOf(level)
  const at =
    (of: LogLevel) =>
    (event: string, message: string, fields?: LogFields): void => {
      if (logLevels.indexOf(of) < least) return
      try {
        write({ level: of, event, message, fields: fields === undefined ? common : { ...common, ...fields } })
      } catch {
        // A log that cannot be written stops nobody's work.
      }
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => loggerOver(write, level, { ...common, ...fields }),
  }
}

/** Says nothing. The default where a program gives no logger. */
export const silentLogger: Logger = loggerOver(() => {})
