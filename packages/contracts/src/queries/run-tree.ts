// The runs of a task as the tree they were: a run has teams, a team has nodes, a node has a run, and so on down.
// The three types are written as interfaces over the inferred fields, because the compiler writes a type that holds itself as `any`
// into the declarations that other packages read.
import { evidenceCheck, jsonValue } from '@beaver/core'
import { z } from 'zod'
import { count, failureOrNull, runIdField, textOrNull, time, timeOrNull } from '../fields.ts'
import { modelUsage } from './tasks.ts'

const check = z
  .object({
    field: z.string().describe('The field of the node that the requirement stands in.'),
    requirement: jsonValue.describe('The requirement; of a long one only its kind.'),
    status: evidenceCheck.shape.status,
    detail: z.string().describe('The verdict in one sentence.'),
    rests_on: z.array(z.int()).describe('The taskseqs of the events that the verdict was read from.'),
  })
  .meta({ id: 'evidence_check_view', description: 'The verdict about one requirement of a node.' })
/** The verdict about one requirement of a node. */
export type CheckAnswer = z.infer<typeof check>

const skillSelection = z.object({
  recall: z.string().describe('embedding or lexical.'),
  candidates: count.describe('How many skills recall found.'),
  chosen: z.array(z.string()).describe('The names of the skills that the model chose.'),
  failure: textOrNull.describe('Why the model could not be asked. null: it was.'),
})

const contextPart = z.object({ part: z.string(), tokens_estimated: count })

const diagnostic = z.object({ taskseq: z.int(), node_id: z.string(), code: z.string(), message: z.string() })

const runFields = z.object({
  run_id: runIdField,
  parent_run_id: runIdField.nullable().describe('The run that called for this one. null: none did.'),
  agent_name: z.string(),
  node_id: textOrNull.describe('The node of the team. null: the run belongs to no team.'),
  team_run_id: textOrNull.describe('The run of the team. null: the run belongs to no team.'),
  attempt_index: z.int().describe('Counts the tries, from 1.'),
  status: z.string(),
  execution_mode: textOrNull.describe('team or single. null: not decided.'),
  skills: z.array(z.string()).describe('The names of the active skills.'),
  skill_selection: skillSelection.nullable().describe('How a skill was looked for. null: it was not.'),
  context: z.array(contextPart).nullable().describe('What the first prompt was made of, estimated in tokens. null: not known.'),
  first_input_tokens: count.nullable().describe('What the provider counted for the first call. null: it has not answered.'),
  results_compacted: count.describe('Tool results that were replaced by references because the conversation was too long.'),
  history_dropped: count.describe("Messages of the session's history that were left out because the conversation was too long."),
  summaries: count.describe('How often older turns were replaced by a summary.'),
  started_at: time,
  ended_at: timeOrNull,
  duration_ms: z.int().nullable().describe('Milliseconds. null: it has not ended.'),
  tool_iterations: count,
  tool_calls: count,
  tool_calls_failed: count,
  restarts: count,
  input_tokens: count,
  output_tokens: count,
  calls: count.describe('Calls of models.'),
  usage_by_model: z.array(modelUsage),
  provider: textOrNull,
  model: textOrNull,
  finish_reason: textOrNull,
  output: textOrNull.describe('The last answer, cut after 300 characters. null: there is none.'),
  output_chars: count.describe('Characters (UTF-16 units) of the whole output.'),
  failure: failureOrNull,
})
/** One execution of one agent. */
export interface RunAnswer extends z.infer<typeof runFields> {
  teams: TeamAnswer[]
  other_runs?: RunAnswer[] | undefined
}

const teamFields = z.object({
  team_run_id: z.string(),
  run_id: runIdField.nullable().describe('The run that called for the team. null: the task is a workflow.'),
  call_id: textOrNull.describe('The call that asked for the team. null: the task is a workflow.'),
  workflow: z.string(),
  task: z.string().describe('What the team is to do, cut after 200 characters.'),
  status: z.string(),
  message: textOrNull.describe('Why the team is not complete. null: it is, or it goes on.'),
  started_at: time,
  ended_at: timeOrNull,
  duration_ms: z.int().nullable().describe('Milliseconds. null: it has not ended.'),
  output_nodes: z.array(z.string()).describe('The nodes whose outputs are the result.'),
  node_count: count,
  node_count_at_start: count.describe('How many nodes there were before the graph grew.'),
  diagnostics: z.array(diagnostic).describe('What is worth knowing and failed nothing.'),
  shared_state: jsonValue.describe('The state that the members share. null: there is none, or it is too long for this answer.'),
  shared_state_changes: count,
})
/** One execution of a graph of nodes. */
export interface TeamAnswer extends z.infer<typeof teamFields> {
  nodes: NodeAnswer[]
}

const nodeFields = z.object({
  node_id: z.string(),
  kind: z.string().describe('agent, tool or code.'),
  depends_on: z.array(z.string()),
  quorum: count.nullable().describe('How many of the nodes it depends on must complete. null: all.'),
  added_after: textOrNull.describe('The node after which it was added. null: it was there from the start.'),
  use_skill: textOrNull,
  tool: textOrNull.describe('The tool of a tool node. null: it is none.'),
  operation: textOrNull.describe('The operation of a code node. null: it is none.'),
  status: z.string(),
  run_id: runIdField.nullable().describe('null: the node has no run.'),
  started_at: timeOrNull,
  ended_at: timeOrNull,
  duration_ms: z.int().nullable().describe('Milliseconds. null: it has not ended.'),
  evidence_passed: z.boolean().nullable().describe('null: the evidence was not evaluated.'),
  evidence: z.array(check),
  failure: failureOrNull,
  cause_node_id: textOrNull.describe('The node that blocks it. null: none does.'),
  skip_reason: textOrNull.describe('Why it was skipped. null: it was not.'),
  cancel_reason: textOrNull.describe('Why a cancel was asked for. null: none was.'),
  output: textOrNull.describe('The output of a computed node, cut after 300 characters. null: it has none.'),
  output_chars: count.nullable().describe('Characters (UTF-16 units) of the whole output. null: it has none.'),
})
/** One node of a team. */
export interface NodeAnswer extends z.infer<typeof nodeFields> {
  run: RunAnswer | null
}

export const run: z.ZodType<RunAnswer> = runFields
  .extend({
    get teams() {
      return z.array(team).describe('The teams that the run called for.')
    },
    get other_runs() {
      return z.array(run).optional().describe('Runs under this one that belong to none of its teams. Absent: none.')
    },
  })
  .meta({ id: 'run', description: 'One execution of one agent.' })

export const team: z.ZodType<TeamAnswer> = teamFields
  .extend({
    get nodes() {
      return z.array(node).describe('In declared order.')
    },
  })
  .meta({ id: 'team', description: 'One execution of a graph of nodes.' })

const node: z.ZodType<NodeAnswer> = nodeFields
  .extend({
    get run() {
      return run.nullable().describe('The run of the node. null: it has none, or the run is shown elsewhere.')
    },
  })
  .meta({ id: 'node', description: 'One node of a team.' })
