// `task.raise`: somebody gives more to a budget of a task that has not ended.
import { foreignId } from '@beaver/core'
import { budgetLimits, budgetMeasures } from '@beaver/core/budget'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { onBehalfOf, taskIdField } from '../fields.ts'

/** What somebody gives more to a budget. */
export const moreAmounts = budgetLimits
  .refine((more) => budgetMeasures.some((measure) => more[measure] !== undefined), {
    message: 'names nothing. Give at least one measure, such as "usd"',
  })
  .refine((more) => budgetMeasures.every((measure) => more[measure] !== 0), {
    message: 'has a measure of 0. Give amounts above 0',
  })
  .describe('What is added to the limits. Each amount is above 0.')

const raiseRequest = z.strictObject({
  task_id: foreignId.describe('The id of the task.'),
  more: moreAmounts,
  node_id: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('The node of a team whose budget gets more. Absent: the budget of the task.'),
  reason: z.string().min(1).max(1_000).optional().describe('Why, in one sentence. Absent: nobody says it.'),
  request_id: foreignId
    .optional()
    .describe(
      'An id of your own, which makes a repeated request harmless. 1 to 128 characters, no control characters. Absent: Beaver makes one.',
    ),
  user_id: onBehalfOf,
})

export const raise = contract(
  'Gives more to a budget of a task, or of one node of its team. What waits for it goes on. The answer comes when the journal has the request.',
  {
    input: raiseRequest,
    output: z.object({ task_id: taskIdField, request_id: z.string().describe('The id of the request.') }),
  },
)
