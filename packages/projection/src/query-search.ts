// `search`: full text over the visible transcript, newest first.
// S1. Any query string is safe: it is words to find, never a query language. S2. Words are separated by white space and must
//     all occur, anywhere in the text, whatever their case; so a part of a Chinese sentence is a word too.
// S3. The trigram index answers for words of three characters and more; shorter ones are looked for in the newest
//     `scannedRowsMax` texts, and `scanned_all` says whether those were all.
import type { JsonValue } from '@beaver/core'
import { z } from 'zod'
import { page } from './page.ts'
import { cursor, limitOf, query } from './query.ts'
import { matching, pattern, snippet, wordsOf } from './search-words.ts'
import type { Sql } from './sql.ts'
import { indexedTo, lastText } from './text-index.ts'

const scannedRowsMax = 200_000
const snippetCharsMax = 240

interface HitRow {
  readonly position: number
  readonly tenant: string
  readonly session_id: string
  readonly task_id: string
  readonly taskseq: number
  readonly run_id: string | null
  readonly agent_name: string | null
  readonly role: string
  readonly name: string | null
  readonly text: string
  readonly time: string
}

/** `before` is the `next` of the page before. */
export const search = query(
  z.strictObject({
    query: z.string().max(1000),
    tenant: z.string().max(128).optional(),
    session: z.string().max(128).optional(),
    limit: limitOf({ usual: 20, max: 100 }),
    before: cursor.optional(),
  }),
  (sql, input) => {
    const { all: words, long, short } = wordsOf(input.query)
    if (words.length === 0) return { hits: [], more: false, next: null, scanned_all: true }
    const newest = lastText(sql)
    const before = input.before ?? newest + 1
    // Newer than what is indexed, or with no word that the index knows: these texts are looked at one by one.
    const indexed = long.length > 0 ? indexedTo(sql) : 0
    const oldest = Math.max(indexed, Math.min(newest, before - 1) - scannedRowsMax)
    const where = { tenant: input.tenant ?? null, session: input.session ?? null, limit: input.limit + 1 }
    const rows = function* (): Generator<HitRow> {
      if (before > oldest + 1) yield* matches(sql, { ...where, long: [], short: words, oldest, before })
      if (indexed > 0) yield* matches(sql, { ...where, long, short, oldest: 0, before: Math.min(before, indexed + 1) })
    }
    const { items, more, next } = page(rows(), input.limit, { item: (row) => hitView(row, words), cursor: (row) => row.position })
    return { hits: items, more, next, scanned_all: oldest === indexed }
  },
)

function matches(
  sql: Sql,
  wanted: { long: readonly string[]; short: readonly string[]; oldest: number; tenant: string | null; session: string | null; before: number; limit: number },
): Iterable<HitRow> {
  const contains = wanted.short.map(() => "and transcript.text like ? escape '\\'").join(' ')
  const indexed = wanted.long.length > 0
  return sql.each<HitRow>(
    `select transcript.position, transcript.taskseq, transcript.run_id, transcript.role, transcript.name, transcript.text,
       tasks.tenant, tasks.session_id, tasks.task_id, runs.agent_name, events.time
     from ${indexed ? 'transcript_fts cross join transcript on transcript.position = transcript_fts.rowid' : 'transcript'}
     join tasks on tasks.task_key = transcript.task_key
     join events on events.task_key = transcript.task_key and events.taskseq = transcript.taskseq
     left join runs on runs.task_key = transcript.task_key and runs.run_id = transcript.run_id
     where ${indexed ? 'transcript_fts match ? and transcript_fts.rowid < ?' : 'transcript.position < ?'} and transcript.position > ? ${contains}
       and (? is null or tasks.tenant = ?) and (? is null or tasks.session_id = ?)
     order by ${indexed ? 'transcript_fts.rowid' : 'transcript.position'} desc limit ?`,
    [
      ...(indexed ? [matching(wanted.long)] : []),
      wanted.before,
      wanted.oldest,
      ...wanted.short.map(pattern),
      wanted.tenant,
      wanted.tenant,
      wanted.session,
      wanted.session,
      wanted.limit,
    ],
  )
}

function hitView(row: HitRow, words: readonly string[]): JsonValue {
  return {
    task_id: row.task_id,
    session_id: row.session_id,
    tenant: row.tenant,
    taskseq: row.taskseq,
    run_id: row.run_id,
    agent_name: row.agent_name,
    role: row.role,
    name: row.name,
    time: row.time,
    snippet: snippet(row.text, words, snippetCharsMax),
  }
}
