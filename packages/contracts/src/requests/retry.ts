// `task.retry`: a retry of a task that ended without completing.
import { foreignId } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { onBehalfOf, taskIdField } from '../fields.ts'
import { submittedFields } from './submit.ts'

const retried = z.object({
  ...submittedFields,
  task_id: taskIdField.describe('The id of the new task.'),
  retry_of: taskIdField.describe('The id of the old task.'),
})
/** The task that retries another one. */
export type RetriedTask = z.infer<typeof retried>

export const retry = contract(
  'Retries a task that failed, is incomplete or was cancelled. The same request again gives the same answer.',
  {
    input: z.strictObject({
      task_id: foreignId.describe('The id of the task that ended.'),
      user_id: onBehalfOf,
    }),
    output: retried,
  },
)
