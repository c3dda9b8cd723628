// `task.decide`: a person's decision about a call that waits for an approval.
import { foreignId } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { onBehalfOf, taskIdField } from '../fields.ts'

/** Ids are the provider's: some carry a signature. */
export const callIdCharsMax = 100_000
const argumentsCharsMax = 250_000

const decisionRequest = z.strictObject({
  task_id: foreignId.describe('The id of the task.'),
  call_id: z
    .string()
    .min(1)
    .max(callIdCharsMax)
    .describe(
      'The id of the call, as in the event approval_requested. If several runs have a call with this id: <run_id>/<call_id>.',
    ),
  call_hash: z
    .string()
    .optional()
    .describe(
      'The hash of the call that was shown to the person. A decision about a call with another hash is refused. Absent: whatever waits under this id.',
    ),
  approved: z
    .boolean()
    .describe('true: the call goes on. false: the call is refused, and the model is told.'),
  reason: z
    .string()
    .max(1_000)
    .default('No reason was given.')
    .describe('Why the call is refused, for the model.'),
  arguments: z
    .string()
    .max(argumentsCharsMax)
    .optional()
    .describe(
      'The arguments with which the call is made instead: the text of a JSON object that fits the tool. Only if approved is true. Absent: those of the model.',
    ),
  user_id: onBehalfOf,
})
export type DecisionRequest = z.infer<typeof decisionRequest>

export const decide = contract(
  'Decides about a tool call that waits for an approval. The answer comes when the journal has the decision.',
  {
    input: decisionRequest,
    output: z.object({
      task_id: taskIdField,
      call_id: z.string().describe('The id of the call.'),
      approved: z.boolean().describe('Whether the call goes on.'),
    }),
  },
)
