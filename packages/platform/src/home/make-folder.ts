// Makes a folder whose path a person gave. `mkdir` with `recursive` of Node.js never returns for a missing
// folder under /proc, where nothing can be made: it tries again and again, and no signal ends it.
import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a folder and the missing folders above it. A folder that exists stays as it is.
 *
 * @param mode of the folders that are made. Default: 0o700
 * @throws {Error} of the system
 */
export function makeFolder(path: string, mode = 0o700): void {
  const missing: string[] = []
  for (let at = resolve(path); !exists(at); at = dirname(at)) missing.push(at)
  // Something else than a folder at this path is refused, too.
  if (missing.length === 0) return mustBeFolder(path)
  for (const each of missing.toReversed())
    try {
      mkdirSync(each, mode)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      mustBeFolder(each)
    }
}

const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

/** Throws what `mkdir` throws, if this is no folder. */
function mustBeFolder(path: string): void {
  if (!statSync(path).isDirectory()) mkdirSync(path)
}
