// `task.steer`: a text for the root agent of a task that has not ended.
import { foreignId } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { onBehalfOf, taskIdField } from '../fields.ts'

const textCharsMax = 10_000

const steerRequest = z.strictObject({
  task_id: foreignId.describe('The id of the task.'),
  text: z
    .string()
    .max(textCharsMax)
    .refine((text) => text.trim() !== '', { message: 'is empty. Write what the agent is to do' })
    .describe(
      'The text for the root agent. It reads the text as a message of the user, before its next request to the model.',
    ),
  request_id: foreignId
    .optional()
    .describe(
      'An id of your own, which makes a repeated request harmless. 1 to 128 characters, no control characters. Absent: Beaver makes one.',
    ),
  user_id: onBehalfOf,
})

export const steer = contract(
  'Steers a task: its root agent receives a text. The answer comes when the journal has the text.',
  {
    input: steerRequest,
    output: z.object({ task_id: taskIdField, request_id: z.string().describe('The id of the request.') }),
  },
)
