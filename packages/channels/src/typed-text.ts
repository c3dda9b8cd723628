// The text that a person types, as decisions and answers read it: pure functions. People copy what the bot
// prints, and their keyboards, chats and mail programs change it: quotes, dashes, invisible marks, a
// signature.

/**
 * A joiner between two letters or signs that are not of a plain keyboard belongs to them: Persian and some
 * emoji need it.
 */
const invisible =
  /[\u200B\u200E\u200F\u2060\u2066-\u2069\uFEFF]|(?<![^\0-\x7F])[\u200C\u200D]|[\u200C\u200D](?![^\0-\x7F])/g

/** The text without marks that nobody sees. */
export const withoutMarks = (text: string): string => text.replaceAll(invisible, '')

/**
 * The text with the characters of a plain keyboard in place of full-width and typographic ones. Each
 * character keeps its place.
 */
export const keyed = (text: string): string =>
  text
    .replaceAll(/[\uFF01-\uFF5E]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .replaceAll(/[\u2010-\u2015\u2212]/g, '-')
    .replaceAll(/[`´\u2018-\u201F\u2039\u203A«»「-』]/g, '"')
    .replaceAll('。', '.')
    .replaceAll('、', ',')

/** @param start found in the text as a plain keyboard has it */
export const behind = (text: string, start: RegExp): string =>
  text.slice(start.exec(keyed(text))?.[0].length ?? 0).trim()

/** The text without the quotes around it and the stops behind it. */
export function bare(text: string): string {
  const left = behind(text, /^[\s"'(<[*_]*/)
  return left.slice(0, keyed(left).search(/["'>)\]*_\s.,;:!]*$/))
}

/** A thumb, hands, a mark, a face or a heart, in any colour. Another sign may mean the opposite. */
export const kindSigns =
  /[\u{1F44C}\u{1F44D}\u{1F44F}\u{1F64C}\u{1F64F}\u2705\u2714\u2611\u{1F600}\u{1F601}\u{1F603}\u{1F604}\u{1F60A}\u{1F642}\u{1F389}\u2764\u{1F4AF}]|\uFE0F|\p{Emoji_Modifier}/gu

/** A mail may have a signature, or the mail that it answers, behind such a line. */
const signature = /^(?:-- ?|_{5,})$/m
/** How a mail ends without such a line: a name behind a greeting, or what a phone adds. Nothing follows it. */
const endings =
  /\n\s*\n(?:(?:(?:[Bb]est|[Kk]ind|[Ww]arm) )?(?:[Rr]egards|[Ww]ishes)|[Bb]est|[Cc]heers|[Ss]incerely|[Ss]ent from my [\w ]{1,30}(?:[.,] sorry for (?:the |any )?typos)?)[,.!]?(?:\s*\n\s*\p{Lu}[\p{L}.'-]*(?: \p{Lu}[\p{L}.'-]*){0,2})?\s*$/u

/** The text without the signature at its end. */
export const unsigned = (text: string): string => text.slice(0, lines(text).replace(endings, '').length)

/** The text without what follows the line of a signature. */
export const withoutSignature = (text: string): string => text.slice(0, lines(text).length)

/** What is before the line of a signature. Each character keeps its place. */
const lines = (text: string): string =>
  keyed(text)
    .replaceAll(kindSigns, ({ length }) => ' '.repeat(length))
    .split(signature)[0] ?? ''
