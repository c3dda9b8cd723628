// Keeps a home private: it holds what agents read, wrote and said, and where the system listens.
// P1. Only what Beaver itself makes in a home is changed. A home may be a folder that the user had before, with other things in it.
// P2. What is made is private from its first moment: it is made with its mode, and not changed afterwards.
import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { BeaverError, messageOf } from '@beaver/core'

const folders = ['logs', 'nats', 'run'] as const
const isDatabase = (name: string): boolean => /^projection-.*\.db(?:-wal|-shm|-journal)?$/.test(name)
const forOthers = 0o077

/**
 * Makes a home and its folders, and closes what other users of the machine could read.
 *
 * @returns the names of what was closed; empty: nothing was open
 * @throws {BeaverError} `start_failed` if the home cannot be written, or belongs to another user
 */
export function makeHomePrivate(home: string): string[] {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 })
    for (const name of folders) mkdirSync(join(home, name), { recursive: true, mode: 0o700 })
    return [...folders, ...readdirSync(home).filter(isDatabase)].filter((name) => close(join(home, name)))
  } catch (error) {
    const message = `The folder ${home} cannot be used as a home: ${messageOf(error)}. Choose another one with --home.`
    throw new BeaverError('start_failed', message, { cause: error })
  }
}

/** Makes an empty file that only its owner can read, unless the file is there. */
export function makePrivateFile(file: string): void {
  closeSync(openSync(file, 'a', 0o600))
}

/** A link is left alone, because what it points to need not be Beaver's. So is a file that SQLite removes meanwhile. */
function close(path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false })
  if (entry === undefined || entry.isSymbolicLink() || (entry.mode & forOthers) === 0 || process.platform === 'win32') return false
  try {
    chmodSync(path, entry.mode & 0o700)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return false
  }
  return true
}
