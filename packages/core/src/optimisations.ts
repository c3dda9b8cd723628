// The switches with which a benchmark replaces an optimisation by plain code
// (docs/explanation/optimisations.md). The entry point sets them once, before any code reads them, because
// packages read no environment variables. A switch changes the cost of a task, never its result.
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
