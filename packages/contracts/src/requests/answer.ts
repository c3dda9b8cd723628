// `task.answer`: a person's answer to a question that a running call asks.
import { foreignId } from '@beaver/core'
import { questionAnswer } from '@beaver/core/question'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count, onBehalfOf, taskIdField } from '../fields.ts'
import { callIdCharsMax } from './decide.ts'

const answerRequest = z.strictObject({
  task_id: foreignId.describe('The id of the task.'),
  call_id: z
    .string()
    .min(1)
    .max(callIdCharsMax)
    .describe(
      'The id of the call, as in the event question_asked. If several runs have a call with this id: <run_id>/<call_id>.',
    ),
  question_index: count
    .optional()
    .describe(
      'The question that was shown to the person. An answer to another one is refused. Absent: the one that waits.',
    ),
  answer: z
    .object({
      action: questionAnswer.shape.action.describe(
        'accept: the question is answered. decline: the person does not want to answer. cancel: nobody answers.',
      ),
      answers: questionAnswer.shape.answers.describe(
        'The options that were chosen, or the text. Absent: the question has a form, or there is no answer.',
      ),
      content: questionAnswer.shape.content.describe(
        'The fields of the form. Absent: the question has no form, or there is no answer.',
      ),
    })
    .describe('The answer. It must fit the question; otherwise it is refused, and the question still waits.'),
  reason: z
    .string()
    .max(1_000)
    .optional()
    .describe('Why there is no answer, for the model. Absent: no reason.'),
  user_id: onBehalfOf,
})
export type AnswerRequest = z.infer<typeof answerRequest>

export const answer = contract(
  'Answers a question that a running call asks. The answer of this request comes when the journal has it.',
  {
    input: answerRequest,
    output: z.object({
      task_id: taskIdField,
      call_id: z.string().describe('The id of the call.'),
      action: questionAnswer.shape.action.describe(
        'accept: the question is answered. decline, cancel: it is not.',
      ),
    }),
  },
)
