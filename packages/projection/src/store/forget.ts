// Forgets texts that were redacted. A text is in many rows, in the full-text index and in free pages of the
// file, so the whole file is emptied, and the projector builds it again from the journal, where the text is
// replaced. Afterwards no byte of the old rows is in the file or in its WAL.
import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { tableNames } from './schema.ts'
import type { Sql } from './sql.ts'

interface RedactedRow {
  readonly data: string
  readonly replacement: string | null
}

/** Whether a row of `events` has a text that is not the newest replacement of it. */
export function remembersRedacted(sql: Sql): boolean {
  const rows = sql.each<RedactedRow>(
    `with redacted as (
       select coalesce(json_extract(data, '$.sha256'), json_extract(data, '$.hash')) as key, json_extract(data, '$.replacement') as replacement, max(sequence)
       from system_events where type in ('blob_redacted', 'record_redacted') and fault is null and untrusted is null group by 1
     )
     select events.data, redacted.replacement from redacted join events on events.blob_sha256 = redacted.key or events.hash = redacted.key
     where events.data is not null`,
    [],
  )
  for (const { data, replacement } of rows)
    if (data !== noReplacement && hash('sha256', data) !== replacement) return true
  return false
}

/** What is read in place of a text if there is no replacement, or if it cannot be read. */
const noReplacement = '{}'

export function forgetAll(db: DatabaseSync, sql: Sql): void {
  db.exec('pragma secure_delete = on')
  sql.transaction(() => {
    sql.run("insert into transcript_fts (transcript_fts) values ('delete-all')")
    for (const table of tableNames.toReversed()) if (table !== 'checkpoint') sql.run(`delete from ${table}`)
    sql.run('delete from text_index')
    sql.run('update checkpoint set sequence = 0, events = 0')
  })
  db.exec('vacuum; pragma wal_checkpoint(truncate)')
}
