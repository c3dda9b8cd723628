// The Logger port: what operators read (../log/facts.ts). The journal remains the record of what happened,
// and @beaver/platform decides where lines are written.
// L1. A call never throws and never waits, and is one fact. An adapter hides secrets, because a caller may
// pass text that others wrote. `event` is a constant in snake_case for searches; what varies is in the
// fields.
import type { JsonValue } from '../json.ts'

/** The levels, from the least to the most important. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const
/** How important a line is. */
export type LogLevel = (typeof logLevels)[number]

/**
 * What a line contains besides its message. A field that is `undefined` is left out. Names are those of the
 * wire: `task_id`, `run_id`.
 */
export interface LogFields {
  readonly tenant?: string | undefined
  readonly session_id?: string | undefined
  readonly task_id?: string | undefined
  readonly run_id?: string | undefined
  readonly node_id?: string | undefined
  /** The daemon that the fact is about. */
  readonly daemon?: string | undefined
  readonly [field: string]: JsonValue | undefined
}

/**
 * A logger.
 *
 * @example
 * const lines: LogLine[] = []
 * const logger = loggerOver((line) => lines.push(line)).with({ daemon: 'daemon_01k' })
 * logger.info('task_claimed', 'The daemon drives the task now.', { task_id: 'task_1' })
 * lines[0]?.fields // => { daemon: 'daemon_01k', task_id: 'task_1' }
 */
export interface Logger {
  /** @param message one sentence in plain English; it does not repeat a name that is in the fields */
  debug(event: string, message: string, fields?: LogFields): void
  info(event: string, message: string, fields?: LogFields): void
  warn(event: string, message: string, fields?: LogFields): void
  error(event: string, message: string, fields?: LogFields): void
  /** The same logger with fields that are added to every line. The fields of a call take precedence. */
  with(fields: LogFields): Logger
}

/** One fact, as an adapter gets it. */
export interface LogLine {
  readonly level: LogLevel
  readonly event: string
  readonly message: string
  readonly fields: LogFields
}

/**
 * A logger that gives each line of at least `level` to a function. Errors of `write` are dropped (L1).
 *
 * @example
 * const lines: string[] = []
 * const logger = loggerOver(({ message }) => lines.push(message), 'warn')
 * logger.info('task_claimed', 'The daemon drives the task now.')
 * logger.error('process_failed', 'The projector cannot go on.')
 * lines // => ['The projector cannot go on.']
 */
export function loggerOver(
  write: (line: LogLine) => void,
  level: LogLevel = 'debug',
  common: LogFields = {},
): Logger {
  const least = logLevels.indexOf(level)
  const at =
    (level: LogLevel) =>
    (event: string, message: string, fields?: LogFields): void => {
      if (logLevels.indexOf(level) < least) return
      try {
        write({
          level,
          event,
          message,
          fields: fields === undefined ? common : { ...common, ...fields },
        })
      } catch {
        // A line that cannot be written must not stop any work.
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

/** A logger that writes nothing. It is the default if a program gives no logger. */
export const silentLogger: Logger = loggerOver(() => {})
