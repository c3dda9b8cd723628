// What events say about files: what was found at a path, and what a call would change.
import { z } from 'zod'

const count = z.number().int().nonnegative()

/** What was found at a path. `refused` means that the path leads out of the workspace. */
export const foundFile = z.object({
  path: z.string().describe('The path as the evidence names it.'),
  found: z
    .enum(['file', 'folder', 'other', 'missing', 'refused', 'unreadable'])
    .describe('What is there. refused: the path leads out of the workspace.'),
  bytes: count.nullable().describe('The size of the file in bytes. null: not known.'),
})

/** What a call that asks would change. `diff` is a unified diff; `before` is what is there now. */
export const callPreview = z.object({
  effect: z
    .string()
    .describe('What the call would do: create, overwrite, append, unchanged, or why it would be refused.'),
  path: z.string().describe('The path of the file after all links, relative to the workspace.'),
  bytes: count.describe('The size of the content that the call writes.'),
  sha256: z.string().describe('The SHA-256 of this content.'),
  before: z
    .object({ bytes: count.describe('Its size.'), sha256: z.string().describe('Its SHA-256.') })
    .nullable()
    .describe('The file that is there. null: there is none.'),
  diff: z.string().describe('A unified diff against the file that is there, of bounded length.'),
  diff_lines_left_out: count.describe('How many lines of the diff are left out.'),
})
