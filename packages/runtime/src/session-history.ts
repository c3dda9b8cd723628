// The visible transcript of a session's earlier tasks, oldest first: what a root run of a later task continues from.
// H1. Only what was said: the request and the final answer, or why there is none (AL-12). H2. Bounded: the newest tasks that fit.
// H3. What one more task costs does not grow with the session: past-tasks.ts. H4. A task that was retried is told by its retry alone.
import type { ChatMessage, LogId, TaskId } from '@beaver/core'
import type { Workflow } from '@beaver/workflows'
import { type PastTasks, saidCharsMax, turnOf } from './past-tasks.ts'

const tasksMax = 20

export async function sessionHistory(log: LogId, previous: TaskId | null, past: PastTasks): Promise<readonly ChatMessage[]> {
  const exchanges: ChatMessage[][] = []
  const retried = new Set<TaskId>()
  let chars = 0
  for (let task = previous, read = 0; task !== null && read < tasksMax; read++) {
    const earlier = await past.read({ ...log, task })
    if (earlier === null) break
    if (earlier.retryOf !== null) retried.add(earlier.retryOf)
    const said = !retried.has(task)
    task = earlier.previous
    if (!said) continue
    chars += earlier.chars
    if (chars > saidCharsMax) break
    if (earlier.answered !== '')
      exchanges.unshift([
        { role: 'user', content: earlier.said },
        { role: 'assistant', content: earlier.answered },
      ])
  }
  return exchanges.flat()
}

const turnsMax = 1_000

/** How many earlier tasks of the session took a turn with this call's key (D-48). */
export async function earlierTurns(call: { log: LogId; previous: TaskId | null; workflow: Workflow; args: unknown }, past: PastTasks): Promise<number> {
  const { workflow, log } = call
  const key = workflow.turnKey?.(call.args) ?? null
  if (key === null) return 0
  let turns = 0
  for (let task = call.previous, read = 0; task !== null && read < turnsMax; read++) {
    const earlier = await past.read({ ...log, task })
    if (earlier === null) break
    // A retry takes no turn of its own.
    if (earlier.retryOf === null && earlier.turn === turnOf(workflow.name, key)) turns++
    task = earlier.previous
  }
  return turns
}
