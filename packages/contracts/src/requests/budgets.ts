// `budget.list` and `budget.raise`: the budgets that tasks share, with what is used and reserved of each.
import { foreignId } from '@beaver/core'
import { budgetLimits, budgetPeriod, sharedOf, whenExceeded } from '@beaver/core/budget'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { amounts, count, onBehalfOf } from '../fields.ts'
import { moreAmounts } from './raise.ts'

const whose = {
  of: sharedOf.describe('Whose spending it bounds.'),
  name: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('The session, user or profile. Absent: the budget is that of the tenant.'),
  per: budgetPeriod.describe('The time for which it counts. Days and months are those of UTC.'),
}

/** A budget that tasks share, with what is used and reserved of it. */
export const sharedBudget = z.object({
  ...whose,
  period: z
    .string()
    .describe('The present day (YYYY-MM-DD) or month (YYYY-MM), or `run` for the life of a session.'),
  ends_at: z
    .string()
    .nullable()
    .describe('When the next day or month begins, in ISO 8601. null: the budget of a session does not end.'),
  limits: budgetLimits.describe('The limits, with all that was given more.'),
  raised: budgetLimits.describe('What was given more in this period.'),
  exceeded: whenExceeded.describe('What happens at a limit.'),
  used: amounts.describe('What tasks used.'),
  reserved: amounts.describe('What the calls under way may use at most.'),
  open_tasks: count.describe('How many tasks that have not ended used something of it.'),
  waiting_tasks: count.describe('How many tasks wait for a person who gives more.'),
})

export const listBudgets = contract(
  'Lists the budgets that tasks share and that the configuration bounds, in their present period.',
  {
    input: z.strictObject({
      of: sharedOf.optional().describe('Only budgets of this kind. Absent: all.'),
      name: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('Only the budgets of this session, user or profile. Absent: all.'),
      limit: z.int().min(1).max(1_000).default(200).describe('At most so many budgets.'),
      user_id: onBehalfOf,
    }),
    output: z.object({
      budgets: z
        .array(sharedBudget)
        .describe('The budgets: that of the tenant, then profiles, users and sessions, by name.'),
      total: count
        .optional()
        .describe('How many there are, with those after the limit. Absent: an older version answers.'),
      more: z.boolean().describe('Whether there are more than these.'),
    }),
  },
)

export const raiseShared = contract(
  'Gives more to a budget that tasks share, in its present period. The tasks that wait for it go on.',
  {
    input: z.strictObject({
      ...whose,
      more: moreAmounts,
      reason: z
        .string()
        .min(1)
        .max(1_000)
        .optional()
        .describe('Why, in one sentence. Absent: nobody says it.'),
      request_id: foreignId
        .optional()
        .describe(
          'An id of your own, which makes a repeated request harmless. 1 to 128 characters, no control characters. Absent: Beaver makes one.',
        ),
      user_id: onBehalfOf,
    }),
    output: z.object({
      budget: sharedBudget.describe('The budget after that.'),
      request_id: z.string().describe('The id of the request.'),
      woken_tasks: count.describe('How many tasks waited for it and were told.'),
    }),
  },
)
