// A search text as the words to find, and how each is looked for. Never a query language: every character stands for itself.
import { clip } from '../text.ts'

const wordsMax = 16

export interface Words {
  readonly all: readonly string[]
  /** The trigram index answers for these. */
  readonly long: readonly string[]
  /** Fewer than three characters: the index knows nothing of them. */
  readonly short: readonly string[]
}

/** The first 16 different words. Control characters end a full-text query; lone surrogates are no characters at all. */
export function wordsOf(text: string): Words {
  const words = [...new Set(text.toWellFormed().split(/[\s\p{Cc}]+/u))].filter((word) => word !== '').slice(0, wordsMax)
  const isLong = (word: string): boolean => [...word].length >= 3
  return { all: words, long: words.filter(isLong), short: words.filter((word) => !isLong(word)) }
}

/** All of the words, for FTS5: each a string in which everything stands for itself. */
export const matching = (words: readonly string[]): string => words.map((word) => `"${word.replaceAll('"', '""')}"`).join(' AND ')

/** A word as a LIKE pattern that finds it anywhere; `\` escapes. */
export const pattern = (word: string): string => `%${word.replace(/[\\%_]/g, '\\$&')}%`

/** The text around the first word that occurs. */
export function snippet(text: string, words: readonly string[], charsMax: number): string {
  const lower = text.toLowerCase()
  const places = words.map((word) => lower.indexOf(word.toLowerCase())).filter((place) => place >= 0)
  const from = Math.max(0, Math.min(...places, text.length) - Math.trunc(charsMax / 3))
  const cut = clip(text.slice(from), charsMax).toWellFormed().replace(/\s+/g, ' ')
  return `${from > 0 ? '…' : ''}${cut}${from + charsMax < text.length ? '…' : ''}`
}
