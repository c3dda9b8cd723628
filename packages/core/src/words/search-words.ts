import { foldedText } from './folded-text.ts'

/**
 * The different words of a search, without accents. Control characters separate words, and lone surrogates are
 * no characters, so a text that looks as if it had something may have no word.
 *
 * @example searchWords('Zürich  1984') // => ['Zurich', '1984']
 */
export const searchWords = (text: string): readonly string[] => [
  ...new Set(
    foldedText(text.toWellFormed())
      .split(/[\s\p{Cc}]+/u)
      .filter((word) => word !== ''),
  ),
]
