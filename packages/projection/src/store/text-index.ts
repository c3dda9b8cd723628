// The full-text index of the transcript: it covers every text up to `position` and none after it. Indexing a
// text costs many times more than storing it, so a read model that catches up stores first and indexes when
// it has time; searches read the other texts directly, with the same result. The position is the index's own,
// because it depends on the available time and not on the journal alone.
import { textIndex } from './schema.ts'
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

/** Indexes at most `textsMax` further texts and returns their number. The caller opens a transaction. */
export function indexTexts(sql: Sql, textsMax: number): number {
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
