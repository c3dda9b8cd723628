// What a command is for the table: its place in the help, its options and what it runs. The code of a command
// is loaded when it runs.
import { type Command, Option } from 'commander'
import type { GlobalOptions } from '../context.ts'
import { place, wholeNumber } from '../number-options.ts'

export type Run = (globals: GlobalOptions) => Promise<number>

export interface CommandSpec {
  readonly name: string
  /** The command with its arguments, in the form of the help. */
  readonly usage: string
  readonly group: 'Work' | 'Look' | 'System'
  readonly says: string
  readonly example: string
  readonly more?: string
  build(command: Command, run: (act: Run) => void): void
}

export const json = (what: string): Option => new Option('--json', what)
export const before = (): Option =>
  new Option(
    '--before <place>',
    'the next page: the place that the page before names (default: the newest)',
  ).argParser(place)
export const limit = (what: string, max = 1_000_000): Option =>
  new Option('--limit <n>', `at most this many ${what}`).argParser(wholeNumber(max))
