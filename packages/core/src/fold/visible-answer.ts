// What a session shows as the answer of a task that ended: its output, else in one line why there is none (AL-12). Pure.
// V1. The reason is marked and never stands beside an output: nobody takes it for one (D-34). V2. It is bounded.
import type { TaskResult } from '../events/catalog.ts'

const reasonCharsMax = 1_000

/** Empty: there is nothing to show. */
export function visibleAnswer({ final_output, failure }: Pick<TaskResult, 'final_output' | 'failure'>): string {
  if (final_output !== '' || failure === null) return final_output
  const { message } = failure
  return `[No answer: ${message.length > reasonCharsMax ? `${message.slice(0, reasonCharsMax)}…` : message}]`.toWellFormed()
}
