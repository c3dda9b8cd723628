// The form of a text in which words are searched: without accents, and in lower case where SQLite does not
// fold the case itself (beyond ASCII). Only the marks of Latin, Greek and Cyrillic letters count as accents:
// in Japanese or Hindi a mark makes another word.
const accents = /[\u0300-\u036F]/g
// oxlint-disable-next-line no-control-regex
const beyondAscii = /[^\x00-\x7F]+/g

/**
 * The folded text. It is the text itself if there is nothing to fold.
 *
 * @example foldedText('Zürich') // => 'Zurich'
 */
export function foldedText(text: string): string {
  return text
    .replace(beyondAscii, (part) => part.toLowerCase().normalize('NFD').replace(accents, '').normalize('NFC'))
    .replace(accents, '')
}

/**
 * The place in a text of a place in its folded form, both in UTF-16 units.
 *
 * @example unfoldedPlace('a\u0308 b', 'a b', 2) // => 3
 */
export function unfoldedPlace(text: string, folded: string, place: number): number {
  if (folded.length === text.length) return place
  let passed = 0
  let at = 0
  for (const character of text) {
    if (passed >= place) return at
    passed += foldedText(character).length
    at += character.length
  }
  return at
}
