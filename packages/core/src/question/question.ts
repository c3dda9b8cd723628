// A question that a running call asks a person, and its answer. A question offers options, takes free text, or
// has a form: a JSON Schema of primitive fields, as in the elicitation of MCP. question-fault.ts decides whether
// an answer fits.
import { z } from 'zod'
import { jsonObject } from '../json.ts'

/** What a person is asked. */
export const question = z.object({
  message: z.string().describe('The text of the question.'),
  options: z.array(z.string()).optional().describe('What may be chosen. Absent: nothing is offered.'),
  free_text: z
    .boolean()
    .optional()
    .describe("Whether a text of the person's own is an answer, too. Absent: only if there are no options."),
  several: z.boolean().optional().describe('Whether several answers may be given. Absent: one.'),
  form: jsonObject
    .optional()
    .describe(
      'The JSON Schema of the answer: an object whose fields are primitive. Absent: the question has no form.',
    ),
  timeout_ms: z
    .number()
    .optional()
    .describe(
      'For how many milliseconds the answer is waited for. Absent, and the most: permissions.wait_ms_max.',
    ),
})
export type Question = z.infer<typeof question>

/** What a person answers. `answers` are for options and free text, `content` is for a form. */
export const questionAnswer = z.object({
  action: z
    .enum(['accept', 'decline', 'cancel'])
    .describe(
      'accept: the question is answered. decline: the person does not want to answer. cancel: nobody answers.',
    ),
  answers: z
    .array(z.string())
    .optional()
    .describe(
      'The options that were chosen, or the text. Absent: the question has a form, or there is no answer.',
    ),
  content: jsonObject
    .optional()
    .describe('The fields of the form. Absent: the question has no form, or there is no answer.'),
})
export type QuestionAnswer = z.infer<typeof questionAnswer>
