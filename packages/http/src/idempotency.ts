// Ids that are computed from what a client sends: from the header `Idempotency-Key`, or from the ids of a
// protocol. The same values of the same token and the same user always name the same task, so repeating a
// request starts nothing new. No client chooses such an id itself, so nobody takes the id of somebody else.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Caller } from './access.ts'
import { HttpProblem } from './problem.ts'

export const idempotencyKey = z.object({
  'idempotency-key': z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe(
      'Makes a repeated request harmless: the same key with the same body names one task, one text that steers, or one raise of a budget. The key counts for this token and this user alone.',
    ),
})

const prefix = 'key_'

/** Who repeats a request: the token that sends it, and the user for whom it is. */
export interface KeyOwner {
  readonly caller: Pick<Caller, 'name'>
  /** `undefined`: the request is for no user. */
  readonly userId: string | undefined
}

/**
 * The id for values of a client. Two tokens share no id, and neither do two users of one token.
 *
 * @param kind says what the values are, so that a key is never the same as the ids of a protocol
 */
export function keyedId({ caller, userId }: KeyOwner, kind: string, ...values: readonly string[]): string {
  return `${prefix}${createHash('sha256')
    .update(JSON.stringify([caller.name, userId ?? null, kind, ...values]))
    .digest('hex')
    .slice(0, 32)}`
}

/**
 * Refuses an id that a client chose and that looks like one of `keyedId`.
 *
 * @param path the place of the id in the request
 * @throws {HttpProblem} `invalid_arguments`
 */
export function mustBeOwnId(id: string | undefined, path: string): void {
  if (id?.startsWith(prefix) !== true) return
  const message = `must not begin with "${prefix}": such ids belong to the header Idempotency-Key. Leave it out, or use another id`
  throw new HttpProblem('invalid_arguments', `The request is not valid: ${path} ${message}.`, {
    problems: [{ path, message }],
  })
}
