// The manifest of a backup: what the backup holds, and the SHA-256 of each file. It is written last, so a
// folder without it is no backup. The manifest names its own SHA-256, so a change of it is noticed. This
// protects from accidents, not from somebody who can write the folder: the keys are in the same folder.
// Nothing is read from a backup, other than the manifest, before every file has the SHA-256 that the manifest
// says.
import { createHash } from 'node:crypto'
import { createReadStream, readdirSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BeaverError, canonicalJson, messageOf } from '@beaver/core'
import { backupFormat, backupManifest, type BackupManifest } from '@beaver/nats'
import { counted } from '../text/figures.ts'

export const manifestName = 'manifest.json'

export type Manifest = BackupManifest
export type BackupFile = Manifest['files'][number]

const digestOf = (value: object): string => createHash('sha256').update(canonicalJson(value)).digest('hex')

/** The text of a manifest. */
export function manifestText(of: Omit<Manifest, 'format' | 'sha256'>): string {
  const named = { format: backupFormat, ...of }
  return `${JSON.stringify({ ...named, sha256: digestOf(named) }, null, 2)}\n`
}

/**
 * Reads a manifest from its text.
 *
 * @throws {BeaverError} `invalid_arguments`
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
 * The manifest of a backup whose files are all there, with the content that they had.
 *
 * @param onProgress called with the bytes that were read
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

// The files of a home that a backup holds. A home may be a folder that the user had before, with other things
// in it, so only known names are taken. The marks and the kept checkpoints come first: they must not be newer
// than the journal, which is copied after them. Left out is what Beaver makes again (the read model, the
// indexes of knowledge bases), what is about this machine now (run, logs), and the streams, which are copied
// by the server.

const isCheckpoints = (name: string): boolean => /^checkpoints-.*\.ndjson$/.test(name)
const folders = ['keys', 'nats/keys', 'gateway', 'mcp-logins']
const single = ['mcp-pins.json', 'prices.json']

/** Whether a backup holds a file of this path in the home. */
const isHomeFile = (path: string): boolean =>
  single.includes(path) ||
  (!path.includes('/') && isCheckpoints(path)) ||
  ['marks', ...folders].some((folder) => path.startsWith(`${folder}/`))

/** Paths in the home, in the order in which they are to be copied. */
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
 * The files below a folder. A file that is still being written has another name at its end. Links are left
 * out.
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
