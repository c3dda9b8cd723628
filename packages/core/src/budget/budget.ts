// What may be spent, by whom and in which time. A budget has a limit for each of five measures; a measure
// without a limit is not bounded.
// B1. Of each budget that applies to a call, used and reserved amounts together never exceed a limit.
import { z } from 'zod'

const wholeNumber = z.int().min(0).max(1e15)

/** The limits of a budget. A measure without a limit is not bounded. */
export const budgetLimits = z.strictObject({
  usd: z.number().min(0).max(1e9).optional().describe('The most US dollars. Absent: any amount.'),
  tokens: wholeNumber
    .optional()
    .describe('The most tokens, those that are sent and those that the models write. Absent: any number.'),
  model_calls: wholeNumber.optional().describe('The most calls of models. Absent: any number.'),
  tool_calls: wholeNumber.optional().describe('The most calls of tools. Absent: any number.'),
  wall_ms: wholeNumber
    .optional()
    .describe(
      'The longest time of work in milliseconds. It stops while an agent waits for a person. Absent: any time.',
    ),
})
export type BudgetLimits = z.infer<typeof budgetLimits>

/** Whose spending a budget bounds. */
export const budgetOf = z.enum(['task', 'node', 'session', 'user', 'profile', 'tenant'])
export type BudgetOf = z.infer<typeof budgetOf>

/** Whose budgets are shared by tasks. */
export const sharedOf = budgetOf.extract(['session', 'user', 'profile', 'tenant'])
export type SharedOf = z.infer<typeof sharedOf>

/** The time for which a budget counts. `run`: the life of each task, or of each node of a budget `node`. */
export const budgetPeriod = z.enum(['run', 'day', 'month'])
export type BudgetPeriod = z.infer<typeof budgetPeriod>

/** What happens at the limit: `wait` for a person who gives more, or `end` the run. */
export const whenExceeded = z.enum(['wait', 'end'])
export type WhenExceeded = z.infer<typeof whenExceeded>

/** A budget as the configuration says it. */
export const budget = budgetLimits.extend({
  of: budgetOf.describe(
    'Whose spending it bounds: each task, each node of a team, each session, each user, the tasks of each profile, or all tasks of the tenant.',
  ),
  name: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('The session, user or profile that it is for. Absent: each one that has no budget of its own.'),
  per: budgetPeriod
    .default('run')
    .describe(
      'The time for which it counts. `run`: the whole life of the task, node or session, or each task of the user, profile or tenant. Days and months are those of UTC.',
    ),
  exceeded: whenExceeded
    .default('wait')
    .describe('What happens at a limit: the run waits for a person who gives more, or it ends.'),
})
export type Budget = z.infer<typeof budget>

/** The budget of each task if nobody configures one. */
export const budgetDefault: Budget = { of: 'task', per: 'run', exceeded: 'wait', usd: 10, tokens: 5_000_000 }

/** Which budget it is. */
export const budgetName = z.object({
  of: budgetOf.describe('Whose spending it bounds.'),
  name: z
    .string()
    .optional()
    .describe('The session, user, profile or node whose budget it is. Absent: that of the task or tenant.'),
  per: budgetPeriod.describe('The time for which it counts. Days and months are those of UTC.'),
})
export type BudgetName = z.infer<typeof budgetName>

/** A budget that bounds a task, with its limits. */
export const appliedBudget = budgetName.extend({
  limits: budgetLimits.describe('The limits.'),
  exceeded: whenExceeded.describe('What happens at a limit.'),
})
export type AppliedBudget = z.infer<typeof appliedBudget>
