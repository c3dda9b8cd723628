// The entry of a command in the table: its place in the help, its options and the function that runs it. The
// code of a command is loaded only when it runs.
import type { TaskStatusFilter } from '@beaver/contracts'
import { type Command, Option } from 'commander'
import type { GlobalOptions } from '../context.ts'
import { sinceWhen } from '../commands/since-when.ts'
import { UsageError } from '../failures.ts'

/** Runs a command, and resolves with its exit code. */
export type Run = (globals: GlobalOptions) => Promise<number>

/**
 * The entry of one command. `build` defines arguments and options; the command passes to `run` what it does.
 */
export interface CommandSpec {
  readonly name: string
  /** The command with its arguments, as the help shows it. */
  readonly usage: string
  readonly group: 'Work' | 'Look' | 'System'
  readonly says: string
  readonly example: string
  readonly more?: string
  /** Whether the overview leaves the command out, because services type it and people do not. */
  readonly hidden?: true
  build(command: Command, run: (act: Run) => void): void
}

/** The option `--json`; `what` is its text in the help. */
export const json = (what: string): Option => new Option('--json', what)
export const before = (): Option =>
  new Option(
    '--before <place>',
    'the next page: the place that the page before names (default: the newest)',
  ).argParser(placeOf('--before'))
export const after = (): Option =>
  new Option(
    '--after <place>',
    'only events after this place in the log (default: from the first on)',
  ).argParser(placeOf('--after'))
const timeOption = (name: '--since' | '--until', says: string): Option =>
  new Option(`${name} <when>`, says).argParser((text: string) => sinceWhen(text, Date.now(), name))
/** The options `--since` and `--until`; `what` is what they narrow, such as "only tasks submitted". */
export const since = (what: string): Option =>
  timeOption('--since', `${what} since then: 30m, 2h, 7d or a time (default: all)`)
export const until = (what: string): Option => timeOption('--until', `${what} before then (default: all)`)
/** The same for whole days. */
export const sinceDay = (says: string): Option => timeOption('--since', says)
export const untilDay = (says: string): Option => timeOption('--until', says)
/** The option `--status` for tasks. */
export const taskStatus = (usual: string): Option =>
  new Option('--status <status>', `only tasks in this state (default: ${usual})`).choices(statuses)
const statuses: readonly TaskStatusFilter[] = [
  'open',
  'submitted',
  'running',
  'waiting',
  'waiting_for_person',
  'waiting_for_approval',
  'waiting_for_answer',
  'waiting_for_client',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
  'quarantined',
]
/** The option `--limit`; `what` names the rows in the help, and `max` is the largest value. */
export const limit = (what: string, max = 1_000_000): Option =>
  new Option('--limit <n>', `at most this many ${what}`).argParser(wholeNumber(max))

// Reads options that are whole numbers.

/**
 * Reads the number of a message in the journal.
 *
 * @throws {UsageError}
 */
export function messageNumber(text: string): number {
  const n = Number(text)
  if (Number.isSafeInteger(n) && n > 0) return n
  throw new UsageError(
    `${JSON.stringify(text)} is not the number of a message. "beaver quarantine" lists the messages with their numbers.`,
  )
}

/**
 * Reads `--limit`: from 1 to `max`.
 *
 * @throws {UsageError}
 */
function wholeNumber(max: number): (text: string) => number {
  return (text) => {
    const n = Number(text)
    if (!Number.isInteger(n) || n < 1 || n > max)
      throw new UsageError(
        `The option --limit needs a whole number from 1 to ${max}, not ${JSON.stringify(text)}.`,
      )
    return n
  }
}

/**
 * Reads an option that is an amount: 0 or more.
 *
 * @throws {UsageError}
 */
export const amount =
  (option: string) =>
  (text: string): number => {
    const n = Number(text)
    if (text.trim() !== '' && Number.isFinite(n) && n >= 0) return n
    throw new UsageError(`The option ${option} needs a number from 0 on, not ${JSON.stringify(text)}.`)
  }

/**
 * Reads a place: where the previous page ended, or where the log is read from.
 *
 * @throws {UsageError}
 */
function placeOf(option: '--before' | '--after'): (text: string) => number {
  const which = option === '--before' ? 'the place that the page before names' : 'the number of an event'
  return (text) => {
    const n = Number(text)
    if (text.trim() !== '' && Number.isSafeInteger(n) && n >= 0) return n
    throw new UsageError(`The option ${option} needs ${which}, not ${JSON.stringify(text)}.`)
  }
}

/**
 * Reads `--port`: from 0 to 65535.
 *
 * @throws {UsageError}
 */
export function portNumber(text: string): number {
  const n = Number(text)
  if (!Number.isInteger(n) || n < 0 || n > 65_535)
    throw new UsageError(
      `The option --port needs a whole number from 0 to 65535, not ${JSON.stringify(text)}.`,
    )
  return n
}
