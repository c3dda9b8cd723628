// write_file: creates, replaces or extends a text file of the workspace.
// W1. The file is inside the workspace after all symlinks (see new-path.ts), and never where Beaver or git keep what decides what runs.
// W2. A file is written as a whole or not at all: under another name first, then moved to its place in one step. A failure leaves nothing.
// W3. Appending is one write at the end, so parallel appends lose nothing. Only this mode is not whole or nothing.
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { defineTool, quoted, type Tool, ToolFailure } from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { makeFolders, newInWorkspace, type NewPath, shownPath } from './new-path.ts'

export interface WrittenFile {
  readonly path: string
  /** The size of the whole file. */
  readonly bytes: number
  /** `unchanged`: the file had the same content already. */
  readonly outcome: 'created' | 'overwritten' | 'appended' | 'unchanged'
}

const contentBytesMax = 1_048_576
const fileBytesMax = 67_108_864

export const writeFile: Tool = defineTool({
  name: 'write_file',
  description:
    'Writes a text file of the workspace as UTF-8. "create" (the default) refuses a file that is there with other content, "overwrite" replaces it, "append" adds to its end. ' +
    'Missing folders are made. Returns the path, the bytes of the file and what was done.',
  input: z.strictObject({
    path: z.string().min(1).describe('File, relative to the workspace.'),
    content: z.string().describe(`The text, at most ${contentBytesMax} bytes.`),
    mode: z.enum(['create', 'overwrite', 'append']).default('create').describe('What to do if the file exists. Default "create": it is not changed.'),
  }),
  // Appending twice differs from appending once.
  idempotent: false,
  sink: 'files',
  permission: 'ask',
  subject: ({ path }) => shownPath(path),
  async run({ path, content, mode }, context): Promise<WrittenFile> {
    const bytes = Buffer.from(content.toWellFormed())
    if (bytes.length > contentBytesMax)
      throw new ToolFailure(
        'too_large',
        `The content has ${bytes.length} bytes; at most ${contentBytesMax} are written at once. Write the rest with mode "append".`,
      )
    const place = await newInWorkspace(context.workspace, path)
    context.signal.throwIfAborted()
    try {
      await makeFolders(place)
      if (mode === 'append') return await append(place, bytes)
      if (place.exists && (await holds(place, bytes))) return { path: place.shown, bytes: bytes.length, outcome: 'unchanged' }
      if (place.exists && mode === 'create') throw exists(place)
      await putWhole(place, bytes, mode === 'overwrite')
    } catch (error) {
      if (error instanceof ToolFailure) throw error
      throw new ToolFailure(
        'not_written',
        `${quoted(path)} could not be written (${(error as NodeJS.ErrnoException).code ?? String(error)}); nothing was changed.`,
      )
    }
    return { path: place.shown, bytes: bytes.length, outcome: place.exists ? 'overwritten' : 'created' }
  },
})

const exists = ({ shown }: NewPath): ToolFailure =>
  new ToolFailure('exists', `The file ${quoted(shown)} already exists with other content. Read it first; "overwrite" replaces it, "append" adds to it.`)

async function holds({ absolute }: NewPath, bytes: Buffer): Promise<boolean> {
  return (await stat(absolute)).size === bytes.length && (await readFile(absolute)).equals(bytes)
}

async function append(place: NewPath, bytes: Buffer): Promise<WrittenFile> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  await using handle = await open(place.absolute, flags, 0o666)
  const { size } = await handle.stat()
  if (size + bytes.length > fileBytesMax)
    throw new ToolFailure('too_large', `${quoted(place.shown)} would have more than ${fileBytesMax} bytes. Start another file.`)
  const { bytesWritten } = await handle.write(bytes)
  if (bytesWritten < bytes.length)
    throw new ToolFailure(
      'partly_written',
      `Only ${bytesWritten} of ${bytes.length} bytes were added to ${quoted(place.shown)}: the disk may be full. Check its end before you continue.`,
    )
  return { path: place.shown, bytes: size + bytes.length, outcome: place.exists ? 'appended' : 'created' }
}

async function putWhole(place: NewPath, bytes: Buffer, replace: boolean): Promise<void> {
  const beside = join(dirname(place.absolute), `.beaver-write-${randomUUID()}`)
  try {
    const mode = place.exists ? (await stat(place.absolute)).mode & 0o777 : 0o666
    {
      await using handle = await open(beside, 'wx', mode)
      await handle.writeFile(bytes)
      await handle.sync()
    }
    if (replace) await rename(beside, place.absolute)
    else await putNew(beside, place)
  } finally {
    await rm(beside, { force: true })
  }
}

/** If another process has made the file meanwhile, that file stays. */
async function putNew(beside: string, place: NewPath): Promise<void> {
  try {
    await link(beside, place.absolute)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw exists(place)
    // A file system without hard links: first the name is taken, then the content is moved there.
    await (await open(place.absolute, 'wx')).close()
    await rename(beside, place.absolute)
  }
}
