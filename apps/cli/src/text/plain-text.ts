// Makes text from outside (a task, a file, a model) safe for a terminal: it cannot move the cursor or imitate Beaver's own output.
// P1. Output to a pipe or a file is never changed; only screens need this.
import { stripVTControlCharacters } from 'node:util'

/** Removes escape sequences and control characters. Line ends and tabs stay. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text.toWellFormed().replaceAll('\r\n', '\n'))
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .replaceAll(/[\u202A-\u202E\u2066-\u2069]/gu, '')
}

/** The same on one line. `charsMax` bounds the work, not the width. */
export function oneLine(text: string, charsMax = 2_000): string {
  return plainText(text.slice(0, charsMax)).replaceAll(/\s+/gu, ' ').trim()
}
