// `session_search`: what an agent finds in the earlier sessions of its user (D-46, D-67), newest first. It
// searches the visible transcript of root runs, without failures, workers' runs (with a parent run, or a
// source `team:…`; D-09) and the results of earlier searches. All words of the query must occur
// (search-words.ts). A limit outside 1 to 50 is moved to the nearest bound. The index finds longer words, and
// the newest `indexedRowsMax` of these texts are read; a search with only words below three characters reads
// the newest `scannedRowsMax` texts.
import type { QueryOutput } from '@beaver/contracts'
import { type OfUser, ofUser } from './of-user.ts'
import { page } from './page.ts'
import type { Query } from './query.ts'
import { matching, pattern, snippet, type Words, wordsOf } from './search-words.ts'
import type { Sql } from '../store/sql.ts'
import { indexedTo, lastText } from '../store/text-index.ts'

const limits = { min: 1, max: 50 }
const excerptCharsMax = 320
const scannedRowsMax = 50_000
const indexedRowsMax = 5_000

/** `session_id`: the session that asks. It is left out of the results without `include_current`. */
export const sessionSearch: Query<'session_search'> = (sql, input) => {
  const limit = Math.trunc(Math.min(limits.max, Math.max(limits.min, input.limit)))
  const words = wordsOf(input.query)
  if (words.all.length === 0) return { hits: [] }
  const without = input.include_current ? null : (input.session_id ?? null)
  const places = newest(sql, words, { tenant: input.tenant, user: input.user_id, without, limit })
  const { items } = page(places, limit, {
    item: (place) => hitView(sql, place, words.all),
    cursor: (place) => place,
  })
  return { hits: items }
}

interface SearchedSessions {
  readonly tenant: string
  readonly user: OfUser
  readonly without: string | null
}

/** Where the words occur, the newest first. */
function newest(
  sql: Sql,
  { all, long, short }: Words,
  searched: SearchedSessions & { readonly limit: number },
): number[] {
  // Texts that are not indexed yet, and searches without a word for the index, are read one by one.
  const indexed = long.length > 0 ? indexedTo(sql) : 0
  const oldest = Math.max(indexed, lastText(sql) - scannedRowsMax)
  const places = found(sql, { long: [], short: all, oldest }, searched)
  if (indexed > 0 && places.length < searched.limit)
    places.push(...found(sql, { long, short, oldest: 0 }, searched))
  return places.slice(0, searched.limit)
}

const newestByIndex = `select rowid from transcript_fts where transcript_fts match ? order by rowid desc limit ${indexedRowsMax}`

/** The newest texts that contain the words. The index finds `long`; `short` is looked for in each text. */
function found(
  sql: Sql,
  { long, short, oldest }: { long: readonly string[]; short: readonly string[]; oldest: number },
  searched: SearchedSessions & { readonly limit: number },
): number[] {
  const indexed = long.length > 0
  const [user, values] = ofUser(searched.user)
  const rows = sql.all<{ position: number }>(
    `select transcript.position
     from ${indexed ? `(${newestByIndex}) as listed cross join transcript on transcript.position = listed.rowid` : 'transcript'}
     join tasks on tasks.task_key = transcript.task_key
     left join runs on runs.task_key = transcript.task_key and runs.run_id = transcript.run_id
     where transcript.position > ?
       ${short.map(() => "and coalesce(transcript.folded, transcript.text) like ? escape '\\'").join(' ')}
       and tasks.tenant = ? and (? is null or tasks.session_id <> ?) ${user}
       and coalesce(transcript.name, '') <> 'session_search' and transcript.role <> 'failure'
       and (runs.run_id is null or runs.parent_run_id is null and substr(runs.source, 1, 5) <> 'team:')
     order by ${indexed ? 'listed.rowid' : 'transcript.position'} desc limit ?`,
    [
      ...(indexed ? [matching(sql, long, searched.user)] : []),
      oldest,
      ...short.map(pattern),
      searched.tenant,
      searched.without,
      searched.without,
      ...values,
      searched.limit,
    ],
  )
  return rows.map(({ position }) => position)
}

type Hit = QueryOutput<'session_search'>['hits'][number]

interface HitRow {
  readonly session_id: string
  readonly task_id: string
  readonly role: Hit['role']
  readonly text: string
  readonly time: string
}

function hitView(sql: Sql, position: number, words: readonly string[]): Hit {
  const row = sql.one<HitRow>(
    `select tasks.session_id, tasks.task_id, transcript.role, transcript.text, events.time from transcript
     join tasks on tasks.task_key = transcript.task_key
     join events on events.task_key = transcript.task_key and events.taskseq = transcript.taskseq
     where transcript.position = ?`,
    [position],
  )
  return {
    session_id: row.session_id,
    task_id: row.task_id,
    role: row.role,
    excerpt: snippet(row.text, words, excerptCharsMax),
    at: row.time,
  }
}
