// `checkpoints` of the configuration: the signed checkpoints of the journal, which the projector makes. They
// are in the journal and in the home; the others are for more places.
import { z } from 'zod'

export const checkpoints = z
  .strictObject({
    /** A checkpoint is made after this time, if the journal has grown. */
    every_ms: z.number().int().min(1_000).max(86_400_000).default(60_000),
    /** A checkpoint is made after this many events, too. */
    every_events: z.number().int().min(1).max(100_000_000).default(10_000),
    /** A folder, relative to the configuration file. */
    folder: z.string().min(1).optional(),
    /** Each checkpoint is sent here by POST, as text. */
    webhook: z.url('must be a URL').optional(),
    /** A key-value bucket of a NATS server. The key is the namespace. */
    bucket: z
      .strictObject({
        nats_url: z.string().min(1),
        name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "-" or "_"'),
      })
      .optional(),
  })
  .prefault({})
