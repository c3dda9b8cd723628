// Keeps a home private: it contains what agents read, wrote and said, and where the system listens. Only what
// Beaver itself makes is changed, because the folder may have been the user's before, with a folder `logs` of
// another program. New files get their mode when they are made. What cannot be made private is reported and
// stops nothing: a mounted volume may belong to another user, or have no modes.
import { chmodSync, closeSync, existsSync, lstatSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { BeaverError, messageOf } from '@beaver/core'
import { makeFolder } from './make-folder.ts'

const folders = ['logs', 'nats', 'run'] as const
/**
 * Files that only Beaver's own folder `nats` has. What Beaver writes in the other two folders is private by
 * itself.
 */
const natsFiles = ['nats-server.conf', 'jetstream']
/**
 * The read model of a home. @param name the journal's name for files: its namespace, and its tenant if that
 * is not the usual one
 */
export const readModelFile = (home: string, name: string): string => join(home, `projection-${name}.db`)
const isDatabase = (name: string): boolean => /^projection-.*\.db(?:-wal|-shm|-journal)?$/.test(name)
const forOthers = 0o077

/** Names in the home. */
export interface HomeChange {
  /** They were open to other users of the machine. */
  readonly closed: readonly string[]
  /** They are open, and cannot be closed. */
  readonly open: readonly string[]
}

/**
 * Makes a home and its folders, and closes what is open to other users of the machine.
 *
 * @throws {BeaverError} `start_failed` if the home cannot be written
 */
export function makeHomePrivate(home: string): HomeChange {
  try {
    makeFolder(home)
    for (const name of folders) makeFolder(join(home, name))
    const nats = natsFiles.some((name) => existsSync(join(home, 'nats', name))) ? ['nats'] : []
    const found = [...nats, ...readdirSync(home).filter(isDatabase)].map((name) => ({
      name,
      became: close(join(home, name)),
    }))
    const names = (became: 'closed' | 'open'): string[] =>
      found.flatMap((each) => (each.became === became ? [each.name] : []))
    return { closed: names('closed'), open: names('open') }
  } catch (error) {
    const message = `The folder ${home} cannot be used as a home: ${messageOf(error)}. Choose another one with --home.`
    throw new BeaverError('start_failed', message, { cause: error })
  }
}

/** The message about it for a person: at most two sentences. */
export function homeChangeTexts(home: string, { closed, open }: HomeChange): string[] {
  const [was, are] = [
    closed.length === 1 ? ['was', 'It is'] : ['were', 'They are'],
    open.length === 1 ? ['is', 'it'] : ['are', 'them'],
  ]
  return [
    ...(closed.length === 0
      ? []
      : [
          `${closed.join(', ')} in ${home} ${was[0]} open to other users of this machine. ${was[1]} private now.`,
        ]),
    ...(open.length === 0
      ? []
      : [
          `${open.join(', ')} in ${home} ${are[0]} open to other users of this machine, and Beaver cannot close ${are[1]}.`,
        ]),
  ]
}

/** Makes an empty file that only its owner can read, unless the file is there. */
export function makePrivateFile(file: string): void {
  closeSync(openSync(file, 'a', 0o600))
}

/**
 * `null`: it was closed before. A link is left alone, because what it points to need not be Beaver's. So is a
 * file that SQLite removes meanwhile.
 */
function close(path: string): 'closed' | 'open' | null {
  if (process.platform === 'win32' || !isOpen(path)) return null
  try {
    chmodSync(path, lstatSync(path).mode & 0o700)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : 'open'
  }
  return isOpen(path) ? 'open' : 'closed'
}

function isOpen(path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false })
  return entry !== undefined && !entry.isSymbolicLink() && (entry.mode & forOthers) !== 0
}
