// What a session shows as the answer of an ended task: its output, or one line that says why there is none
// (AL-12). Pure. The reason is marked and never appears together with an output, so that nobody takes it for
// an output (D-34). The reason is bounded.
import type { TaskResult } from '../events/catalog.ts'

const reasonCharsMax = 1_000

/**
 * The answer of a task. It is empty if there is nothing to show.
 *
 * @example
 * visibleAnswer({ final_output: '42', failure: null }) // => '42'
 * const failure = { class: 'provider_refused', message: 'The key was refused.' } as const
 * visibleAnswer({ final_output: '', failure }) // => '[No answer: The key was refused.]'
 */
export function visibleAnswer({
  final_output,
  failure,
}: Pick<TaskResult, 'final_output' | 'failure'>): string {
  if (final_output !== '' || failure === null) return final_output
  const { message } = failure
  return `[No answer: ${message.length > reasonCharsMax ? `${message.slice(0, reasonCharsMax)}…` : message}]`.toWellFormed()
}
