// Reads the SKILL.md of a folder from disk. The file is in the skill's real folder: the folder itself may be
// a link, but its SKILL.md may not lead out of it. Reading never waits: a named pipe, a folder or a device of
// that name is refused. The size is checked before a byte is read.
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readPart } from '../files/file-part.ts'
import { openFileInside } from '../files/open-inside.ts'
import { ToolFailure } from '../tools/tool-failure.ts'
import { skillBytesMax } from './read-front-matter.ts'

export const skillFileName = 'SKILL.md'

export type SkillFileRead =
  | { readonly kind: 'read'; readonly bytes: Uint8Array }
  /** The folder contains no skill. */
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly reason: string }

export async function readSkillFile(folder: string): Promise<SkillFileRead> {
  const file = join(folder, skillFileName)
  try {
    await lstat(file)
  } catch (error) {
    const code = codeOf(error)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') return refused(`It cannot be read (${code}).`)
    const misnamed = await misnamedIn(folder)
    return misnamed === undefined
      ? { kind: 'none' }
      : refused(`The file has the name ${JSON.stringify(misnamed)}. Name it ${skillFileName}.`)
  }
  try {
    const root = {
      folder,
      outside: 'outside_skill',
      called: 'the skill folder',
      example: skillFileName,
      hint: '',
    } as const
    await using file = await openFileInside(root, skillFileName)
    const found = await file.handle.stat()
    if (found.size > skillBytesMax)
      return refused(`It has ${found.size} bytes. Beaver reads at most ${skillBytesMax}.`)
    // One byte more than the size, so that the caller notices a file that grows meanwhile.
    return { kind: 'read', bytes: await readPart(file.handle, 0, found.size + 1) }
  } catch (error) {
    return refused(
      error instanceof ToolFailure
        ? (reasons[error.code] ?? error.message)
        : `It cannot be read (${codeOf(error)}).`,
    )
  }
}

/** A file named like SKILL.md, but with other upper and lower case. */
const misnamedIn = async (folder: string): Promise<string | undefined> =>
  (await readdir(folder).catch(() => [])).find((name) => name.toUpperCase() === skillFileName.toUpperCase())

const reasons: Readonly<Record<string, string>> = {
  outside_skill: 'It is a link that leads out of the skill folder. Put the file itself there.',
  not_found: 'It is a link that leads nowhere.',
  not_a_file: 'It is not a regular file.',
  hard_link: 'It has a second name (a hard link), which may be outside the skill folder. Put a copy there.',
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN'

function refused(reason: string): SkillFileRead {
  return { kind: 'refused', reason }
}
