// Text from outside (a task, a file, a model) made safe for a terminal: it may not move the cursor or pretend to be ours.
// P1. What goes to a pipe or a file is never changed; only screens need this.
import { stripVTControlCharacters } from 'node:util'

/** Without escape sequences and control characters; line ends and tabs stay. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text.toWellFormed().replaceAll('\r\n', '\n'))
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .replaceAll(/[\u202A-\u202E\u2066-\u2069]/gu, '')
}

/** The same on one line. `charsMax` bounds the work, not the width. */
export function oneLine(text: string, charsMax = 2_000): string {
  return plainText(text.slice(0, charsMax)).replaceAll(/\s+/gu, ' ').trim()
}
