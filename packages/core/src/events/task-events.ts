// The events of a task: what a client asks for, who owns the task, and how it ends. And the shapes that
// other files take from them.
import { z } from 'zod'
import { appliedBudget, budgetLimits, budgetName } from '../budget/budget.ts'
import { budgetMeasures } from '../budget/amounts.ts'
import { usage } from '../chat.ts'
import { clientTool, toolChoice } from '../client-tool.ts'
import { evidenceCheck, evidenceRequirement } from '../evidence/requirement.ts'
import { failure } from '../failure/failure-class.ts'
import { sessionId, taskId } from '../ids.ts'
import { imagePart } from '../images/image-part.ts'
import { jsonObject, jsonValue } from '../json.ts'
import { modelSettings } from '../model-settings.ts'
import { taint } from '../taint/taint.ts'
import { traceContext } from '../trace/trace-context.ts'

/** What a client asks for. */
export const taskRequest = z.object({
  text: z.string().describe('What to do, in words. It is empty if the task is a workflow.'),
  workspace: z.string().describe('The absolute path of the folder in which the agents may work.'),
  skill: z.string().nullable().describe('The skill that the request names. null: it names none.'),
  source: z.string().describe('Who submitted the task, such as "cli".'),
  workflow: z
    .object({
      name: z.string().describe('The name of the workflow.'),
      arguments: jsonObject.describe('The arguments of the workflow.'),
    })
    .optional()
    .describe(
      'The workflow that the task runs without a root agent. Absent: a root agent works on the task.',
    ),
  profile: z.string().optional().describe('The profile of the root agent. Absent: the default profile.'),
  stream: z
    .boolean()
    .optional()
    .describe('Whether answers are streamed and published live. Absent: they are not.'),
  approvals: z
    .enum(['wait', 'refuse'])
    .optional()
    .describe(
      'What happens to calls that need an approval. refuse: nobody can answer. Absent: what the daemon is configured to do.',
    ),
  title: z.string().optional().describe('The name that the client gave the task.'),
  user_id: z.string().optional().describe('The user for whom the task is.'),
  time_zone: z
    .string()
    .optional()
    .describe('The time zone of the user, such as Europe/Zurich. Absent: it is not known.'),
  required_evidence: z
    .array(evidenceRequirement)
    .optional()
    .describe(
      'What the final text of the task must rest on. A sentence is for the root agent; code checks an object. Absent: nothing.',
    ),
  output_schema: jsonObject
    .optional()
    .describe('The JSON Schema of the final answer of the root agent. Absent: any text.'),
  model: z
    .string()
    .optional()
    .describe(
      'The name of the model that the root agent asks. Absent: that of its profile, or the main one.',
    ),
  model_settings: modelSettings
    .optional()
    .describe(
      'How the root agent asks it. Each field takes the place of the same one of the profile and of the endpoint. Absent: as they say.',
    ),
  skills: z
    .array(z.string())
    .optional()
    .describe('The only skills that the agents of the task may have. Absent: all that are loaded.'),
  retry_of: taskId.optional().describe('The ended task that this task retries. Absent: it is no retry.'),
  instructions: z
    .string()
    .optional()
    .describe('What the client asks of the root agent beside its task. Absent: nothing.'),
  history: z
    .array(
      z.object({
        role: z.enum(['user', 'assistant']).describe('Who wrote the message.'),
        content: z.string().describe('The text of the message.'),
      }),
    )
    .optional()
    .describe(
      'A conversation that the client kept, oldest first. The root agent is given it after the history of the session. Absent: none.',
    ),
  history_until: taskId
    .optional()
    .describe(
      'The earlier task of the session with which the history that the root agent is given ends. Absent: the newest one.',
    ),
  client_tools: z
    .array(clientTool)
    .optional()
    .describe(
      'The tools of the client, which the root agent may call and the client answers. Absent: it has none.',
    ),
  tool_choice: toolChoice
    .optional()
    .describe('Which tools the root agent must call in its first answer. Absent: it chooses.'),
  budget: budgetLimits
    .optional()
    .describe('The most that the task may use. Absent: as much as the configuration says.'),
  images: z
    .array(imagePart)
    .optional()
    .describe(
      'The images that the root agent is shown with its task, as they were when the task was accepted. Absent: none.',
    ),
})
export type TaskRequest = z.infer<typeof taskRequest>

/** The output of one node of a graph. */
export const nodeOutput = z.object({
  node_id: z.string().describe('The node.'),
  output: z.string().describe('The text that the node returned.'),
})
export type NodeOutput = z.infer<typeof nodeOutput>

/** The result of an ended task. `outputs` are in declared order. */
export const taskResult = z.object({
  final_output: z.string().describe('The answer. It is empty if the task did not complete.'),
  outputs: z
    .array(nodeOutput)
    .describe(
      'The outputs of the nodes that completed, in declared order. The list is empty if the task had no team.',
    ),
  usage: usage.describe('What all calls of models in this task used.'),
  provider: z
    .string()
    .nullable()
    .describe('The provider that gave the last answer. null: no model answered.'),
  model: z.string().nullable().describe('The model that gave the last answer. null: no model answered.'),
  simulated: z.boolean().describe('Whether the simulated model answered.'),
  failure: failure.nullable().describe('Why the task did not complete. null: it completed.'),
  evidence: z
    .array(evidenceCheck)
    .optional()
    .describe(
      'The verdict on each requirement of the task. Absent: the task has no requirements, or it ended without a text.',
    ),
  output: jsonValue
    .optional()
    .describe('The answer as a JSON value. Absent: the task has no output_schema, or it did not complete.'),
  taint: taint
    .optional()
    .describe(
      "The labels of the answer: where strangers' text and secrets came from. Absent: the answer has none.",
    ),
})
export type TaskResult = z.infer<typeof taskResult>

/** The result of a task that failed. `unfit_output` is no answer, but it is paid for. */
export const failedResult = taskResult.extend({
  unfit_output: z
    .string()
    .optional()
    .describe(
      'What the agent said, if the task failed because of it: it does not fit its JSON Schema (output_invalid), or lacks the required evidence (evidence_missing). Absent: the task failed otherwise.',
    ),
})
export type FailedResult = z.infer<typeof failedResult>

/**
 * Who asked, as the connection said, and for which user. A journal of an earlier version says nothing about
 * it. The name is as true as the permissions of the NATS server: it is the name under which the server let
 * the request pass.
 */
export const asker = {
  by: z
    .string()
    .optional()
    .describe(
      'Who asked, by the name under which the NATS server let the request pass. Absent in journals of an earlier version.',
    ),
  user_id: z
    .string()
    .optional()
    .describe('The user for whom the caller asked. Absent: the caller asked for itself.'),
}
/** Who asked, and for which user. */
export type Asker = { readonly by?: string | undefined; readonly user_id?: string | undefined }

export const ownTask = taskId.describe('The id of the task.')
export const reason = z.string().describe('Why, in one sentence.')
const daemon = z.string().describe('The id of the daemon.')

export const taskEvents = {
  task_submitted: z
    .object({
      task_id: ownTask,
      session_id: sessionId.describe('The session to which the task belongs.'),
      tenant: z.string().describe('The tenant to which the task belongs.'),
      /** D-47. */
      previous_task_id: taskId
        .nullable()
        .describe(
          'The task that was accepted before this one in its session, and that must end first. null: this is the first task.',
        ),
      request: taskRequest.describe('What the client asked for.'),
      by: asker.by,
      trace: traceContext
        .optional()
        .describe(
          'The trace in which the client submitted the task. Absent: the task has a trace of its own.',
        ),
    })
    .describe('A task was accepted. It is the first event of each log.'),
  task_claimed: z
    .object({
      daemon,
      budgets: z
        .array(appliedBudget)
        .optional()
        .describe(
          'The budgets that bound the task, as its request and the configuration of this daemon say. Absent: none, or an older version wrote this.',
        ),
    })
    .describe('A daemon claimed the task.'),
  task_released: z
    .object({ daemon, reason })
    .describe('The daemon released the task, so that another daemon can claim it.'),
  task_suspended: z
    .object({
      daemon,
      waits_for: z.enum(['person', 'provider', 'limit', 'client']).describe('What the task waits for.'),
      wait_ms: z
        .number()
        .int()
        .nonnegative()
        .describe('A daemon looks at the task again after this time at the latest, in milliseconds.'),
      until: z.string().describe("The end of that time by the journal's clock. RFC 3339, UTC."),
      reason,
    })
    .describe(
      'The daemon suspended a task that only waits: for a person, a provider, its turn under a limit, or its client.',
    ),
  task_log_copied: z
    .object({
      task_id: taskId.describe('The task that is retried.'),
      taskseq: z.number().int().positive().describe('The place of the last event in the log of that task.'),
      hash: z.string().describe('The hash of the last record in the log of that task.'),
      previous_task_id: taskId
        .nullable()
        .describe(
          'The task that came before that task in its session. The runs continue its history. null: that task was the first.',
        ),
      events: z.number().int().nonnegative().describe('How many of the next events are copies.'),
    })
    .describe('The task is a retry. The next events are copies from the log of the task that it retries.'),
  task_cancel_requested: z.object({ reason, ...asker }).describe('Somebody asked to cancel the task.'),
  task_steer_requested: z
    .object({
      request_id: z.string().describe('The id of the request. A repeated request has the same one.'),
      text: z.string().describe('The text for the agent.'),
      ...asker,
    })
    .describe(
      'Somebody steers the task: the root agent receives the text before its next request to the model.',
    ),
  budget_reached: z
    .object({
      budget: budgetName.describe('The budget.'),
      measure: z.enum(budgetMeasures).describe('What was used.'),
      percent: z.union([z.literal(50), z.literal(80), z.literal(100)]).describe('How much of the limit.'),
      used: z.number().describe('What was used, in US dollars, tokens, calls or milliseconds.'),
      limit: z.number().describe('The limit.'),
    })
    .describe(
      'The task has used 50, 80 or 100 % of a limit. Beaver records each of these shares once for each limit.',
    ),
  budget_raised: z
    .object({
      request_id: z.string().describe('The id of the request. A repeated request has the same one.'),
      budget: budgetName.describe('The budget.'),
      more: budgetLimits.describe('What is given more.'),
      reason: z.string().optional().describe('Why, in one sentence. Absent: nobody said it.'),
      ...asker,
    })
    .describe('Somebody gave more to a budget of the task.'),
  task_dead_lettered: z
    .object({
      claims: z
        .number()
        .int()
        .nonnegative()
        .describe(
          'How many owners the task lost. If its log was the reason: the number of the latest claim.',
        ),
    })
    .describe(
      'Beaver gave up on the task, because it lost too many owners, or because its log can no longer be read or written.',
    ),
  task_completed: taskResult.describe('The task completed. It is the last event of its log.'),
  task_incomplete: taskResult.describe(
    'The task ended without all of its work. It is the last event of its log.',
  ),
  task_failed: failedResult.describe('The task failed. It is the last event of its log.'),
  task_cancelled: taskResult.describe('The task was cancelled. It is the last event of its log.'),
}
