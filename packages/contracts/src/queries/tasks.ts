// `tasks`: what was asked of the system, newest first. And the view of one task that other answers show.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { before, count, failureOrNull, limitOf, paged, sessionIdField, taskIdField, tenantField, textOrNull, timeOrNull } from '../fields.ts'
import { askedCall } from './approvals.ts'

/** `waiting`: without a daemon until something wakes it. `waiting_for_approval`: open, and a call of it waits for a person. */
const taskStatus = z.enum(['submitted', 'running', 'waiting', 'waiting_for_approval', 'completed', 'incomplete', 'failed', 'cancelled'])
export type TaskStatusFilter = z.infer<typeof taskStatus>

export const modelUsage = z
  .object({
    provider: textOrNull.describe('null: several providers together.'),
    model: textOrNull.describe('null: several models together.'),
    input_tokens: count,
    output_tokens: count,
    calls: count,
  })
  .meta({ id: 'model_usage', description: 'What was used of one model, in tokens and calls, as the provider reported it.' })
/** What was used of one model; a model that is not named stands for several together. */
export type ModelUsage = z.infer<typeof modelUsage>

const wait = z.object({
  for: z.string().describe('person, provider or limit.'),
  until: timeOrNull.describe('When the task is looked at again at the latest. RFC 3339, UTC. null: not known.'),
  reason: z.string().describe('Why it waits, in one sentence.'),
})

/** The fields of a task in a list; `task` shows more of them. */
export const summaryFields = {
  task_id: taskIdField,
  session_id: sessionIdField,
  tenant: tenantField,
  status: z.string().describe('submitted, running, waiting_for_person, waiting_for_provider, waiting_for_limit, completed, incomplete, failed or cancelled.'),
  wait: wait.nullable().describe('What the task itself waits for, without a daemon. null: nothing.'),
  text: textOrNull.describe('What was asked; it may be cut. null: not known.'),
  skill: textOrNull.describe('The skill that the request names. null: none.'),
  retry_of: taskIdField.nullable().describe('The task that this one takes up again. null: it is no retry.'),
  submitted_at: timeOrNull,
  started_at: timeOrNull.describe('When a daemon first claimed it. null: none has.'),
  ended_at: timeOrNull.describe('When it ended. null: it has not.'),
  elapsed_ms: z.int().nullable().describe('Milliseconds from the submission to the end, or to the last thing known of it. null: not known.'),
  agents: count.describe('How many runs it has.'),
  input_tokens: count,
  output_tokens: count,
  calls: count.describe('Calls of models.'),
  usage_by_model: z.array(modelUsage),
  waiting: count.describe('How many of its calls wait for a person.'),
  waits_for: askedCall.nullable().describe('The first call that waits for a person. null: none waits.'),
  provider: textOrNull,
  model: textOrNull.describe('null: no model has answered yet.'),
  simulated: z.boolean().nullable().describe('The simulated model answered. null: the task has not ended.'),
  failure: failureOrNull,
  chain_ok: z.boolean().describe('The record of the task is intact.'),
}
const taskSummary = z.object(summaryFields).meta({ id: 'task_summary', description: 'One task in a list.' })
export type TaskSummary = z.infer<typeof taskSummary>

export const tasks = contract('The tasks that were submitted, newest first.', {
  input: z.strictObject({
    tenant: z.string().max(128).optional().describe('Only tasks of this tenant.'),
    session_id: z.string().max(128).optional().describe('Only tasks of this session.'),
    status: taskStatus
      .optional()
      .describe(
        'Only tasks in this state. waiting: without a daemon until something wakes it; waiting_for_approval: open, and a call of it waits for a person.',
      ),
    ended_since: z.iso.datetime().optional().describe('Only tasks that ended at this time or later. RFC 3339, UTC.'),
    retried: z.boolean().optional().describe('true: only tasks of which there is a retry; false: only those without one.'),
    limit: limitOf('tasks', { usual: 20, max: 200 }),
    before,
  }),
  output: z.object({ tasks: z.array(taskSummary), ...paged }),
})
