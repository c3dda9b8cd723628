// What a call of write_file would change, for the person who is asked. Nothing is written, and nothing is
// read that the call itself could not replace.
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import type { Tool } from '@beaver/agent/tool-kit'
import type { BuiltinToolOptions } from '../options.ts'
import { lineDiff } from './line-diff.ts'
import { newInWorkspace } from './new-path.ts'

type Preview = NonNullable<Tool['preview']>
type Input = {
  readonly path: string
  readonly content: string
  readonly mode: 'create' | 'overwrite' | 'append'
}

/** A present file up to this size is compared. Of a larger one, only the hash and the size are shown. */
const comparedBytesMax = 1_048_576

/** @throws {ToolFailure} what the call itself would throw about its path */
export async function previewWrite(
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
    : lineDiff(old, mode === 'append' ? old + bytes.toString() : bytes.toString())
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
