// Stamps of files: a text that changes when one of the files changes, is added or is removed. Nothing of the
// files is read or held. A link counts as what it leads to. A file that cannot be looked at has a stamp of
// its own, so that it is noticed when it comes back.
import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { skillFileName } from '../skills/skill-file.ts'

/** How many files are looked at together. */
const atOnceMax = 64

/**
 * The stamp of the skills in these folders.
 *
 * @example
 * (await stampOfSkills(['./skills'])) === (await stampOfSkills(['./skills'])) // => true
 */
export const stampOfSkills = (folders: readonly string[]): Promise<string> =>
  stampOf(folders, (folder, name) => join(folder, name, skillFileName))

/**
 * The stamp of the JSON files in these folders, and of single files.
 *
 * @example
 * (await stampOfJson(['./workflows'], [])) === (await stampOfJson([], [])) // => false
 */
export const stampOfJson = (folders: readonly string[], files: readonly string[]): Promise<string> =>
  stampOf(folders, (folder, name) => (name.endsWith('.json') ? join(folder, name) : null), files)

async function stampOf(
  folders: readonly string[],
  fileOf: (folder: string, name: string) => string | null,
  files: readonly string[] = [],
): Promise<string> {
  const hash = createHash('sha256')
  for (const folder of folders) {
    const names = await readdir(folder).catch((error: unknown) => codeOf(error))
    hash.update(`${folder}\n${typeof names === 'string' ? names : ''}\n`)
    if (typeof names === 'string') continue
    const found = names.toSorted().flatMap((name) => fileOf(folder, name) ?? [])
    for (let i = 0; i < found.length; i += atOnceMax)
      for (const line of await Promise.all(found.slice(i, i + atOnceMax).map(lineOf))) hash.update(line)
  }
  for (const file of files) hash.update(await lineOf(file))
  return hash.digest('hex')
}

async function lineOf(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true })
    return `${file} ${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}\n`
  } catch (error) {
    return `${file} ${codeOf(error)}\n`
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN'
