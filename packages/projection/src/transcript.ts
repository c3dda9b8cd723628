// The visible transcript and its full-text index. Hidden events (prompts, skill bodies) never come here.
// V1. A row and its index entry are written together, so that the index answers for every row.
// V2. At most `indexedCharsMax` of a text are searchable; the whole text is in `events`.
import type { DataOf } from '@beaver/core'
import type { Place } from './fold.ts'
import type { Sql } from './sql.ts'
import { clip } from './text.ts'

const indexedCharsMax = 200_000

export function userMessage(sql: Sql, at: Place, message: DataOf<'user_message_added'>): void {
  sql.run("update runs set status = 'thinking' where task_key = ? and run_id = ? and ended_at is null", [at.taskKey, at.runId])
  add(sql, at, { role: 'user', name: null, text: message.content })
}

export function assistantMessage(sql: Sql, at: Place, answer: DataOf<'assistant_message_added'>): void {
  if (answer.content !== null) add(sql, at, { role: 'assistant', name: null, text: answer.content })
}

export function toolMessage(sql: Sql, at: Place, result: DataOf<'tool_result_recorded'>): void {
  add(sql, at, { role: 'tool', name: result.tool_name, text: result.content })
}

function add(sql: Sql, at: Place, said: { role: 'user' | 'assistant' | 'tool'; name: string | null; text: string }): void {
  // A NUL would end the text for SQLite's own string functions.
  const text = clip(said.text.replaceAll('\0', '\uFFFD'), indexedCharsMax)
  if (text.trim() === '') return
  const row = sql.one<{ position: number }>(
    'insert into transcript (task_key, taskseq, run_id, role, name, text) values (?, ?, ?, ?, ?, ?) returning position',
    [at.taskKey, at.taskseq, at.runId, said.role, said.name, text],
  )
  sql.run('insert into transcript_fts (rowid, text) values (?, ?)', [row.position, text])
}
