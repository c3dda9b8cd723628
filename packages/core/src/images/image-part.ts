// What the journal says about an image: its kind, its size and the SHA-256 under which the blob store has its
// content. The content is durable before the event that refers to it. Its limits,
// its tokens and its text are in image-measures.ts.
import { z } from 'zod'

const count = z.number().int().nonnegative()

/** The kinds of images that models take. */
export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const

/** An image that a model is shown. `name`: its path in the workspace, or the name that its sender gave it. */
export const imagePart = z.object({
  media_type: z.enum(imageTypes).describe('Its kind, as its first bytes say.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe(
      'The SHA-256 of its content, in hexadecimal digits. The blob store has the content under this name.',
    ),
  bytes: count.describe('The length of its content in bytes.'),
  name: z
    .string()
    .optional()
    .describe('Its path in the workspace, or the name that its sender gave it. Absent: it has none.'),
  width: count.optional().describe('Its width in pixels. Absent: it is not known.'),
  height: count.optional().describe('Its height in pixels. Absent: it is not known.'),
})
/** An image that a model is shown, as the journal has it. */
export type ImagePart = z.infer<typeof imagePart>
