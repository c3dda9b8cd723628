// What events say about files: what was found at a path, and what a call would change.
import { z } from 'zod'

const count = z.number().int().nonnegative()

/** What was found at a path. `refused` means that the path leads out of the workspace. */
export const foundFile = z.object({
  path: z.string(),
  found: z.enum(['file', 'folder', 'other', 'missing', 'refused', 'unreadable']),
  bytes: count.nullable(),
})

/** What a call that asks would change. `diff` is a unified diff; `before` is what is there now. */
export const callPreview = z.object({
  effect: z.string(),
  path: z.string(),
  bytes: count,
  sha256: z.string(),
  before: z.object({ bytes: count, sha256: z.string() }).nullable(),
  diff: z.string(),
  diff_lines_left_out: count,
})
