// Reads the SKILL.md of a folder from disk.
// D1. The file is in the skill's real folder: the folder itself may be a link, but its SKILL.md may not lead out of it.
// D2. Reading never waits: a named pipe, a folder or a device of that name is refused.
// D3. The size is checked before a byte is read.
import { constants } from 'node:fs'
import { lstat, open, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { readPart } from '../files/file-part.ts'
import { isInside } from '../files/workspace-path.ts'
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
    return code === 'ENOENT' || code === 'ENOTDIR' ? { kind: 'none' } : refused(`It cannot be read (${code}).`)
  }
  try {
    const [root, real] = [await realpath(folder), await realpath(file)]
    if (!isInside(root, real)) return refused('It is a link that leads out of the skill folder. Put the file itself there.')
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    await using handle = await open(real, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    const found = await handle.stat()
    if (!found.isFile()) return refused('It is not a regular file.')
    if (found.size > skillBytesMax) return refused(`It has ${found.size} bytes. Beaver reads at most ${skillBytesMax}.`)
    // One byte more than the size, so that the caller notices a file that grows meanwhile.
    return { kind: 'read', bytes: await readPart(handle, 0, found.size + 1) }
  } catch (error) {
    const code = codeOf(error)
    return refused(code === 'ENOENT' || code === 'ELOOP' ? 'It is a link that leads nowhere.' : `It cannot be read (${code}).`)
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN'

function refused(reason: string): SkillFileRead {
  return { kind: 'refused', reason }
}
