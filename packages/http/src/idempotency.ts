// The header `Idempotency-Key`: the same key of the same caller names one task, so a request that is sent
// again starts nothing again.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Caller } from './access.ts'

export const idempotencyKey = z.object({
  'idempotency-key': z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe(
      'Makes a repeated request harmless: the same key with the same body names one task, or one text that steers.',
    ),
})

/** The id of the task that a caller names by a key. */
export function keyedId(caller: Caller, key: string): string {
  return `key_${createHash('sha256')
    .update(JSON.stringify([caller.name, key]))
    .digest('hex')
    .slice(0, 32)}`
}
