// The switches of the optimisations: each can be replaced by the plain way, so that a bench measures what it brings.
// What each one does, where it lives and what it brought: docs/explanation/optimisations.md. Nobody but a bench switches one off.
// S1. A switch is set once, when a process or a worker thread starts, before anything asks for it. The entry of the process does it:
//     packages read no environment. S2. A task has the same result either way; only its cost differs.
import { BeaverError } from './errors.ts'

export const optimisations = [
  'batch_scheduling',
  'batched_posts',
  'group_commit',
  'held_events',
  'pure_tools_ahead',
  'tool_text',
  'transient_map',
  'v8_flags',
] as const
export type Optimisation = (typeof optimisations)[number]

let off: ReadonlySet<string> = new Set()

/**
 * Has the plain way take the place of the named optimisations, in this thread.
 * @param names the value of the environment variable BEAVER_SWITCH_OFF: names separated by commas; empty or absent: all are on
 * @throws {BeaverError} `invalid_configuration` when there is no optimisation of a name
 */
export function switchOff(names: string | undefined): void {
  const wanted = (names ?? '').split(',').map((name) => name.trim())
  const unknown = wanted.find((name) => name !== '' && !optimisations.some((each) => each === name))
  if (unknown !== undefined)
    throw new BeaverError('invalid_configuration', `BEAVER_SWITCH_OFF names ${JSON.stringify(unknown)}. The optimisations are ${optimisations.join(', ')}.`)
  off = new Set(wanted)
}

export const isOn = (optimisation: Optimisation): boolean => !off.has(optimisation)
