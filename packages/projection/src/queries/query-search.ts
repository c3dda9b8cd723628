// `search`: full text over the visible transcript and over failures, newest first. Any query string is safe:
// it contains words to find, never a query language. All words, which white space separates, must occur
// anywhere in the text, in any case and with or without accents, so a part of a Chinese sentence is a word
// too. The trigram index finds words of three characters and more. If it cannot decide alone (a shorter word,
// a tenant, a session, texts not yet indexed), one answer reads at most `looksMax` texts, has `more`, and
// continues at `next`. A search for one user reads only that user's texts, so the texts of others cannot
// influence its answer.
import type { SearchAnswer } from '@beaver/contracts'
import { page } from './page.ts'
import { inTime } from './in-time.ts'
import { type OfUser, ofUser } from './of-user.ts'
import type { Query } from './query.ts'
import { matching, pattern, snippet, wordsOf } from './search-words.ts'
import type { Sql } from '../store/sql.ts'
import { indexedTo, lastText } from '../store/text-index.ts'

const looksMax = 1_000
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
export const search: Query<'search'> = (sql, input) => {
  const { all: words, long, short } = wordsOf(input.query)
  if (words.length === 0) return { hits: [], more: false, next: null }
  const before = Math.min(input.before ?? Infinity, lastText(sql) + 1)
  const where = {
    tenant: input.tenant ?? null,
    session: input.session_id ?? null,
    user: input.user_id,
    times: { since: input.since, until: input.until },
    limit: input.limit + 1,
  }
  const isInAnyTime = input.since === undefined && input.until === undefined
  const decided = short.length === 0 && where.tenant === null && where.session === null && isInAnyTime
  // Texts that are not indexed yet, and searches without a word for the index, are read one by one.
  const indexed = long.length > 0 ? indexedTo(sql) : 0
  const oldest = Math.max(indexed, before - 1 - looksMax)
  const [candidates, looked] =
    oldest > indexed
      ? [[], oldest]
      : byIndex(sql, long, {
          user: input.user_id,
          before: Math.min(before, indexed + 1),
          max: decided ? input.limit + 1 : looksMax,
        })
  const rows = function* (): Generator<HitRow> {
    if (before > oldest + 1) yield* matches(sql, { ...where, words, after: oldest, before })
    if (candidates.length > 0) yield* matches(sql, { ...where, words: short, positions: candidates })
  }
  const { items, more, next } = page(rows(), input.limit, {
    item: (row) => hitView(row, words),
    cursor: (row) => row.position,
  })
  return more || looked === 0 ? { hits: items, more, next } : { hits: items, more: true, next: looked + 1 }
}

/**
 * The newest texts before a position that contain the words, at most `max`. Also the position below which
 * there may be others; 0: there are none.
 */
function byIndex(
  sql: Sql,
  words: readonly string[],
  { user, before, max }: { user: OfUser; before: number; max: number },
): [positions: readonly number[], upTo: number] {
  if (words.length === 0) return [[], 0]
  const found = sql.all<{ position: number }>(
    'select rowid as position from transcript_fts where transcript_fts match ? and rowid < ? order by rowid desc limit ?',
    [matching(sql, words, user), before, max],
  )
  return [found.map(({ position }) => position), found.length < max ? 0 : (found.at(-1)?.position ?? 1) - 1]
}

type Wanted = {
  readonly words: readonly string[]
  readonly tenant: string | null
  readonly session: string | null
  readonly user: OfUser
  readonly times: Parameters<typeof inTime>[1]
  readonly limit: number
} & (
  | { readonly positions: readonly number[] }
  /** Both ends are excluded. */
  | { readonly after: number; readonly before: number }
)

/** The texts in this range that contain all of the words, newest first. */
function matches(sql: Sql, wanted: Wanted): Iterable<HitRow> {
  const listed = 'positions' in wanted
  const [user, values] = ofUser(wanted.user)
  const [inTimes, times] = inTime('events.time', wanted.times)
  return sql.each<HitRow>(
    `select transcript.position, transcript.taskseq, transcript.run_id, transcript.role, transcript.name, transcript.text,
       tasks.tenant, tasks.session_id, tasks.task_id, runs.agent_name, events.time
     from ${listed ? 'json_each(?) as listed cross join transcript on transcript.position = listed.value' : 'transcript'}
     join tasks on tasks.task_key = transcript.task_key
     join events on events.task_key = transcript.task_key and events.taskseq = transcript.taskseq
     left join runs on runs.task_key = transcript.task_key and runs.run_id = transcript.run_id
     where ${listed ? 'true' : 'transcript.position > ? and transcript.position < ?'}
       ${wanted.words.map(() => "and coalesce(transcript.folded, transcript.text) like ? escape '\\'").join(' ')}
       and (? is null or tasks.tenant = ?) and (? is null or tasks.session_id = ?) ${user} ${inTimes}
     order by ${listed ? 'listed.key' : 'transcript.position desc'} limit ?`,
    [
      ...(listed ? [JSON.stringify(wanted.positions)] : [wanted.after, wanted.before]),
      ...wanted.words.map(pattern),
      wanted.tenant,
      wanted.tenant,
      wanted.session,
      wanted.session,
      ...values,
      ...times,
      wanted.limit,
    ],
  )
}

function hitView(row: HitRow, words: readonly string[]): SearchAnswer['hits'][number] {
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
