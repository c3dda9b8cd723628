// `run`: one run of any kind. What it was given, what it returned, and each call of a model or a tool on the
// way. `node`: the same of a node of a team, with what the graph says of the node.
import { jsonValue } from '@beaver/core'
import { failure } from '@beaver/core/supervision'
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  after,
  count,
  limitOf,
  paged,
  runNamed,
  sessionIdField,
  taskIdField,
  taskNameOfUser,
  tenantField,
  textOrNull,
  time,
  timeOrNull,
} from '../fields.ts'
import { node as nodeView, run as runView } from './run-tree.ts'
import { costFields, usagePartFields } from './tasks.ts'

const taskseq = count.describe('The place of the event in the log of the task.')
const durationMs = z.int().nullable().describe('How long it took, in milliseconds. null: not known.')

const modelCall = z
  .object({
    kind: z.literal('model').describe('A call of a model.'),
    taskseq,
    purpose: z.string().describe('What the call was for: answer, skill_selection or summary.'),
    at: time,
    success: z.boolean().describe('Whether the model answered.'),
    provider: textOrNull.describe('The provider. null: not known.'),
    model: textOrNull.describe('The model. null: not known.'),
    finish_reason: textOrNull.describe('Why the model stopped, as the provider says it. null: not known.'),
    duration_ms: durationMs,
    input_tokens: count.nullable().describe('The tokens that were sent. null: not known.'),
    output_tokens: count.nullable().describe('The tokens that the model wrote. null: not known.'),
    ...usagePartFields,
    ...costFields,
    text: textOrNull.describe(
      'What the model said. Beaver cuts it after 2,000 characters. null: it said nothing.',
    ),
    failure: failure.nullable().describe('Why the call failed. null: it did not fail.'),
  })
  .meta({ id: 'run_model_call', description: 'A call of a model by a run.' })

const toolCall = z
  .object({
    kind: z.literal('tool').describe('A call of a tool.'),
    taskseq,
    call_id: z.string().describe("The provider's id of the call."),
    tool: z.string().describe('The name of the tool.'),
    arguments: textOrNull.describe(
      'The arguments as the model wrote them. Beaver cuts them after 2,000 characters. null: they were not recorded.',
    ),
    started_at: timeOrNull.describe('When the call started. RFC 3339, UTC. null: it has not started.'),
    waits_for_call_id: z
      .string()
      .optional()
      .describe(
        'The call about which a person must decide first, or which the client must make: this one, or an earlier one of the same answer that holds it. Absent: it waits for nobody.',
      ),
    waits_for_client: z
      .literal(true)
      .optional()
      .describe('The client must make the call "waits_for_call_id". Absent: a person must decide about it.'),
    duration_ms: durationMs,
    success: z.boolean().nullable().describe('Whether the call succeeded. null: there is no result yet.'),
    error: textOrNull.describe('The code of the error. null: there is none.'),
    result: textOrNull.describe(
      'The result. Beaver cuts it after 2,000 characters. null: there is none yet.',
    ),
    result_chars: count.describe('The number of characters (UTF-16 units) of the whole result.'),
    result_taskseq: count
      .nullable()
      .describe('The place of the event with the whole result. null: there is none yet.'),
  })
  .meta({ id: 'run_tool_call', description: 'A call of a tool by a run.' })

/** What a run was given, what it returned and what it did. */
const workOfRun = {
  input: textOrNull.describe(
    'The message with which the run began. Beaver cuts it after 20,000 characters. null: there was none.',
  ),
  input_chars: count.describe('The number of characters (UTF-16 units) of the whole message.'),
  output: textOrNull.describe(
    'What it returned. Beaver cuts it after 20,000 characters. null: it has returned nothing.',
  ),
  output_chars: count.describe('The number of characters (UTF-16 units) of the whole output.'),
  calls: z
    .array(z.discriminatedUnion('kind', [modelCall, toolCall]))
    .describe('The calls of models and tools, in the order of the log.'),
  ...paged,
}

const pageOfCalls = { after, limit: limitOf('calls', { usual: 100, max: 500 }) }

export const oneRun = contract(
  'Everything about one run: what it was given, what it returned, and its calls of models and tools.',
  {
    input: z.strictObject({ ...taskNameOfUser, run_id: runNamed, ...pageOfCalls }),
    output: z.object({
      task_id: taskIdField,
      session_id: sessionIdField,
      tenant: tenantField,
      run: z
        .lazy(() => runView)
        .describe(
          'The run, as in the tree of its task. It has the newest 50 of the teams that it called, without their nodes and their shared state.',
        ),
      ...workOfRun,
    }),
  },
)
/** One run of a task. */
export type RunDetail = z.infer<(typeof oneRun)['output']>

export const node = contract(
  'Everything about one node of a team: what it was given, what it returned, and its calls of models and tools.',
  {
    input: z.strictObject({
      ...taskNameOfUser,
      node_id: z.string().min(1).max(128).describe('The id of the node.'),
      team_run_id: z
        .string()
        .min(1)
        .max(128)
        .optional()
        .describe('The team run. Absent: the newest one that has a node with this id.'),
      ...pageOfCalls,
    }),
    output: z.object({
      task_id: taskIdField,
      session_id: sessionIdField,
      tenant: tenantField,
      team_run_id: z.string().describe('The team run to which the node belongs.'),
      other_team_run_ids: z
        .array(z.string())
        .describe('Other team runs of the task that have a node with this id.'),
      workflow: z.string().describe('The workflow of the team.'),
      node: z.lazy(() => nodeView).describe('The node, as in the list of the nodes of its team.'),
      instruction: textOrNull.describe(
        'The instruction of an agent, as the graph has it. It may be cut. null: the node has none.',
      ),
      arguments: jsonValue.describe(
        'The arguments of a tool node, as the graph has them. null: there are none, or they are too large for this answer.',
      ),
      ...workOfRun,
    }),
  },
)
/** One node of a team. */
export type NodeDetail = z.infer<(typeof node)['output']>
