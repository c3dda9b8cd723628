// The runs of a task as the tree they were: a run has teams, a team has nodes, a node has a run, and so on
// down. The three types are written as interfaces over the inferred fields, because the compiler writes a
// type that holds itself as `any` into the declarations that other packages read.
import { jsonValue } from '@beaver/core'
import { evidenceCheck } from '@beaver/core/evidence'
import { z } from 'zod'
import { count, failureOrNull, runIdField, textOrNull, time, timeOrNull } from '../fields.ts'
import { usageFields } from './tasks.ts'

export const check = z
  .object({
    field: z.string().describe('The field of the node that has the requirement.'),
    requirement: jsonValue.describe('The requirement. If it is long, only its kind.'),
    status: evidenceCheck.shape.status.describe(
      'The verdict. not_checked: the requirement is a sentence, which code does not check.',
    ),
    detail: z.string().describe('The verdict in one sentence.'),
    rests_on: z.array(z.int()).describe('The taskseq of each event from which the verdict was read.'),
  })
  .meta({ id: 'evidence_check_view', description: 'The verdict on one requirement of a node.' })
/** The verdict on one requirement of a node. */
export type CheckAnswer = z.infer<typeof check>

const skillSelection = z.object({
  recall: z.string().describe('How Beaver searched: embedding or lexical.'),
  candidates: count.describe('How many skills the search found.'),
  chosen: z.array(z.string()).describe('The names of the skills that the model chose.'),
  failure: textOrNull.describe(
    'Why the model could not be asked. null: it was asked, or nothing had to be asked.',
  ),
})

export const contextPart = z.object({
  part: z.string().describe('The part of the prompt.'),
  tokens_estimated: count.describe('Its size in tokens, as Beaver estimates it.'),
})

const diagnostic = z.object({
  taskseq: z.int().describe('The place of the event in the log of the task.'),
  node_id: z.string().describe('The node.'),
  code: z.string().describe('A code for programs.'),
  message: z.string().describe('What happened, in one sentence.'),
})

const runFields = z.object({
  run_id: runIdField,
  parent_run_id: runIdField.nullable().describe('The run that called this one. null: it is a root.'),
  agent_name: z.string().describe('The name of the agent.'),
  node_id: textOrNull.describe('The node to which the run belongs. null: it belongs to no team.'),
  team_run_id: textOrNull.describe('The team run to which the run belongs. null: it belongs to no team.'),
  attempt_index: z.int().describe('The number of the attempt at the task: 1, and one more for each retry.'),
  status: z.string().describe('The state of the run.'),
  execution_mode: textOrNull.describe('team or single. null: the agent has not chosen.'),
  skills: z.array(z.string()).describe('The names of the active skills.'),
  workspace_skills: z
    .array(z.string())
    .optional()
    .describe(
      'Those of them that were found in the workspace of the task, and that nobody configured. Absent: there are none.',
    ),
  skill_selection: skillSelection
    .nullable()
    .describe('How Beaver searched for a skill. null: it did not search.'),
  context: z
    .array(contextPart)
    .nullable()
    .describe('The size of each part of the first prompt. null: not known.'),
  first_input_tokens: count
    .nullable()
    .describe('The tokens of the first prompt, as the provider reported them. null: it has not answered.'),
  results_compacted: count.describe(
    'How many tool results became references, because the conversation was too long.',
  ),
  history_dropped: count.describe(
    "How many messages of the session's history were left out, because the conversation was too long.",
  ),
  summaries: count.describe('How often a summary replaced older turns.'),
  started_at: time,
  ended_at: timeOrNull,
  duration_ms: z.int().nullable().describe('How long it took, in milliseconds. null: it has not ended.'),
  tool_iterations: count.describe('How many turns called tools.'),
  tool_calls: count.describe('The number of tool calls.'),
  tool_calls_failed: count.describe('The number of tool calls that failed.'),
  restarts: count.describe('How often the run was restarted.'),
  ...usageFields,
  provider: textOrNull.describe('The provider that gave the last answer. null: no model answered.'),
  model: textOrNull.describe('The model that gave the last answer. null: no model answered.'),
  finish_reason: textOrNull.describe(
    'Why the model stopped, as the provider says it. null: the run has not completed.',
  ),
  output: textOrNull.describe('The last answer. Beaver cuts it after 300 characters. null: there is none.'),
  output_chars: count.describe('The number of characters (UTF-16 units) of the whole output.'),
  failure: failureOrNull,
})
/** One execution of one agent. */
export interface RunAnswer extends z.infer<typeof runFields> {
  teams: TeamAnswer[]
  other_runs?: RunAnswer[] | undefined
}

const teamFields = z.object({
  team_run_id: z.string().describe('The id of the team run.'),
  run_id: runIdField.nullable().describe('The run that called the team. null: the task is a workflow.'),
  call_id: textOrNull.describe('The call that started the team. null: the task is a workflow.'),
  workflow: z.string().describe('The workflow that built the graph.'),
  task: z.string().describe('What the team is to do. Beaver cuts it after 200 characters.'),
  status: z.string().describe('The state of the team run.'),
  message: textOrNull.describe('Why the team is not complete. null: it is complete, or it still runs.'),
  started_at: time,
  ended_at: timeOrNull,
  duration_ms: z.int().nullable().describe('How long it took, in milliseconds. null: it has not ended.'),
  output_nodes: z.array(z.string()).describe('The nodes whose outputs are the outputs of the team.'),
  node_count: count.describe('How many nodes the graph has.'),
  node_count_at_start: count.describe('How many nodes the graph had before it grew.'),
  nodes_by_status: z
    .record(z.string(), count)
    .describe(
      'How many nodes of the team are in each state. It counts every node, also those that the answer leaves out.',
    ),
  diagnostics: z.array(diagnostic).describe('What is worth knowing although nothing failed.'),
  shared_state: jsonValue.describe(
    'The state that the members share. null: there is none, or it is too large for this answer.',
  ),
  shared_state_changes: count.describe('How often the shared state changed.'),
})
/** One execution of a graph of nodes. */
export interface TeamAnswer extends z.infer<typeof teamFields> {
  nodes: NodeAnswer[]
}

const nodeFields = z.object({
  node_id: z.string().describe('The id of the node.'),
  declared_index: count.describe('The place of the node in its team, from 0.'),
  kind: z.string().describe('The kind of the node: agent, tool or code.'),
  depends_on: z.array(z.string()).describe('The nodes that must end before this node starts.'),
  quorum: count.nullable().describe('How many of the nodes in depends_on must complete. null: all.'),
  added_after: textOrNull.describe(
    'The node after which the graph grew by this node. null: the graph began with it.',
  ),
  use_skill: textOrNull.describe('The skill that the node names. null: none.'),
  tool: textOrNull.describe('The tool of a tool node. null: this is no tool node.'),
  operation: textOrNull.describe('The operation of a code node. null: this is no code node.'),
  status: z.string().describe('The state of the node.'),
  run_id: runIdField.nullable().describe('The run of the node. null: the node has no run.'),
  started_at: timeOrNull,
  ended_at: timeOrNull,
  duration_ms: z.int().nullable().describe('How long it took, in milliseconds. null: it has not ended.'),
  evidence_passed: z
    .boolean()
    .nullable()
    .describe('Whether the evidence passed the gate. null: the gate did not evaluate it.'),
  evidence: z.array(check).describe('The verdict on each requirement.'),
  failure: failureOrNull,
  cause_node_id: textOrNull.describe('The node that blocks this one. null: none.'),
  skip_reason: textOrNull.describe('Why the node was skipped. null: it was not skipped.'),
  cancel_reason: textOrNull.describe('Why somebody asked to cancel the node. null: nobody asked.'),
  output: textOrNull.describe(
    'The output of a code node. Beaver cuts it after 300 characters. null: there is none.',
  ),
  output_chars: count
    .nullable()
    .describe('The number of characters (UTF-16 units) of the whole output. null: there is none.'),
})
/** One node of a team. */
export interface NodeAnswer extends z.infer<typeof nodeFields> {
  run: RunAnswer | null
}

export const run: z.ZodType<RunAnswer> = runFields
  .extend({
    get teams() {
      return z.array(team).describe('The teams that the run called.')
    },
    get other_runs() {
      return z
        .array(run)
        .optional()
        .describe('Child runs that belong to none of its teams. Absent: there are none.')
    },
  })
  .meta({ id: 'run', description: 'One execution of one agent.' })

export const team: z.ZodType<TeamAnswer> = teamFields
  .extend({
    get nodes() {
      return z.array(node).describe('The nodes of this page, in declared order.')
    },
  })
  .meta({ id: 'team', description: 'One execution of a graph of nodes.' })

export const node: z.ZodType<NodeAnswer> = nodeFields
  .extend({
    get run() {
      return run
        .nullable()
        .describe('The run of the node. null: it has none, or the answer shows the run elsewhere.')
    },
  })
  .meta({ id: 'node', description: 'One node of a team.' })
