// Lists the files of a skill besides its SKILL.md, and reads one of them. Nothing outside the skill's real
// folder is read or revealed, whatever the path. Links are not listed. A link that stays inside can be read.
import { readFilePart, type FilePart } from '../files/file-part.ts'
import { walk } from '../files/walk.ts'
import { openFileInside, openFolderInside } from '../files/open-inside.ts'
import { isSecretPath, secretFile } from '../files/secret-paths.ts'
import { quoted, type PathRoot } from '../files/workspace-path.ts'
import { ToolFailure } from '../tools/tool-failure.ts'
import { skillFileName } from './skill-file.ts'
import type { Skill } from './skill.ts'

const filesMax = 200
const depthMax = 8
/** How many files and folders are looked at, because links to large folders would take long. */
const lookedAtMax = 5_000

/** The files of a skill besides its SKILL.md. */
export interface SupportFiles {
  /** Relative to the skill's folder, nearest first. */
  readonly files: readonly string[]
  /** Whether there are more files than are listed. */
  readonly more: boolean
}

/**
 * Lists the files of a skill besides its SKILL.md, with paths relative to its folder.
 *
 * @throws the abort of `signal`
 * @example
 * const { files, more } = await listSupportFiles({ name: 'tides', folder: './skills/tides' }, AbortSignal.timeout(5_000))
 * files // => ['reference/harbours.md']
 * more // => false
 */
export async function listSupportFiles(
  skill: Pick<Skill, 'name' | 'folder'>,
  signal: AbortSignal,
): Promise<SupportFiles> {
  const files: string[] = []
  let lookedAt = 0
  try {
    await using from = await openFolderInside(rootOf(skill), '')
    for await (const { kind, shown } of walk(from, { signal, depthMax })) {
      if (++lookedAt > lookedAtMax) return { files, more: true }
      if (kind !== 'file' || shown === skillFileName) continue
      if (files.length === filesMax) return { files, more: true }
      files.push(shown)
    }
  } catch (error) {
    signal.throwIfAborted()
    // The folder was removed after loading, or may not be read. The skill's body is still in memory.
    if (!(error instanceof ToolFailure) && (error as NodeJS.ErrnoException).code === undefined) throw error
  }
  return { files, more: false }
}

/**
 * Reads a part of one file.
 *
 * @param path relative to the skill's folder
 * @throws {ToolFailure} `outside_skill`, `not_found`, `not_a_file`, `hard_link`, `secret_file`,
 * `binary_file`, `unreadable`
 * @example
 * const skill = { name: 'tides', folder: './skills/tides' }
 * const { text } = await readSupportFile(skill, 'reference/harbours.md', { offset: 0, bytesMax: 10 })
 * text // => '# Harbours'
 * await readSupportFile(skill, '../../tools.ts', { offset: 0, bytesMax: 10 }) // throws outside_skill
 */
export async function readSupportFile(
  skill: Pick<Skill, 'name' | 'folder'>,
  path: string,
  part: { readonly offset: number; readonly bytesMax: number },
): Promise<FilePart & { readonly text: string }> {
  await using file = await openFileInside(rootOf(skill), path).catch((error: unknown) => {
    if (error instanceof ToolFailure) throw error
    throw new ToolFailure(
      'unreadable',
      `The folder of the skill ${skill.name} cannot be read any more. Continue without ${quoted(path)}.`,
    )
  })
  if (isSecretPath(file.shown) || isSecretPath(file.real)) throw secretFile(path)
  const read = await readFilePart(file, part)
  if (read.text !== null) return { ...read, text: read.text }
  throw new ToolFailure(
    'binary_file',
    `${quoted(path)} of the skill ${skill.name} is a binary file (${read.bytes} bytes). Only text can be viewed.`,
  )
}

const rootOf = ({ name, folder }: Pick<Skill, 'name' | 'folder'>): PathRoot => ({
  folder,
  outside: 'outside_skill',
  called: `the folder of the skill ${name}`,
  example: 'references/guide.md',
  hint: `Call skill_view with the name ${JSON.stringify(name)} alone to see its files.`,
})
