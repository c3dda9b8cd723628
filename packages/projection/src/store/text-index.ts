// The full-text indexes. That of the transcript covers every text up to `position` and none after it. That of
// the tasks, by whose words a list finds them, covers all tasks but those in `unindexed_tasks`. Indexing a
// text costs many times more than storing it, so a read model that catches up stores first and indexes when
// it has time; until then queries read the other texts directly, with the same result. How far an index goes
// depends on the available time and not on the journal alone.
import { foldedText } from '@beaver/core'
import { clip } from '@beaver/core/task-view'
import { type TaskRow, textIndex } from './schema.ts'
import type { Sql } from './sql.ts'
import { put } from './table.ts'

/** The position of the last indexed text. */
export function indexedTo(sql: Sql): number {
  return sql.get<{ position: number }>('select position from text_index')?.position ?? 0
}

/** The position of the last text. */
export function lastText(sql: Sql): number {
  return (
    sql.get<{ position: number | null }>('select max(position) as position from transcript')?.position ?? 0
  )
}

/** How many tasks are not indexed. Counting stops at `max`. */
export const unindexedTasksOf = (sql: Sql, max: number): number =>
  sql.one<{ n: number }>('select count(*) as n from (select 1 from unindexed_tasks limit ?)', [max]).n

/** Indexes at most `max` further texts and tasks, and returns their number. The caller opens a transaction. */
export function indexTexts(sql: Sql, max: number): number {
  const texts = indexTranscript(sql, max)
  return texts + indexTasks(sql, max - texts)
}

function indexTranscript(sql: Sql, textsMax: number): number {
  const from = indexedTo(sql)
  // Not `insert … select … returning`: with such a statement, SQLite writes the whole index for each text.
  const rows = sql.all<{ position: number; text: string; owner: string }>(
    'select position, text, owner from searched_texts where position > ? order by position limit ?',
    [from, textsMax],
  )
  for (const { position, text, owner } of rows)
    sql.run('insert into transcript_fts (rowid, text, owner) values (?, ?, ?)', [position, text, owner])
  const last = rows.at(-1)
  if (last !== undefined) put(sql, textIndex, { position: last.position })
  return rows.length
}

type Words = Pick<TaskRow, 'task_id' | 'title' | 'text' | 'failure_message'>

function indexTasks(sql: Sql, tasksMax: number): number {
  const rows = sql.all<Words & { task_key: number; owner: string }>(
    `select task_key, task_id, title, text, failure_message,
       '<' || coalesce((select min(first.task_key) from tasks as first where first.user_id = tasks.user_id), 0) || '>' as owner
     from unindexed_tasks join tasks using (task_key) order by task_key limit ?`,
    [tasksMax],
  )
  for (const row of rows) {
    const { task_key: key, owner } = row
    const values = [key, searchedText(row), owner]
    sql.run('insert or replace into tasks_fts (rowid, text, owner) values (?, ?, ?)', values)
    sql.run('delete from unindexed_tasks where task_key = ?', [key])
  }
  return rows.length
}

const requestCharsMax = 10_000
const failureCharsMax = 2_000

/** The text by whose words a list finds a task, without accents. */
export const searchedText = ({ task_id: id, title, text, failure_message: failure }: Words): string =>
  foldedText(
    [id, title ?? '', clip(text ?? '', requestCharsMax), clip(failure ?? '', failureCharsMax)].join('\n'),
  )
