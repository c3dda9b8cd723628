// The full-text index of the transcript, and how far it goes. A text costs many times more to index than to store, so a read model
// that catches up stores first and indexes when there is time; searches look at what is not indexed yet as it stands.
// X1. The index answers for every text up to `position` and for none after it: what a search finds does not depend on it.
// X2. It has a position of its own because it is no function of the journal alone: how far it goes depends on the time there was.
import type { Sql } from './sql.ts'

/** The last text that is indexed. */
export function indexedTo(sql: Sql): number {
  return sql.get<{ position: number }>('select position from text_index')?.position ?? 0
}

/** The last text there is. */
export function lastText(sql: Sql): number {
  return sql.get<{ position: number | null }>('select max(position) as position from transcript')?.position ?? 0
}

/** Indexes the next texts, at most so many; returns how many it were. Belongs into a transaction. */
export function indexTexts(sql: Sql, textsMax: number): number {
  const from = indexedTo(sql)
  // Not `insert … select … returning`: such a statement makes SQLite write out the whole index for each text.
  const rows = sql.all<{ position: number; text: string }>('select position, text from transcript where position > ? order by position limit ?', [
    from,
    textsMax,
  ])
  for (const { position, text } of rows) sql.run('insert into transcript_fts (rowid, text) values (?, ?)', [position, text])
  const last = rows.at(-1)
  if (last !== undefined) sql.run('insert into text_index (id, position) values (1, ?1) on conflict (id) do update set position = ?1', [last.position])
  return rows.length
}
