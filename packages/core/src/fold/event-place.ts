// Every fold has one shape: `evolve(state, event, at) → state`. `evolveRun` is pure. `evolveTask` and `evolveTeam` consume the state
// they are given and return the same one: a log may hold thousands of runs, and copying their map for each event would be quadratic.

/** Where an event stands, as far as a state depends on it. */
export interface EventPlace {
  /** In its task's log, from 1. */
  readonly taskseq: number
  /** By the task's own clock, in milliseconds. */
  readonly clockMs: number
}
