// The clock of one task. It runs while a daemon drives the task, and continues from the time that the journal
// gives (task-state.ts in core).
import type { Clock } from '@beaver/core'

export type TaskClock = Clock

/** @param clockMs the task's clock when it was claimed */
export function taskClock(clock: Clock, clockMs: number): TaskClock {
  const begun = clock.now()
  return {
    now: () => clockMs + Math.max(0, clock.now() - begun),
    after: (delayMs, act) => clock.after(delayMs, act),
  }
}
