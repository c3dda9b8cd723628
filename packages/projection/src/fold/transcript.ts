// Writes the visible transcript. Its full-text index is in text-index.ts. Hidden events (prompts, skill bodies) are never part of it.
// V1. A task that is a workflow has no root run that says what was asked and answered, so the task itself says it. The same holds for an answer
//     that no model gave: the reason of a failure, or the text of a team.
// V2. At most `indexedCharsMax` characters of a text are searchable. The whole text is in `events`.
import { clip, type DataOf, type TaskResult, visibleAnswer } from '@beaver/core'
import type { HeldTask } from './batch.ts'
import type { Place } from './fold.ts'
import { foldedText } from '../store/folded-text.ts'

const indexedCharsMax = 200_000

export function userMessage(task: HeldTask, at: Place, message: DataOf<'user_message_added'>): void {
  const run = task.run(at.runId)
  if (run !== undefined && run.ended_at === null) run.status = 'thinking'
  add(task, at, { role: 'user', name: null, text: message.content })
}

export function assistantMessage(task: HeldTask, at: Place, answer: DataOf<'assistant_message_added'>): void {
  if (answer.content !== null) add(task, at, { role: 'assistant', name: null, text: answer.content })
}

export function toolMessage(task: HeldTask, at: Place, result: DataOf<'tool_result_recorded'>): void {
  add(task, at, { role: 'tool', name: result.tool_name, text: result.content })
}

/** What was asked of a workflow. */
export function workflowAsked(task: HeldTask, at: Place, text: string): void {
  add(task, at, { role: 'user', name: null, text })
}

/** The answer of a task, unless its root run said it already. */
export function taskAnswered(task: HeldTask, at: Place, result: Pick<TaskResult, 'final_output' | 'failure'>): void {
  const text = visibleAnswer(result)
  if (text !== task.run(task.row.root_run_id)?.output) add(task, at, { role: 'assistant', name: null, text })
}

function add({ sql, key }: HeldTask, at: Place, said: { role: 'user' | 'assistant' | 'tool'; name: string | null; text: string }): void {
  // A NUL would end the text for SQLite's own string functions.
  const text = clip(said.text.replaceAll('\0', '\uFFFD'), indexedCharsMax)
  if (text.trim() === '') return
  const folded = foldedText(text)
  sql.run('insert into transcript (task_key, taskseq, run_id, role, name, text, folded) values (?, ?, ?, ?, ?, ?, ?)', [
    key,
    at.taskseq,
    at.runId,
    said.role,
    said.name,
    text,
    folded === text ? null : folded,
  ])
}
