// Decides whether the data of a home was made here. A stranger's folder can bring a `.beaver` with tasks that
// a daemon would continue, with the stranger's keys, and with the address of a server that commands would log
// in at. So a home that was only found in the current folder must be marked; a home that the user or a
// program named is theirs. The mark names the inode of the home, so it is not valid in a copy, and nobody can
// make it before a clone exists. Unmarked data that can be rebuilt is removed. A home without a journal and
// without a running system needs no mark.
import { existsSync, lstatSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BeaverError } from '@beaver/core'
import { isBesideCode } from '../trust/folder-trust.ts'
import { makeFolder } from './make-folder.ts'

/** The file by which a home is known as one that was made here. */
export const mark = 'made-here.json'
/** What a stranger's home could use. */
const dangerous = ['nats/jetstream', 'nats/keys', 'nats/nats-server.conf', 'run/system.json']

/** Marks a home as made here. A home on a file system that cannot be written stays unmarked. */
export function markHome(home: string): void {
  try {
    if (!isMarked(home))
      writeFileSync(join(home, mark), `${JSON.stringify({ inode: inodeOf(home) })}\n`, { mode: 0o600 })
  } catch {
    // Whoever uses the home says what is wrong with it.
  }
}

/**
 * @param place `folder`: the current folder; `named`: whether somebody named the home; `program`: the program
 * that embeds Beaver
 */
export function isForeignHome(
  home: string,
  {
    folder,
    named,
    program,
  }: { readonly folder: string; readonly named: boolean; readonly program: string | undefined },
): boolean {
  if (named || isBesideCode(folder, program)) return false
  if (lstatSync(home, { throwIfNoEntry: false })?.isSymbolicLink() === true) return true
  return dangerous.some((name) => existsSync(join(home, name))) && !isMarked(home)
}

/**
 * Refuses to start a system with data that was not made here.
 *
 * @throws {BeaverError} `untrusted_folder`
 */
export function requireOwnHome({
  home,
  foreignHome,
}: {
  readonly home: string
  readonly foreignHome: boolean
}): void {
  if (!foreignHome) return
  throw new BeaverError(
    'untrusted_folder',
    [
      `The data in ${home} was not made here: it came with the folder, or it is a copy. Beaver would go on with its tasks.`,
      `If it is yours, name it once: --home ${home}`,
      'Otherwise choose another folder for data with --home, or remove this one.',
    ].join('\n'),
  )
}

/**
 * Makes a folder of a home for data that can be built again. What is in it stays if the folder was made here;
 * otherwise it is removed. Several processes may call this at the same time.
 *
 * @throws {Error} of the system if the home cannot be written
 */
export function makeOwnFolder(home: string, name: string): void {
  const folder = join(home, name)
  if (isMarked(folder)) return
  makeFolder(home)
  const made = mkdtempSync(join(home, `${name}-`))
  markHome(made)
  try {
    // A folder of another process is there complete, with its mark, or not at all. A folder that has
    // something is not replaced by this.
    renameSync(made, folder)
  } catch {
    if (isMarked(folder)) return
    rmSync(folder, { recursive: true, force: true })
    renameSync(made, folder)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

/** Whether a folder was made here, and is not a copy. */
export function isMarked(home: string): boolean {
  try {
    const { inode } = JSON.parse(readFileSync(join(home, mark), 'utf8')) as { inode?: unknown }
    return inode === inodeOf(home)
  } catch {
    return false
  }
}

const inodeOf = (home: string): string => String(lstatSync(home, { bigint: true }).ino)
