// The stored form of an account. Amounts of zero are left out, and money is text: its units do not fit a
// number.
import { z } from 'zod'
import type { Account } from './account.ts'
import type { Amounts } from './amounts.ts'
import { budgetLimits } from './budget.ts'

const count = z.int().min(0)
const storedAmounts = z
  .strictObject({
    usd: z
      .string()
      .regex(/^-?\d{1,30}$/)
      .optional(),
    tokens: count.optional(),
    model_calls: count.optional(),
    tool_calls: count.optional(),
  })
  .transform(({ usd = '0', tokens = 0, model_calls = 0, tool_calls = 0 }): Amounts => ({
    ...{ usd: BigInt(usd), tokens, model_calls, tool_calls, wall_ms: 0 },
  }))
const storedAccount = z.strictObject({
  v: z.literal(1),
  ended: storedAmounts,
  tasks: z.record(
    z.string(),
    z.strictObject({
      session: z.string(),
      epoch: count,
      used: storedAmounts,
      reserved: storedAmounts,
      waits: z.literal(true).optional(),
    }),
  ),
  raises: z.array(
    z.strictObject({
      request_id: z.string(),
      more: budgetLimits,
      at: z.string(),
      by: z.string().optional(),
      user_id: z.string().optional(),
      reason: z.string().optional(),
    }),
  ),
  told: z.record(z.string(), z.number()),
})

/**
 * The account as it is stored.
 *
 * @example
 * readAccount(accountText(newAccount())) // => newAccount()
 */
export function accountText({ ended, tasks, raises, told }: Account): string {
  const stored = {
    ...{ v: 1, ended: textOf(ended), raises, told: Object.fromEntries(told) },
    tasks: Object.fromEntries(
      [...tasks].map(([task, { session, epoch, used, reserved, waits }]) => [
        task,
        {
          ...{ session, epoch, used: textOf(used), reserved: textOf(reserved) },
          ...(waits ? { waits } : {}),
        },
      ]),
    ),
  }
  return JSON.stringify(stored)
}

/**
 * The stored account. `null`: it cannot be read.
 *
 * @example
 * readAccount('nothing') // => null
 */
export function readAccount(text: string): Account | null {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    return null
  }
  const parsed = storedAccount.safeParse(read)
  if (!parsed.success) return null
  const { ended, tasks, raises, told } = parsed.data
  return {
    ...{ ended, raises, told: new Map(Object.entries(told)) },
    tasks: new Map(
      Object.entries(tasks).map(([task, { waits = false, ...entry }]) => [task, { ...entry, waits }]),
    ),
  }
}

function textOf({ usd, tokens, model_calls, tool_calls }: Amounts) {
  return {
    ...(usd === 0n ? {} : { usd: String(usd) }),
    ...(tokens === 0 ? {} : { tokens }),
    ...(model_calls === 0 ? {} : { model_calls }),
    ...(tool_calls === 0 ? {} : { tool_calls }),
  }
}
