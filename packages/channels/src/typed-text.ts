// The text that a person typed, in the form in which decisions and answers are read: pure functions. People
// copy what the bot prints, and their keyboards, chats and mail programs change quotes and dashes, and add
// invisible characters and signatures.

/**
 * Invisible characters. A joiner between two non-ASCII characters is kept, because Persian and some emoji
 * need it.
 */
const invisible =
  /[\u200B\u200E\u200F\u2060\u2066-\u2069\uFEFF]|(?<![^\0-\x7F])[\u200C\u200D]|[\u200C\u200D](?![^\0-\x7F])/g

/** The text without invisible characters. */
export const withoutMarks = (text: string): string => text.replaceAll(invisible, '')

/**
 * The text with ASCII characters in place of full-width and typographic ones. The length stays the same, so
 * positions in both texts agree.
 */
export const keyed = (text: string): string =>
  text
    .replaceAll(/[\uFF01-\uFF5E]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .replaceAll(/[\u2010-\u2015\u2212]/g, '-')
    .replaceAll(/[`´\u2018-\u201F\u2039\u203A«»「-』]/g, '"')
    .replaceAll('。', '.')
    .replaceAll('、', ',')

/**
 * The trimmed text after `start`.
 *
 * @param start a pattern for the beginning of the text as `keyed` returns it
 */
export const behind = (text: string, start: RegExp): string =>
  text.slice(start.exec(keyed(text))?.[0].length ?? 0).trim()

/** The text without surrounding quotes and without punctuation at its end. */
export function bare(text: string): string {
  const left = behind(text, /^[\s"'(<[*_]*/)
  return left.slice(0, keyed(left).search(/["'>)\]*_\s.,;:!]*$/))
}

/**
 * Emoji that are courtesies: a thumb, hands, a check mark, a face or a heart, in any colour. Other emoji may
 * mean a refusal.
 */
export const kindSigns =
  /[\u{1F44C}\u{1F44D}\u{1F44F}\u{1F64C}\u{1F64F}\u2705\u2714\u2611\u{1F600}\u{1F601}\u{1F603}\u{1F604}\u{1F60A}\u{1F642}\u{1F389}\u2764\u{1F4AF}]|\uFE0F|\p{Emoji_Modifier}/gu

/** The line after which a mail has its signature, or the mail that it answers. */
const signature = /^(?:-- ?|_{5,})$/m
/** The end of a mail without such a line: a greeting, perhaps with a name, or the text that a phone adds. */
const endings =
  /\n\s*\n(?:(?:(?:[Bb]est|[Kk]ind|[Ww]arm) )?(?:[Rr]egards|[Ww]ishes)|[Bb]est|[Cc]heers|[Ss]incerely|[Ss]ent from my [\w ]{1,30}(?:[.,] sorry for (?:the |any )?typos)?)[,.!]?(?:\s*\n\s*\p{Lu}[\p{L}.'-]*(?: \p{Lu}[\p{L}.'-]*){0,2})?\s*$/u

/** The text without the signature at its end. */
export const unsigned = (text: string): string => text.slice(0, lines(text).replace(endings, '').length)

/** The text before the signature line. */
export const withoutSignature = (text: string): string => text.slice(0, lines(text).length)

/** The text before the signature line as `keyed` returns it. Positions stay the same. */
const lines = (text: string): string =>
  keyed(text)
    .replaceAll(kindSigns, ({ length }) => ' '.repeat(length))
    .split(signature)[0] ?? ''
