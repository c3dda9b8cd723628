// Splits a search text into words without accents, and says how each is looked for. The text is never a query
// language: every character means itself.
import { foldedText, searchWords, unfoldedPlace } from '@beaver/core'
import { clip } from '@beaver/core/task-view'
import type { OfUser } from './of-user.ts'
import type { Sql } from '../store/sql.ts'

const wordsMax = 16

export interface Words {
  readonly all: readonly string[]
  /** Words that the trigram index can find. */
  readonly long: readonly string[]
  /** Words of fewer than three characters, which the index cannot find. */
  readonly short: readonly string[]
}

/** The first 16 different words. */
export function wordsOf(text: string): Words {
  const words = searchWords(text).slice(0, wordsMax)
  const isLong = (word: string): boolean => [...word].length >= 3
  return { all: words, long: words.filter(isLong), short: words.filter((word) => !isLong(word)) }
}

/**
 * A full-text query for all of the words, in texts of a user. Each word is a string in which every character
 * means itself.
 */
export function matching(sql: Sql, words: readonly string[], user: OfUser): string {
  const inText = `text : (${words.map((word) => `"${word.replaceAll('"', '""')}"`).join(' AND ')})`
  return user === undefined ? inText : `owner : "${ownerOf(sql, user)}" AND ${inText}`
}

/** As in the view `searched_texts`. A user without a task has no text. */
function ownerOf(sql: Sql, user: string | null): string {
  const key =
    user === null
      ? 0
      : sql.one<{ key: number | null }>('select min(task_key) as key from tasks where user_id = ?', [user])
          .key
  return key === null ? '<nobody>' : `<${key}>`
}

/** A LIKE pattern that finds the word anywhere. `\` escapes. */
export const pattern = (word: string): string => `%${word.replace(/[\\%_]/g, '\\$&')}%`

/** The text around the first word that occurs. */
export function snippet(text: string, words: readonly string[], charsMax: number): string {
  const folded = foldedText(text)
  const lower = folded.toLowerCase()
  const places = words.map((word) => lower.indexOf(word.toLowerCase())).filter((place) => place >= 0)
  const first = unfoldedPlace(text, folded, Math.min(...places, folded.length))
  const from = Math.max(0, first - Math.trunc(charsMax / 3))
  const cut = clip(text.slice(from), charsMax).toWellFormed().replace(/\s+/g, ' ')
  return `${from > 0 ? '…' : ''}${cut}${from + charsMax < text.length ? '…' : ''}`
}
