// read_file: reads a part of one text file.
import { defineTool, type FilePart, readFilePart, resolveInWorkspace } from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { shownPath } from './new-path.ts'

export const bytesDefault = 64 * 1024
/** A tool result has at most 200,000 characters. A longer text might not fit. */
export const bytesLimit = 128 * 1024

export const readFile = defineTool({
  name: 'read_file',
  description:
    'Reads a text file of the workspace. Returns its text from "offset" on, at most "bytes_max" bytes; "next_offset" is where to go on, null at the end. ' +
    'A binary file is reported as such, without text.',
  input: z.strictObject({
    path: z.string().describe('File, relative to the workspace.'),
    offset: z.int().min(0).default(0).describe('Byte to begin at. Default 0.'),
    bytes_max: z.int().min(1).max(bytesLimit).default(bytesDefault).describe(`At most this many bytes. Default ${bytesDefault}.`),
  }),
  idempotent: true,
  effects: 'reads',
  subject: ({ path }) => shownPath(path),
  async run({ path, offset, bytes_max }, context): Promise<FilePart> {
    const file = await resolveInWorkspace(context.workspace, path)
    context.signal.throwIfAborted()
    return readFilePart(file, path, { offset, bytesMax: bytes_max })
  },
})
