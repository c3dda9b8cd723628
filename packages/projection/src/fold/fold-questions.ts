// Folds what a running call asked a person, and the answers. As with approvals, a question belongs to the
// run's newest open call of that id. Without such a call it changes nothing.
import type { DataOf } from '@beaver/core'
import type { HeldTask } from './batch.ts'
import type { Place } from './fold.ts'
import { runStatusOfCalls } from './fold-calls.ts'

export function questionAsked(
  task: HeldTask,
  at: Place,
  { call_id, question_index, question }: DataOf<'question_asked'>,
): void {
  const call = task.openCall(at.runId, call_id)
  if (call === undefined) return
  call.asking_taskseq = at.taskseq
  task.sql.run(
    `insert or ignore into questions (task_key, taskseq, run_id, asked_taskseq, call_index, call_id, tool, question_index, question, asked_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      task.key,
      at.taskseq,
      at.runId,
      call.asked_taskseq,
      call.call_index,
      call_id,
      call.tool,
      question_index,
      JSON.stringify(question),
      at.time,
    ],
  )
  runStatusOfCalls(task, at)
}

export function questionAnswered(
  task: HeldTask,
  at: Place,
  { call_id, answer, by, user_id, reason }: DataOf<'question_answered'>,
): void {
  const call = task.openCall(at.runId, call_id)
  if (call === undefined || call.asking_taskseq === null) return
  const said =
    answer.answers?.join('\n') ?? (answer.content === undefined ? null : JSON.stringify(answer.content))
  task.sql.run(
    'update questions set action = ?, answer = ?, answered_by = ?, answered_for = ?, reason = ?, answered_at = ? where task_key = ? and taskseq = ?',
    [answer.action, said, by, user_id ?? null, reason ?? null, at.time, task.key, call.asking_taskseq],
  )
  call.asking_taskseq = null
  runStatusOfCalls(task, at)
}
