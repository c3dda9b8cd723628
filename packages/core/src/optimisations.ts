// The switches of the optimisations. Each optimisation can be replaced by plain code, so that a benchmark can
// measure its effect. docs/explanation/optimisations.md says what each does, where it is and what it brought.
// Only a benchmark switches one off. A switch is set once, when a process or a worker thread starts, before
// any code reads it. The entry point of the process sets it, because packages read no environment variables.
// A task has the same result with and without an optimisation. Only the cost differs.
import { BeaverError } from './errors.ts'

/** The names of the optimisations. */
export const optimisations = [
  'batch_scheduling',
  'batched_posts',
  'group_commit',
  'held_events',
  'pure_tools_ahead',
  'v8_flags',
] as const
/** The name of an optimisation. */
export type Optimisation = (typeof optimisations)[number]

let off: ReadonlySet<string> = new Set()

/**
 * Switches the named optimisations off in this thread, and all others on.
 *
 * @param names the value of the environment variable BEAVER_SWITCH_OFF: names separated by commas; empty or
 * absent: all are on
 * @throws {BeaverError} `invalid_configuration` if a name is unknown
 * @example
 * switchOff('v8_flags')
 * isOn('v8_flags') // => false
 * switchOff(undefined)
 * isOn('v8_flags') // => true
 * switchOff('speed') // throws invalid_configuration
 */
export function switchOff(names: string | undefined): void {
  const wanted = (names ?? '').split(',').map((name) => name.trim())
  const unknown = wanted.find((name) => name !== '' && !optimisations.some((each) => each === name))
  if (unknown !== undefined)
    throw new BeaverError(
      'invalid_configuration',
      `BEAVER_SWITCH_OFF names ${JSON.stringify(unknown)}. The optimisations are ${optimisations.join(', ')}.`,
    )
  off = new Set(wanted)
}

/**
 * Whether an optimisation is on.
 *
 * @example
 * isOn('v8_flags') // => true
 */
export const isOn = (optimisation: Optimisation): boolean => !off.has(optimisation)
