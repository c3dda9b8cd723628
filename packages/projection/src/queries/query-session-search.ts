// `session_search`: what an agent finds in a tenant's earlier sessions (D-46), best first.
// S1. It searches only what was said in root runs, and no failures. Workers' runs (with a parent run, or a source `team:…`; D-09) are left out. The
// results of earlier searches are left out too, because they only repeat what is found already.
// S2. Any text is safe: it contains words, all of which must occur (search-words.ts).
// S3. A limit outside 1 to 50 is moved to the nearest bound.
// S4. The newest `rankedMax` matches are ranked as in BM25, but without the rarity of a word: all matches contain all words, and counting the
// texts with each word takes longer than a query may. Of the texts with the longer words, the newest `indexedRowsMax` are read. A search
// with only words below three characters reads the newest `scannedRowsMax` texts, and the newest match comes first.
import type { QueryOutput } from '@beaver/contracts'
import { page } from './page.ts'
import type { Query } from './query.ts'
import { matching, pattern, snippet, type Words, wordsOf } from './search-words.ts'
import type { Sql } from '../store/sql.ts'
import { indexedTo, lastText } from '../store/text-index.ts'

const limits = { min: 1, max: 50 }
const excerptCharsMax = 320
const rankedMax = 500
/** How much of a text counts for its rank. */
const rankedCharsMax = 20_000
const scannedRowsMax = 50_000
const indexedRowsMax = 5_000

/** `session_id`: the session that asks. It is left out of the results without `include_current`. */
export const sessionSearch: Query<'session_search'> = (sql, input) => {
  const limit = Math.trunc(Math.min(limits.max, Math.max(limits.min, input.limit)))
  const words = wordsOf(input.query)
  if (words.all.length === 0) return { hits: [] }
  const without = input.include_current ? null : (input.session_id ?? null)
  const best = candidates(sql, words, { tenant: input.tenant, without }).slice(0, limit)
  const { items } = page(best, limit, { item: (found) => hitView(sql, found, words.all), cursor: (found) => found.position })
  return { hits: items }
}

interface Candidate {
  readonly position: number
  readonly text: string
  readonly chars: number
}

/** Where the words occur: the best first, and the newest first among equals. */
function candidates(sql: Sql, { all, long, short }: Words, of: { tenant: string; without: string | null }): Candidate[] {
  // Texts that are not indexed yet, and searches without a word for the index, are read one by one.
  const indexed = long.length > 0 ? indexedTo(sql) : 0
  const oldest = Math.max(indexed, lastText(sql) - scannedRowsMax)
  const newest = found(sql, { long: [], short: all, oldest }, of)
  if (indexed > 0 && newest.length < rankedMax) newest.push(...found(sql, { long, short, oldest: 0 }, of))
  return long.length === 0 ? newest : ranked(newest.slice(0, rankedMax), all)
}

const [saturation, lengthWeight] = [1.2, 0.75]

function ranked(texts: readonly Candidate[], words: readonly string[]): Candidate[] {
  const usual = texts.reduce((sum, { chars }) => sum + chars, 0) / Math.max(1, texts.length)
  const wanted = words.map((word) => word.toLowerCase())
  const scored = texts.map((candidate) => {
    const text = candidate.text.toLowerCase()
    const damping = saturation * (1 - lengthWeight + (lengthWeight * candidate.chars) / usual)
    const score = wanted.reduce((sum, word) => {
      const times = Math.max(1, timesIn(text, word)) // It matched, so its place is beyond what is ranked.
      return sum + times / (times + damping)
    }, 0)
    return { candidate, score }
  })
  return scored.toSorted((a, b) => b.score - a.score || b.candidate.position - a.candidate.position).map(({ candidate }) => candidate)
}

function timesIn(text: string, word: string): number {
  let times = 0
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) times++
  return times
}

const newestByIndex = `select rowid from transcript_fts where transcript_fts match ? order by rowid desc limit ${indexedRowsMax}`

/** The newest texts that contain the words. The index finds `long`; `short` is looked for in each text. */
function found(
  sql: Sql,
  { long, short, oldest }: { long: readonly string[]; short: readonly string[]; oldest: number },
  of: { tenant: string; without: string | null },
): Candidate[] {
  const indexed = long.length > 0
  return sql.all<Candidate>(
    `select transcript.position, substr(transcript.text, 1, ${rankedCharsMax}) as text, length(transcript.text) as chars
     from ${indexed ? `(${newestByIndex}) as listed cross join transcript on transcript.position = listed.rowid` : 'transcript'}
     join tasks on tasks.task_key = transcript.task_key
     left join runs on runs.task_key = transcript.task_key and runs.run_id = transcript.run_id
     where transcript.position > ?
       ${short.map(() => "and transcript.text like ? escape '\\'").join(' ')}
       and tasks.tenant = ? and (? is null or tasks.session_id <> ?)
       and coalesce(transcript.name, '') <> 'session_search' and transcript.role <> 'failure'
       and (runs.run_id is null or runs.parent_run_id is null and substr(runs.source, 1, 5) <> 'team:')
     order by ${indexed ? 'listed.rowid' : 'transcript.position'} desc limit ?`,
    [...(indexed ? [matching(long)] : []), oldest, ...short.map(pattern), of.tenant, of.without, of.without, rankedMax],
  )
}

type Hit = QueryOutput<'session_search'>['hits'][number]

interface HitRow {
  readonly session_id: string
  readonly task_id: string
  readonly role: Hit['role']
  readonly text: string
  readonly time: string
}

function hitView(sql: Sql, { position }: Candidate, words: readonly string[]): Hit {
  const row = sql.one<HitRow>(
    `select tasks.session_id, tasks.task_id, transcript.role, transcript.text, events.time from transcript
     join tasks on tasks.task_key = transcript.task_key
     join events on events.task_key = transcript.task_key and events.taskseq = transcript.taskseq
     where transcript.position = ?`,
    [position],
  )
  return { session_id: row.session_id, task_id: row.task_id, role: row.role, excerpt: snippet(row.text, words, excerptCharsMax), at: row.time }
}
