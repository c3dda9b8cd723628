// The files of tool modules that somebody accepted by their content. A module is loaded again by each new
// thread and by each call in a cell, and agents may be able to write to its folder, so its files are compared
// before each of these. Between the comparison and the import the file can still change. Whoever can win this
// race can write to the folder at any time.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** The SHA-256 of each file, by its absolute path. An empty record: nothing is compared. */
export type AcceptedFiles = Readonly<Record<string, string>>

/** Says which file differs from what was accepted, or returns `null`. */
export function changedFile(accepted: AcceptedFiles): string | null {
  const changed = Object.entries(accepted).find(([path, hash]) => hashOf(path) !== hash)
  return changed === undefined
    ? null
    : `${changed[0]} has changed since its folder was trusted. Start Beaver again: it asks for your consent.`
}

function hashOf(path: string): string {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex')
  } catch {
    return 'missing'
  }
}
