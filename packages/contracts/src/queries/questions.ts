// `questions`: the questions of one task or of all tasks that wait for an answer, oldest first. And the view
// of one question that other answers show.
import { question, type Question } from '@beaver/core/question'
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  limitOf,
  paged,
  runIdField,
  sessionIdField,
  taskIdField,
  taskNameOfUser,
  textOrNull,
  timeOrNull,
} from '../fields.ts'

export const askedQuestion = z
  .object({
    task_id: taskIdField,
    session_id: sessionIdField,
    run_id: runIdField.nullable().describe('The run whose call asks. null: no run is known.'),
    agent_name: textOrNull.describe('The name of the agent. "Root agent": the run belongs to no team.'),
    node_id: textOrNull.describe('The node to which the run belongs. null: it belongs to no team.'),
    call_id: z.string().describe('The id of the call that asks.'),
    tool: z.string().describe('The name of the tool that asks.'),
    question_index: z.int().describe('The number of the question in the call, from 0.'),
    message: question.shape.message,
    options: z.array(z.string()).describe('What may be chosen. Empty: nothing is offered.'),
    free_text: z.boolean().describe("Whether a text of the person's own is an answer."),
    several: z.boolean().describe('Whether several answers may be given.'),
    form: question.shape.form
      .unwrap()
      .nullable()
      .describe('The JSON Schema of the answer. null: the question has no form.'),
    state: z
      .string()
      .describe('waiting, accept, decline, cancel or left. left: the call ended before anybody answered.'),
    asked_at: timeOrNull.describe('When the call asked. RFC 3339, UTC.'),
    expires_at: timeOrNull.describe(
      'Until when the answer is waited for. RFC 3339, UTC. null: the question has no deadline of its own; permissions.wait_ms_max ends the wait.',
    ),
    taskseq: z.int().describe('The place of the event question_asked in the log of the task.'),
    answer: textOrNull.describe(
      'The answer: the chosen options or the text, one in each line, or the fields of the form as JSON. null: there is none.',
    ),
    by: textOrNull.describe(
      'Who answered. beaver: nobody could, or nobody did in time. null: nobody answered.',
    ),
    user_id: textOrNull.describe(
      'The user on whose behalf. null: the caller answered for itself, or nobody answered.',
    ),
    reason: textOrNull.describe('Why there is no answer. null: no reason is known.'),
    answered_at: timeOrNull.describe('When it was answered. RFC 3339, UTC. null: nobody answered.'),
  })
  .meta({ id: 'asked_question', description: 'A question that a call asked a person.' })
/** A question that a call asked a person. */
export type AskedQuestionAnswer = z.infer<typeof askedQuestion>

/** The question itself. */
export const questionIn = ({
  message,
  options,
  free_text,
  several,
  form,
}: AskedQuestionAnswer): Question => ({
  message,
  several,
  ...(options.length === 0 ? {} : { options, free_text }),
  ...(form === null ? {} : { form }),
})

export const questions = contract(
  'The questions of one task or of all tasks that wait for an answer, oldest first.',
  {
    input: z.strictObject({
      ...taskNameOfUser,
      task_id: taskNameOfUser.task_id
        .optional()
        .describe(
          'Only the questions of this task: its id or the beginning of its id. Absent: those of all tasks.',
        ),
      limit: limitOf('questions', { usual: 50, max: 200 }),
    }),
    output: z.object({
      task_id: taskIdField.nullable().describe('The task that the input names. null: it names none.'),
      questions: z.array(askedQuestion).describe('The questions, oldest first.'),
      more: paged.more,
    }),
  },
)
