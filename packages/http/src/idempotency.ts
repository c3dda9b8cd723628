// The header `Idempotency-Key`. The same key of the same token always names the same task, so repeating a
// request starts nothing new.
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

/** The task id for a key of a caller. Callers do not share keys. */
export function keyedId(caller: Caller, key: string): string {
  return `key_${createHash('sha256')
    .update(JSON.stringify([caller.name, key]))
    .digest('hex')
    .slice(0, 32)}`
}
