// Makes text from outside (a task, a file, a model) safe for a terminal: it cannot move the cursor or imitate
// Beaver's own output. Views clean each text where they show it. The screen cleans everything once more, so a
// view that forgets it does no harm. A pipe ends in a terminal more often than not, so it gets the same text
// as a screen, unless the person says --raw.
import { stripVTControlCharacters } from 'node:util'

/**
 * Removes escape sequences, control characters, and what changes the writing direction. Line ends and tabs
 * stay.
 */
export function plainText(text: string): string {
  return stripVTControlCharacters(text.toWellFormed().replaceAll('\r\n', '\n'))
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .replaceAll(/[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu, '')
}

/** The same on one line. `charsMax` bounds the work, not the width. */
export function oneLine(text: string, charsMax = 2_000): string {
  return plainText(text.slice(0, charsMax)).replaceAll(/\s+/gu, ' ').trim()
}

/**
 * The sequences of `styleOf`. No other colour is Beaver's: text that hides itself or looks like the
 * background stays out.
 */
// oxlint-disable-next-line no-control-regex
const ownStyle = /(\u001B\[(?:0|1|2|22|31|32|33|36|39)m)/

/** The text with Beaver's own styles, and without any other control sequence. */
export const styledText = (text: string): string =>
  text.includes('\u001B')
    ? text
        .split(ownStyle)
        .map((part, i) => (i % 2 === 1 ? part : plainText(part)))
        .join('')
    : plainText(text)
