// `task.client_answer`: what a client answers to calls of the tools that it brought with its task.
import { foreignId } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { onBehalfOf, taskIdField } from '../fields.ts'
import { callIdCharsMax } from './decide.ts'
import { choice } from './submit.ts'

const answersMax = 128
const contentCharsMax = 500_000
const errorCharsMax = 10_000

const clientAnswerRequest = z.strictObject({
  task_id: foreignId.describe('The id of the task.'),
  answers: z
    .array(
      z.strictObject({
        call_id: z
          .string()
          .min(1)
          .max(callIdCharsMax)
          .describe('The id of the call, as in the event client_call_requested.'),
        content: z
          .string()
          .max(contentCharsMax)
          .describe('The result of the call, for the model. A long text is cut.'),
        error: z
          .string()
          .min(1)
          .max(errorCharsMax)
          .optional()
          .describe('Why you could not make the call, for the model. Absent: you made the call.'),
      }),
    )
    .min(1)
    .max(answersMax)
    .refine((answers) => new Set(answers.map(({ call_id }) => call_id)).size === answers.length, {
      message: 'names a call twice',
    })
    .describe('The answers. The journal gets all of them or none. Other calls wait on.'),
  tool_choice: choice
    .optional()
    .describe(
      'Which tools the root agent must call in its next answer. If several requests answer the calls of one answer, the last one counts. Absent: as the task asks.',
    ),
  user_id: onBehalfOf,
})
export type ClientAnswerRequest = z.infer<typeof clientAnswerRequest>

export const clientAnswer = contract(
  'Answers calls of the tools that a client brought with its task. The first answer to a call counts; the same answer again changes nothing. The answer of this request comes when the journal has them.',
  {
    input: clientAnswerRequest,
    output: z.object({
      task_id: taskIdField,
      call_ids: z.array(z.string()).describe('The ids of the calls that have an answer now.'),
    }),
  },
)
