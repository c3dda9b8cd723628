// The visible transcript of a session's earlier tasks, oldest first: what a root run of a later task continues from.
// H1. Only what was said: the request and the final answer. H2. Bounded: the newest tasks that fit.
import type { BlobStore, ChatMessage, Journal, LogId, TaskId } from '@beaver/core'
import type { Workflow } from '@beaver/workflows'
import { loadTask } from './load-task.ts'

const tasksMax = 20
const charsMax = 100_000

export async function sessionHistory(log: LogId, previous: TaskId | null, ports: { journal: Journal; blobs: BlobStore }): Promise<readonly ChatMessage[]> {
  const exchanges: ChatMessage[][] = []
  let chars = 0
  for (let task = previous, read = 0; task !== null && read < tasksMax; read++) {
    const { state } = await loadTask({ ...log, task }, ports)
    const said = state.submitted?.request.text ?? ''
    const answered = state.ended?.data.final_output ?? ''
    chars += said.length + answered.length
    if (chars > charsMax) break
    if (answered !== '')
      exchanges.unshift([
        { role: 'user', content: said },
        { role: 'assistant', content: answered },
      ])
    task = state.submitted?.previous_task_id ?? null
  }
  return exchanges.flat()
}

const turnsMax = 1_000

/** How many earlier tasks of the session took a turn with this call's key (D-48). */
export async function earlierTurns(
  call: { log: LogId; previous: TaskId | null; workflow: Workflow; args: unknown },
  ports: { journal: Journal; blobs: BlobStore },
): Promise<number> {
  const { workflow, log } = call
  const key = workflow.turnKey?.(call.args) ?? null
  if (key === null) return 0
  let turns = 0
  for (let task = call.previous, read = 0; task !== null && read < turnsMax; read++) {
    const { submitted } = (await loadTask({ ...log, task }, ports)).state
    const earlier = submitted?.request.workflow
    if (earlier?.name === workflow.name && workflow.turnKey?.(earlier.arguments) === key) turns++
    task = submitted?.previous_task_id ?? null
  }
  return turns
}
