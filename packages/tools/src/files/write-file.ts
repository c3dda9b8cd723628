// write_file: creates, replaces or extends a text file of the workspace. The file is inside the workspace
// after all symlinks (see new-path.ts), and never where Beaver or git keep what decides what runs. All is
// done from the descriptor of the file's folder, and nothing is written through a link or to a file with a
// second name. A file is written as a whole or not at all: under another name first, then moved to its place
// in one step. A failure leaves nothing. Appending is one write at the end, so parallel appends lose nothing.
// Only this mode is not whole or nothing.
import { createHash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, rename, rm } from 'node:fs/promises'
import { defineTool, quoted, type Tool, ToolFailure } from '@beaver/agent/tool-kit'
import { z } from 'zod'
import type { BuiltinToolOptions } from '../options.ts'
import { newInWorkspace, type NewPath, shownPath } from './new-path.ts'

export interface WrittenFile {
  readonly path: string
  /** The size of the whole file. */
  readonly bytes: number
  /** `unchanged`: the file had the same content already. */
  readonly outcome: 'created' | 'overwritten' | 'appended' | 'unchanged'
}

const contentBytesMax = 1_048_576
const fileBytesMax = 67_108_864

export const writeFile = (guarded: BuiltinToolOptions['protected']): Tool =>
  defineTool({
    name: 'write_file',
    description: 'Writes a text file. "create" (default) refuses a file that is there.',
    input: z.strictObject({
      path: z.string().min(1),
      content: z.string(),
      mode: z.enum(['create', 'overwrite', 'append']).default('create'),
    }),
    // Appending twice differs from appending once.
    idempotent: false,
    sink: 'files',
    // It has what the run wrote itself.
    reads: 'public',
    permission: 'ask',
    subject: ({ path }) => shownPath(path),
    subjectKind: 'path',
    preview: (input, context) => previewWrite(input, context, guarded),
    async run({ path, content, mode }, context): Promise<WrittenFile> {
      const bytes = Buffer.from(content.toWellFormed())
      if (bytes.length > contentBytesMax)
        throw new ToolFailure(
          'too_large',
          `The content has ${bytes.length} bytes; at most ${contentBytesMax} are written at once. Write the rest with mode "append".`,
        )
      await using place = await newInWorkspace(context, path, guarded)
      context.signal.throwIfAborted()
      try {
        await place.makeFolders()
        if (mode === 'append') return await append(place, bytes)
        if (await holds(place, bytes)) return { path: place.shown, bytes: bytes.length, outcome: 'unchanged' }
        if (place.found !== null && mode === 'create') throw exists(place)
        await putWhole(place, bytes, mode === 'overwrite')
      } catch (error) {
        if (error instanceof ToolFailure) throw error
        throw new ToolFailure(
          'not_written',
          `${quoted(path)} could not be written (${(error as NodeJS.ErrnoException).code ?? String(error)}); nothing was changed.`,
        )
      }
      return {
        path: place.shown,
        bytes: bytes.length,
        outcome: place.found === null ? 'created' : 'overwritten',
      }
    },
  })

const exists = ({ shown }: NewPath): ToolFailure =>
  new ToolFailure(
    'exists',
    `The file ${quoted(shown)} already exists with other content. Read it first; "overwrite" replaces it, "append" adds to it.`,
  )

async function holds(place: NewPath, bytes: Buffer): Promise<boolean> {
  if (place.found?.size !== bytes.length) return false
  await using handle = await place.open(place.name, constants.O_RDONLY)
  return (await handle.readFile()).equals(bytes)
}

async function append(place: NewPath, bytes: Buffer): Promise<WrittenFile> {
  await using handle = await place.open(
    place.name,
    constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT,
  )
  const { size, nlink } = await handle.stat()
  if (nlink > 1)
    throw new ToolFailure(
      'hard_link',
      `${quoted(place.shown)} has a second name (a hard link), which may be outside the workspace, so nothing is added to it. "overwrite" replaces it by a file of its own.`,
    )
  if (size + bytes.length > fileBytesMax)
    throw new ToolFailure(
      'too_large',
      `${quoted(place.shown)} would have more than ${fileBytesMax} bytes. Start another file.`,
    )
  const { bytesWritten } = await handle.write(bytes)
  if (bytesWritten < bytes.length)
    throw new ToolFailure(
      'partly_written',
      `Only ${bytesWritten} of ${bytes.length} bytes were added to ${quoted(place.shown)}: the disk may be full. Check its end before you continue.`,
    )
  return {
    path: place.shown,
    bytes: size + bytes.length,
    outcome: place.found === null ? 'created' : 'appended',
  }
}

async function putWhole(place: NewPath, bytes: Buffer, replace: boolean): Promise<void> {
  const beside = `.beaver-write-${randomUUID()}`
  try {
    {
      await using handle = await place.open(beside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL)
      if (place.found !== null) await handle.chmod(place.found.mode & 0o777)
      await handle.writeFile(bytes)
      await handle.sync()
    }
    if (replace) await rename(place.entry(beside), place.entry(place.name))
    else await putNew(beside, place)
  } finally {
    await rm(place.entry(beside), { force: true })
  }
}

/** If another process has made the file meanwhile, that file stays. */
async function putNew(beside: string, place: NewPath): Promise<void> {
  try {
    await link(place.entry(beside), place.entry(place.name))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw exists(place)
    // A file system without hard links: first the name is taken, then the content is moved there.
    await (await place.open(place.name, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL)).close()
    await rename(place.entry(beside), place.entry(place.name))
  }
}

// What a call of write_file would change, for the person who is asked. Nothing is written, and nothing is
// read that the call itself could not replace.

type Preview = NonNullable<Tool['preview']>
type Input = {
  readonly path: string
  readonly content: string
  readonly mode: 'create' | 'overwrite' | 'append'
}

/** A present file up to this size is compared. Of a larger one, only the hash and the size are shown. */
const comparedBytesMax = 1_048_576

/** @throws {ToolFailure} what the call itself would throw about its path */
async function previewWrite(
  { path, content, mode }: Input,
  context: Parameters<Preview>[1],
  guarded: BuiltinToolOptions['protected'],
) {
  await using place = await newInWorkspace(context, path, guarded)
  const bytes = Buffer.from(content.toWellFormed())
  const found = place.found === null ? null : await readWhole(place)
  const effect =
    found === null
      ? 'create'
      : mode === 'create'
        ? found.equals(bytes)
          ? 'unchanged'
          : 'refused: the file exists'
        : mode
  const compared = found === null || found.length <= comparedBytesMax
  const old = compared ? (found?.toString() ?? '') : ''
  const diff = !compared
    ? { text: '', linesLeftOut: 0 }
    : await lineDiff(old, mode === 'append' ? old + bytes.toString() : bytes.toString())
  return {
    effect,
    path: place.real,
    bytes: bytes.length,
    sha256: sha256(bytes),
    before: found === null ? null : { bytes: found.length, sha256: sha256(found) },
    diff: diff.text,
    diff_lines_left_out: diff.linesLeftOut,
  }
}

async function readWhole(place: Awaited<ReturnType<typeof newInWorkspace>>): Promise<Buffer> {
  await using handle = await place.open(place.name, constants.O_RDONLY)
  return await handle.readFile()
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

// A unified diff of two texts for a person, bounded in work and in length. If too many lines differ to find
// what stayed, everything from the first different line on is removed and added: longer, and right.

const contextLines = 3
const editsMax = 1_000
const shownLinesMax = 120
const lineCharsMax = 400

interface LineDiff {
  readonly text: string
  readonly linesLeftOut: number
}

export async function lineDiff(before: string, after: string): Promise<LineDiff> {
  const { createTwoFilesPatch, OMIT_HEADERS } = await import('diff')
  const patch = createTwoFilesPatch('', '', before, after, undefined, undefined, {
    context: contextLines,
    maxEditLength: editsMax,
    headerOptions: OMIT_HEADERS,
  })
  const lines = patch === undefined ? rewritten(linesOf(before), linesOf(after)) : linesOf(patch)
  const text = lines
    .slice(0, shownLinesMax)
    .map((line) => (line.length > lineCharsMax ? `${line.slice(0, lineCharsMax)}…` : line))
  return { text: text.join('\n'), linesLeftOut: Math.max(0, lines.length - shownLinesMax) }
}

function rewritten(old: readonly string[], fresh: readonly string[]): string[] {
  const different = old.findIndex((line, i) => line !== fresh[i])
  const start = different < 0 ? old.length : different
  return [
    `@@ -${start + 1},${old.length - start} +${start + 1},${fresh.length - start} @@`,
    ...old.slice(start).map((line) => `-${line}`),
    ...fresh.slice(start).map((line) => `+${line}`),
  ]
}

function linesOf(text: string): string[] {
  const whole = text.replace(/\n$/, '')
  return whole === '' ? [] : whole.split('\n')
}
