// `task.cancel`: to cancel a task, or one node of a team of it.
import { foreignId } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { onBehalfOf, taskIdField } from '../fields.ts'

export const cancelRequest = z.strictObject({
  task_id: foreignId.describe('The id of the task.'),
  reason: z
    .string()
    .min(1)
    .max(1_000)
    .default('Cancelled on request.')
    .describe('Why. The journal keeps this text.'),
  node_id: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Only this node of a running team of the task. Absent: the whole task.'),
  user_id: onBehalfOf,
})
export type CancelRequest = z.infer<typeof cancelRequest>

export const cancel = contract(
  'Cancels a task, or one node of its running team. The answer comes when the journal has the request.',
  {
    input: cancelRequest,
    output: z.object({
      task_id: taskIdField,
      node_id: z.string().nullable().describe('The node. null: the whole task.'),
    }),
  },
)
