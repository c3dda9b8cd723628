// `image.store`: a part of an image that is too large for one message. A task then names the parts.
import { z } from 'zod'
import { contract } from '../contract.ts'

/** The bytes of one part. In base64 they fit into a message of NATS. */
export const imagePartBytesMax = 512 * 1024

export const partName = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'is not the SHA-256 of a part')
  .describe('The SHA-256 of a part, in hexadecimal digits.')

export const storeImage = contract(
  'Stores a part of an image, so that a task can name it. The blob store keeps the part.',
  {
    input: z.strictObject({
      data: z
        .base64()
        .min(1)
        .max(Math.ceil(imagePartBytesMax / 3) * 4)
        .describe('The content of the part, in base64.'),
    }),
    output: z.object({ sha256: partName }),
  },
)
