// What the root run of a task is told about its session, and how many turns earlier tasks took. The cost of
// one more task does not grow with the session, because past-tasks.ts keeps what was read.
import {
  type ChatMessage,
  cleanTaint,
  joinTaints,
  type LogId,
  type Taint,
  type TaskId,
  visibleHistory,
} from '@beaver/core'
import type { Workflow } from '@beaver/workflows'
import { type PastTasks, turnOf } from './past-tasks.ts'

export interface SessionHistory {
  /** The visible transcript of the session's earlier tasks, oldest first. */
  readonly messages: readonly ChatMessage[]
  /** The labels of the answers in it. */
  readonly taint: Taint
}

/** @param of `previous`: the newest of the earlier tasks; `user`: for whom the task is */
export async function sessionHistory(
  log: LogId,
  { previous, user }: { readonly previous: TaskId | null; readonly user: string | null },
  past: PastTasks,
): Promise<SessionHistory> {
  if (previous !== null) await past.refresh()
  const exchanges = await visibleHistory(previous, (task) => past.read({ ...log, task }), { user })
  const messages = exchanges.flatMap(({ given = [], said, answered }): ChatMessage[] => [
    ...given,
    { role: 'user', content: said },
    { role: 'assistant', content: answered },
  ])
  const taint = joinTaints(exchanges.map((each) => each.taint ?? cleanTaint))
  return { messages, taint: messages.length === 0 ? taint : { ...taint, public: false } }
}

const turnsMax = 1_000

/** How many earlier tasks of the session took a turn with this call's key (D-48). */
export async function earlierTurns(
  call: { log: LogId; previous: TaskId | null; workflow: Workflow; args: unknown },
  past: PastTasks,
): Promise<number> {
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
