// Makes text from outside (a task, a file, a model) safe for a terminal, so that it can neither move the
// cursor nor imitate Beaver's own output. Views clean each text that they show, and the screen cleans
// everything again, in case a view forgets it. Output to a pipe is cleaned, too, unless the user says --raw,
// because most pipes end in a terminal.
import { stripVTControlCharacters } from 'node:util'

/**
 * Removes escape sequences, control characters and characters that change the writing direction. Line ends
 * and tabs stay.
 */
export function plainText(text: string): string {
  return stripVTControlCharacters(text.toWellFormed().replaceAll('\r\n', '\n'))
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .replaceAll(/[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu, '')
}

/**
 * The plain text on one line. At most `charsMax` characters are read, which bounds the work and not the
 * width.
 */
export function oneLine(text: string, charsMax = 2_000): string {
  return plainText(text.slice(0, charsMax)).replaceAll(/\s+/gu, ' ').trim()
}

/** The sequences of `styleOf`. Other colours are removed, because they could hide a text. */
// oxlint-disable-next-line no-control-regex
const ownStyle = /(\u001B\[(?:0|1|2|22|31|32|33|36|39)m)/

/** Removes all control sequences except Beaver's own styles. */
export const styledText = (text: string): string =>
  text.includes('\u001B')
    ? text
        .split(ownStyle)
        .map((part, i) => (i % 2 === 1 ? part : plainText(part)))
        .join('')
    : plainText(text)
