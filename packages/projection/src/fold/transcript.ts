// Writes the visible transcript, without hidden events (prompts, skill bodies); its index is in
// text-index.ts. The task itself supplies what no root run says: the texts of a workflow task, and an answer
// that no model gave. Failures are in it too, once each: `search` finds them, and agents do not read them
// (query-session-search.ts). A text that a retry copied is not added again. The first `indexedCharsMax`
// characters of a text are searchable; the whole text is in `events`.
import { type DataOf, foldedText, type TaskResult } from '@beaver/core'
import type { Failure } from '@beaver/core/supervision'
import { clip } from '@beaver/core/task-view'
import type { HeldTask, Place } from './batch.ts'
import { tables } from '../store/schema.ts'
import { insert } from '../store/table.ts'

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
export function taskAnswered(
  task: HeldTask,
  at: Place,
  { final_output: text }: Pick<TaskResult, 'final_output'>,
): void {
  if (text !== task.run(task.row.root_run_id)?.output) add(task, at, { role: 'assistant', name: null, text })
}

/** A failed run, except a node's: its node reports that failure. */
export function runFailure(task: HeldTask, at: Place, failure: Failure): void {
  if ((task.run(at.runId)?.node_id ?? null) === null) addFailure(task, at, null, failure)
}

export function nodeFailure(
  task: HeldTask,
  at: Place,
  { node_id, failure, run_id }: DataOf<'node_failed'>,
): void {
  addFailure(task, { ...at, runId: run_id ?? at.runId }, node_id, failure)
}

/** A task that failed for the reason for which its root run failed says nothing new. */
export function taskFailure(task: HeldTask, at: Place, failure: Failure): void {
  const root = task.row.root_run_id === null ? undefined : task.run(task.row.root_run_id)
  if (root?.failure_message !== failure.message) addFailure(task, at, null, failure)
}

function addFailure(task: HeldTask, at: Place, name: string | null, failure: Failure): void {
  if (failure.class !== 'cancelled')
    add(task, at, { role: 'failure', name, text: `${failure.class}: ${failure.message}` })
}

function add(
  { sql, key, row }: HeldTask,
  at: Place,
  message: { role: 'user' | 'assistant' | 'tool' | 'failure'; name: string | null; text: string },
): void {
  if (at.taskseq <= row.copied_to) return
  // A NUL would end the text for SQLite's own string functions.
  const text = clip(message.text.replaceAll('\0', '\uFFFD'), indexedCharsMax)
  if (text.trim() === '') return
  const folded = foldedText(text)
  insert(sql, tables.transcript, {
    task_key: key,
    taskseq: at.taskseq,
    run_id: at.runId,
    role: message.role,
    name: message.name,
    text,
    folded: folded === text ? null : folded,
  })
}
