// The manifest of a backup: its streams and files, and the SHA-256 of each file. The manifest is written
// last, so a folder without it is not a backup. The manifest contains its own SHA-256, so that a change is
// noticed. This protects from accidents, not from a person who can write to the folder, because the keys are
// there, too. Except for the manifest, nothing in a backup is used before each file has the SHA-256 that the
// manifest names.
import { createHash } from 'node:crypto'
import { createReadStream, readdirSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BeaverError, canonicalJson, messageOf } from '@beaver/core'
import { backupFormat, backupManifest, type BackupManifest } from '@beaver/nats'
import { counted } from '../text/figures.ts'

/** The name of the manifest in the folder of a backup. */
export const manifestName = 'manifest.json'

export type Manifest = BackupManifest
/** A file of a backup: its path in the folder, its size in bytes and its SHA-256. */
export type BackupFile = Manifest['files'][number]

const digestOf = (value: object): string => createHash('sha256').update(canonicalJson(value)).digest('hex')

/** The text of a manifest, with its own SHA-256. */
export function manifestText(of: Omit<Manifest, 'format' | 'sha256'>): string {
  const named = { format: backupFormat, ...of }
  return `${JSON.stringify({ ...named, sha256: digestOf(named) }, null, 2)}\n`
}

/**
 * Reads and checks the text of a manifest.
 *
 * @throws {BeaverError} `invalid_arguments` if the text is not a manifest of this version, or was changed
 */
function parsedManifest(text: string, file: string): Manifest {
  const value = jsonIn(text)
  const { format: found } = (value ?? {}) as { format?: unknown }
  if (typeof found === 'string' && found !== backupFormat)
    throw new BeaverError(
      'invalid_arguments',
      `The backup ${file} has the format ${JSON.stringify(found)}. This version of Beaver reads ${backupFormat}.`,
    )
  const parsed = backupManifest.safeParse(value)
  if (!parsed.success)
    throw new BeaverError('invalid_arguments', `${file} is no manifest of a backup, or it was changed.`)
  const strange = parsed.data.files.find(
    ({ path }) => path.startsWith('home/') && !isHomeFile(path.slice('home/'.length)),
  )
  if (strange !== undefined)
    throw new BeaverError('invalid_arguments', `${file} names a file that no backup holds: ${strange.path}.`)
  const { sha256: said, ...rest } = parsed.data
  const { sha256: _, ...raw } = value as Record<string, unknown>
  if (digestOf(raw) !== said || digestOf(rest) !== said)
    throw new BeaverError(
      'invalid_arguments',
      `${file} was changed after the backup was made: it does not have the SHA-256 that it names.`,
    )
  return parsed.data
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/**
 * Reads the manifest of a backup, and checks that all its files are there with their original content.
 *
 * @param onProgress called after each file, with the bytes that were read so far and the bytes of all files
 * @throws {BeaverError} `not_found`, `invalid_arguments`
 */
export async function checkedBackup(
  folder: string,
  onProgress: (read: number, all: number) => void = () => {},
): Promise<Manifest> {
  const found = parsedManifest(await textOf(folder), join(folder, manifestName))
  const all = found.files.reduce((sum, { bytes }) => sum + bytes, 0)
  let read = 0
  const wrong: string[] = []
  for (const { path, bytes, sha256: said } of found.files) {
    const file = join(folder, path)
    const size = (await stat(file).catch(() => null))?.size
    if (size === undefined) wrong.push(`${path} is missing`)
    else if (size !== bytes || (await hashOfFile(file)) !== said) wrong.push(`${path} has another content`)
    onProgress((read += bytes), all)
  }
  const [first] = wrong
  if (first === undefined) return found
  const more = wrong.length === 1 ? '' : `, and ${counted(wrong.length - 1, 'other file')} as well`
  throw new BeaverError('invalid_arguments', `The backup ${folder} is not whole: ${first}${more}.`)
}

async function textOf(folder: string): Promise<string> {
  try {
    return await readFile(join(folder, manifestName), 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new BeaverError(
        'invalid_arguments',
        `The backup ${folder} cannot be read: ${messageOf(cause)}.`,
        { cause },
      )
    const why =
      (await stat(folder).catch(() => null)) === null
        ? 'There is no such folder'
        : `It has no ${manifestName}: a backup that was interrupted has none`
    throw new BeaverError('not_found', `${folder} is no backup. ${why}.`, { cause })
  }
}

async function hashOfFile(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(file)) hash.update(piece as Buffer)
  return hash.digest('hex')
}

// The files of a home that a backup contains. A home may be a folder that the user had before, with other
// things in it, so only known names are copied. The marks and the checkpoints come first, because they must
// not be newer than the journal, which is copied after them. A backup leaves out what Beaver can make again
// (the read model, the indexes of knowledge bases) and what belongs to this machine (run, logs). The server
// copies the streams.

const isCheckpoints = (name: string): boolean => /^checkpoints-.*\.ndjson$/.test(name)
const folders = ['keys', 'nats/keys', 'gateway', 'mcp-logins']
const single = ['mcp-pins.json', 'prices.json']

/** Whether a backup contains the file with this path in the home. */
const isHomeFile = (path: string): boolean =>
  single.includes(path) ||
  (!path.includes('/') && isCheckpoints(path)) ||
  ['marks', ...folders].some((folder) => path.startsWith(`${folder}/`))

/** The paths of these files in the home, in the order in which they must be copied. */
export function homeFiles(home: string): string[] {
  const top = readdirSync(home, { withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [entry.name] : [],
  )
  return [
    ...below(home, 'marks'),
    ...top.filter(isCheckpoints).toSorted(),
    ...folders.flatMap((folder) => below(home, folder)),
    ...single.filter((name) => top.includes(name)),
  ]
}

/**
 * The files below a folder. Links are left out, and so are files that are still being written, whose names
 * end with `.new`.
 */
function below(home: string, folder: string): string[] {
  try {
    return readdirSync(join(home, folder), { withFileTypes: true })
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        const path = `${folder}/${entry.name}`
        return entry.isDirectory()
          ? below(home, path)
          : entry.isFile() && !entry.name.endsWith('.new')
            ? [path]
            : []
      })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
