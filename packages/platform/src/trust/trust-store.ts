// The folders that a user trusts: one file for each, in the user's own home, so that no project can trust
// itself. Only the user can read or write the files. A file or a folder of the store that others may write
// does not count. A file is written as a whole or not at all, and two commands never overwrite each other's
// folder.
import { readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { BeaverError, messageOf } from '@beaver/core'
import { z } from 'zod'
import { sha256 } from './trust-digest.ts'
import { makeFolder } from '../home/make-folder.ts'

const record = z.strictObject({
  folder: z.string(),
  /** The digests that were accepted, newest last. */
  digests: z.array(z.string()).max(64),
  /** Trusted whatever it asks for. */
  always: z.boolean(),
  accepted_at: z.iso.datetime(),
})
export type TrustedFolder = z.output<typeof record>

const digestsMax = 20
const forOthersToWrite = 0o022

type Environment = Readonly<Record<string, string | undefined>>

/** `$XDG_STATE_HOME/beaver/trust`, by default `~/.local/state/beaver/trust`. */
export function trustStoreFolder(env: Environment): string {
  // A relative place would be in the folder that is judged.
  const [home, state] = [env['HOME'], env['XDG_STATE_HOME']].map((path) =>
    path !== undefined && isAbsolute(path) ? path : null,
  )
  return join(state ?? join(home ?? homedir(), '.local', 'state'), 'beaver', 'trust')
}

/** The real path, so that a folder has one record however it is reached. */
export function realFolder(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return resolve(folder)
  }
}

/** `null` if nobody trusted this folder. */
export function trustedFolder(store: string, folder: string): TrustedFolder | null {
  const real = realFolder(folder)
  const found = readRecord(store, fileName(real))
  return found?.folder === real ? found : null
}

/** All records, by folder. */
export function trustedFolders(store: string): readonly TrustedFolder[] {
  let names: string[]
  try {
    names = readdirSync(store)
  } catch {
    return []
  }
  const found = names.filter((name) => name.endsWith('.json')).map((name) => readRecord(store, name))
  return found
    .filter((each): each is TrustedFolder => each !== null)
    .toSorted((a, b) => (a.folder < b.folder ? -1 : 1))
}

/**
 * Trusts a folder: what it asks for now, or whatever it asks for.
 *
 * @throws {BeaverError} `start_failed` if the store cannot be written
 */
export function trustFolder(
  store: string,
  folder: string,
  acceptance: { readonly digest: string | null; readonly always: boolean; readonly now: string },
): void {
  const real = realFolder(folder)
  const before = trustedFolder(store, real)
  const digests = [
    ...(before?.digests ?? []).filter((each) => each !== acceptance.digest),
    ...(acceptance.digest === null ? [] : [acceptance.digest]),
  ].slice(-digestsMax)
  const content: TrustedFolder = {
    folder: real,
    digests,
    always: acceptance.always || (before?.always ?? false),
    accepted_at: acceptance.now,
  }
  const file = join(store, fileName(real))
  try {
    makeFolder(store)
    writeFileSync(`${file}.${process.pid}`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
    renameSync(`${file}.${process.pid}`, file)
  } catch (error) {
    throw new BeaverError(
      'start_failed',
      `The folder ${store} cannot be written: ${messageOf(error)}. XDG_STATE_HOME names another one.`,
      { cause: error },
    )
  }
}

/** Whether there was a record. */
export function revokeTrust(store: string, folder: string): boolean {
  const real = realFolder(folder)
  if (trustedFolder(store, real) === null) return false
  rmSync(join(store, fileName(real)), { force: true })
  return true
}

const fileName = (real: string): string => `${sha256(real).slice(0, 32)}.json`

function readRecord(store: string, name: string): TrustedFolder | null {
  const file = join(store, name)
  try {
    if (!isOwn(store) || !isOwn(file)) return null
    return record.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return null
  }
}

function isOwn(path: string): boolean {
  const { uid, mode } = statSync(path)
  return process.platform === 'win32' || (uid === process.getuid?.() && (mode & forOthersToWrite) === 0)
}
