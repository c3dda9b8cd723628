// Finds who was first, if a person in a chat decides or answers by a code that does not wait any more. A code
// counts only in its own chat, also afterwards.
import type { BeaverClient } from '@beaver/client'
import { alreadySettled, type BeaverError, isSettled } from '@beaver/core'
import { codeOf, questionCodeOf } from './message-ids.ts'

/** How many of the newest tasks of a chat are searched. */
const tasksMax = 10

/**
 * The refusal that names the decision or the answer, as the read model knows it.
 *
 * @returns `null` if the newest tasks of the chat have no such code that was decided or answered
 * @throws {BeaverError} the codes of a query
 */
export async function settledCode(
  client: Pick<BeaverClient, 'query'>,
  session: string,
  code: string,
): Promise<BeaverError | null> {
  const { tasks } = await client.query('tasks', { session_id: session, limit: tasksMax })
  for (const { task_id } of tasks) {
    const { approvals, questions = [] } = await client.query('task', { task_id })
    const call = approvals.find((each) => codeOf(each) === code)
    if (call !== undefined)
      return isSettled(call.state)
        ? alreadySettled({ ...call, call_id: code, state: call.state, time: call.decided_at })
        : null
    const asked = questions.find((each) => questionCodeOf({ ...each, index: each.question_index }) === code)
    if (asked !== undefined)
      return isSettled(asked.state)
        ? alreadySettled({ ...asked, call_id: code, state: asked.state, time: asked.answered_at })
        : null
  }
  return null
}
