// Every fold has one shape: `evolve(state, event, at) → state`. `evolveRun` is pure. `evolveTask` and
// `evolveTeam` change and return the state that they get: a log may contain thousands of runs, and a copy of
// their map for each event would take quadratic time.

/** The place of an event, as far as a state depends on it. */
export interface EventPlace {
  /** The position in the log of the task, from 1. */
  readonly taskseq: number
  /** The time by the task's own clock, in milliseconds. */
  readonly clockMs: number
}
