// A damaged file of SQLite, in words for the person who has to do something. The journal has everything, so
// nothing is lost.
import { BeaverError, messageOf } from '@beaver/core'

/**
 * SQLITE_CORRUPT and SQLITE_NOTADB. The lower byte of an extended code is its kind. Source:
 * sqlite.org/rescode.html
 */
const damageCodes = [11, 26]

/** The error for a file that is damaged; every other error as it is. */
export function namedDamage(error: unknown, file: string | null): unknown {
  const code =
    error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
      ? error.errcode & 0xff
      : 0
  if (file === null || !damageCodes.includes(code)) return error
  const todo = 'Delete the file while Beaver is stopped: the next start builds it again from the journal.'
  return new BeaverError('wrong_state', `The read model ${file} is damaged: ${messageOf(error)}. ${todo}`, {
    cause: error,
  })
}
