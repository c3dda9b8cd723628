// `tasks`: what was asked of the system, newest first. And the view of one task that other answers show.
import { appliedBudget } from '@beaver/core/budget'
import { failure } from '@beaver/core/supervision'
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  amounts,
  before,
  count,
  cursor,
  failureOrNull,
  limitOf,
  onlyOfTenant,
  onlyOfUser,
  paged,
  runIdField,
  sessionIdField,
  taskIdField,
  tenantField,
  textOrNull,
  timeOrNull,
} from '../fields.ts'
import { askedCall } from './approvals.ts'

/**
 * `open`: not ended, whatever it does. `waiting`: without a daemon until something wakes it.
 * `waiting_for_approval`: open, and a call of it waits for a person. `waiting_for_answer`: open, and a call of
 * it asks one. `waiting_for_person`: one of both, or it waits without a daemon for a person, as for more in a
 * budget. `waiting_for_client`: all that its root agent does waits for the client. `waiting_for_provider` and
 * `waiting_for_limit`: it waits without a daemon for that.
 */
const taskStatus = z.enum([
  'open',
  'submitted',
  'running',
  'waiting',
  'waiting_for_person',
  'waiting_for_approval',
  'waiting_for_answer',
  'waiting_for_provider',
  'waiting_for_limit',
  'waiting_for_client',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
  'quarantined',
])
export type TaskStatusFilter = z.infer<typeof taskStatus>

const inputTokens = count.describe('The tokens that were sent to models.')
const outputTokens = count.describe('The tokens that models wrote.')
const calls = count.describe('The number of calls of models.')

const absent = 'Absent: none that providers reported.'
export const usagePartFields = {
  cached_input_tokens: count
    .optional()
    .describe(`How many of input_tokens were read from a cache. ${absent}`),
  cache_write_tokens: count
    .optional()
    .describe(`How many of input_tokens were written to a cache. ${absent}`),
  reasoning_tokens: count.optional().describe(`How many of output_tokens were thoughts. ${absent}`),
  audio_input_tokens: count.optional().describe(`How many of input_tokens were audio. ${absent}`),
  audio_output_tokens: count.optional().describe(`How many of output_tokens were audio. ${absent}`),
  unknown_calls: count
    .optional()
    .describe(
      'How many calls have no token counts from the provider, or counts that cannot be right. Absent: none.',
    ),
  estimated_calls: count
    .optional()
    .describe(
      'How many calls have token counts that Beaver counted itself, because they were broken off or cancelled: each byte that was sent or received counts as a token. Absent: none.',
    ),
}

export const costFields = {
  cost_usd: z
    .number()
    .nullable()
    .optional()
    .describe(
      'What the calls cost in US dollars, by the prices that the projector knows. null: the cost is not known, or only a part of it is. Absent: an older version answers.',
    ),
  cost_usd_known: z
    .number()
    .optional()
    .describe(
      'The part of the cost that is known, if the rest is not: the calls cost at least this much. Absent: all of the cost is known, or nothing of it.',
    ),
}

const modelUsage = z
  .object({
    provider: textOrNull.describe('The provider. null: several providers together.'),
    model: textOrNull.describe('The model. null: several models together.'),
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    calls,
    ...usagePartFields,
    ...costFields,
    since: z.iso
      .date()
      .optional()
      .describe(
        'The first day of the period, if the query asks for periods. Absent: all days, or the days before the first period.',
      ),
  })
  .meta({ id: 'model_usage', description: 'What one model used, as the provider reported it.' })
/** The usage of one model, or the sum of several models. */
export type ModelUsage = z.infer<typeof modelUsage>

/** What calls of models used, in all and for each model. */
export const usageFields = {
  input_tokens: inputTokens,
  output_tokens: outputTokens,
  calls,
  ...usagePartFields,
  ...costFields,
  usage_by_model: z
    .array(modelUsage)
    .describe(
      'The same for each model. The models whose cost_usd is null are those whose cost is not known.',
    ),
}

const toolCalls = count
  .optional()
  .describe('How many calls of tools began. Absent: no budget of the task bounds them.')
const reserved = amounts.describe(
  'The most that the calls of models under way may use. Absent: none is under way.',
)

const wait = z.object({
  for: z.string().describe('What the task waits for: person, provider or limit.'),
  until: timeOrNull.describe(
    'When a daemon looks at the task again at the latest. RFC 3339, UTC. null: not known.',
  ),
  reason: z.string().describe('Why it waits, in one sentence.'),
})

const nodeUse = z
  .object({
    node_id: z.string().describe('The node.'),
    run_id: runIdField,
    ...usageFields,
    tool_calls: toolCalls,
    reserved: reserved.optional(),
  })
  .meta({ id: 'node_use', description: 'What the run of a node used of the budget of the node.' })

/** The fields of a task in a list; `task` shows more of them. */
export const summaryFields = {
  task_id: taskIdField,
  session_id: sessionIdField,
  tenant: tenantField,
  status: z
    .string()
    .describe(
      'The state of the task: submitted, running, waiting_for_person, waiting_for_provider, waiting_for_limit, waiting_for_client, completed, incomplete, failed, cancelled, or quarantined: its record does not verify, and no daemon drives it.',
    ),
  wait: wait.nullable().describe('What a suspended task waits for. null: the task is not suspended.'),
  text: textOrNull.describe('What the client asked for. It may be cut. null: not known.'),
  title: textOrNull.describe('The name that the client gave the task. null: none.'),
  user_id: textOrNull.describe('The user on whose behalf the task was submitted. null: none was named.'),
  workflow: textOrNull
    .optional()
    .describe(
      'The workflow that the task runs. null: a root agent works on the task. Absent: an older version answers.',
    ),
  workflows: z
    .array(z.string())
    .optional()
    .describe(
      'The workflows that ran in the task, also those that agents called, in the order of their names; at most 20. Absent: none, or an older version answers.',
    ),
  skill: textOrNull.describe('The skill that the request names. null: none.'),
  profile: textOrNull
    .optional()
    .describe('The profile of the root agent. null: the default profile. Absent: an older version answers.'),
  previous_task_id: taskIdField
    .nullable()
    .optional()
    .describe(
      'The task that was accepted before this one in its session. null: this is the first task. Absent: an older version answers.',
    ),
  retry_of: taskIdField.nullable().describe('The task that this one retries. null: it is no retry.'),
  submitted_at: timeOrNull,
  started_at: timeOrNull.describe('When a daemon first claimed the task. RFC 3339, UTC. null: none has.'),
  ended_at: timeOrNull.describe('When the task ended. RFC 3339, UTC. null: it has not ended.'),
  elapsed_ms: z
    .int()
    .nullable()
    .describe(
      'The time from the submission to the end, or to the last known event, in milliseconds. null: not known.',
    ),
  agents: count.describe('How many runs the task has.'),
  ...usageFields,
  tool_calls: toolCalls,
  budgets: z
    .array(appliedBudget)
    .optional()
    .describe(
      'The budgets that bound the task, as its newest claim says them, with all that was given more. Empty: none, or no daemon claimed it. Absent: an older version answers.',
    ),
  reserved: reserved.optional(),
  node_uses: z
    .array(nodeUse)
    .optional()
    .describe(
      'What the nodes at work used of their own budgets, at most 20 of them. Absent: no node with a budget is at work.',
    ),
  waiting: count.describe('How many of its tool calls wait for a person.'),
  waits_for: askedCall.nullable().describe('The first tool call that waits for a person. null: none waits.'),
  provider: textOrNull.describe('The provider that gave the last answer. null: no model has answered yet.'),
  model: textOrNull.describe('The model that gave the last answer. null: no model has answered yet.'),
  simulated: z
    .boolean()
    .nullable()
    .describe('Whether the simulated model answered. null: the task has not ended.'),
  failure: failureOrNull,
  last_taskseq: count
    .optional()
    .describe('The place of the last event in the log of the task. Absent: an older version answers.'),
  chain_ok: z.boolean().describe('Whether the record of the task is intact.'),
  archived_events: count
    .optional()
    .describe(
      'How many events of the task are in an archive and not in the journal. Agents, tokens and calls do not count them. Absent: none.',
    ),
}
export const taskSummary = z
  .object(summaryFields)
  .meta({ id: 'task_summary', description: 'One task in a list.' })
export type TaskSummary = z.infer<typeof taskSummary>

const name = z.string().min(1).max(300).optional()
const idsMax = 200

/** Which tasks. All that is given must hold. */
export const taskFilter = {
  tenant: onlyOfTenant('tasks'),
  session_id: z.string().max(128).optional().describe('Only tasks of this session. Absent: any session.'),
  user_id: onlyOfUser('tasks'),
  task_ids: z
    .array(z.string().min(1).max(128))
    .min(1)
    .max(idsMax)
    .optional()
    .describe('Only tasks with one of these ids, which must be whole. Absent: all of them.'),
  status: z
    .union([taskStatus, z.array(taskStatus).min(1).max(taskStatus.options.length)])
    .optional()
    .describe(
      'Only tasks in this state, or in one of these. open: the task has not ended. waiting: the task is suspended. waiting_for_person: the task is open, and a call of it waits for a decision or an answer, or the task is suspended until a person does something, such as giving more in a budget. waiting_for_approval: the task is open, and one of its tool calls waits for a person. waiting_for_answer: the task is open, and one of its tool calls asks a person. waiting_for_client: the task is open, and its root agent waits for the client that has its tools. waiting_for_provider, waiting_for_limit: the task is suspended until a provider answers again, or a limit has place. Absent: any state.',
    ),
  workflow: z
    .string()
    .min(1)
    .max(128)
    .nullable()
    .optional()
    .describe(
      'Only tasks that are this workflow. null: only tasks on which a root agent works. Absent: all of them.',
    ),
  uses_workflow: name.describe(
    'Only tasks that are this workflow, or in which an agent called it. Absent: all of them.',
  ),
  skill: name.describe(
    'Only tasks that ask for this skill, or in which an agent had it. Absent: all of them.',
  ),
  profile: name.describe('Only tasks with this profile. Absent: all of them.'),
  model: name.describe(
    'Only tasks in which this model was called. The name is the one that the provider says. Absent: all of them.',
  ),
  failure_class: failure.shape.class
    .optional()
    .describe('Only tasks that failed with a failure of this class. Absent: all of them.'),
  failure_pattern: z
    .string()
    .max(300)
    .optional()
    .describe(
      'Only failed tasks whose message has this pattern, as "failures" gives it. With failure_class, these are the tasks of one group. Absent: all of them.',
    ),
  text: z
    .string()
    .max(1000)
    .optional()
    .describe(
      'Only tasks in which all of these words occur, anywhere in the id, the title, the first 10,000 characters of the request or the failure of the task. White space separates words. Absent or empty: all of them.',
    ),
  submitted_since: z.iso
    .datetime()
    .optional()
    .describe('Only tasks that were submitted at this time or later. RFC 3339, UTC. Absent: all of them.'),
  submitted_before: z.iso
    .datetime()
    .optional()
    .describe('Only tasks that were submitted before this time. RFC 3339, UTC. Absent: all of them.'),
  ended_since: z.iso
    .datetime()
    .optional()
    .describe('Only tasks that ended at this time or later. RFC 3339, UTC. Absent: all tasks.'),
  retried: z
    .boolean()
    .optional()
    .describe('true: only tasks that have a retry. false: only tasks that have none. Absent: both.'),
  tokens_min: count
    .optional()
    .describe('Only tasks that used at least this many tokens of input and output. Absent: all of them.'),
  cost_usd_min: z
    .number()
    .nonnegative()
    .optional()
    .describe(
      'Only tasks that cost at least this many US dollars, as far as their cost is known. Absent: all of them.',
    ),
}

export const tasks = contract('Lists the tasks, newest first.', {
  input: z.strictObject({ ...taskFilter, limit: limitOf('tasks', { usual: 20, max: 200 }), before }),
  output: z.object({
    tasks: z.array(taskSummary).describe('The tasks, newest first.'),
    more: paged.more.describe(
      'Whether more pages follow. Beaver looks at 5,000 tasks for a page at most, so a page may be empty although more pages follow.',
    ),
    next: paged.next,
  }),
})

export const taskCount = contract('Counts the tasks that a list would have.', {
  input: z.strictObject({
    ...taskFilter,
    before: cursor
      .optional()
      .describe(
        'Only tasks that come before this place in the order of submission, such as the "before" of another count. Absent: all of them.',
      ),
  }),
  output: z.object({
    tasks: count.describe('The number of tasks.'),
    before: cursor.describe(
      'The place behind the newest task that was looked at. With it as "before", a list has no task that was submitted later.',
    ),
    at_least: z
      .boolean()
      .describe(
        'Whether there may be more tasks. Beaver counts 100,000 tasks at most and looks at 100,000, or at 5,000 if it has to read their words or their cost.',
      ),
  }),
})
