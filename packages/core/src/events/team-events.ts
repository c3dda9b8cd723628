// The events of a team run: its graph, its nodes, and the state that its members share.
import { z } from 'zod'
import { evidenceCheck } from '../evidence/requirement.ts'
import { failure } from '../failure/failure-class.ts'
import { executionGraph, executionNode } from '../graph/execution-graph.ts'
import { runId, teamRunId } from '../ids.ts'
import { jsonObject } from '../json.ts'
import { taint } from '../taint/taint.ts'
import { sharedStateChange } from '../team/shared-state.ts'
import { asker, reason } from './task-events.ts'

const teamOfRun = teamRunId.describe('The id of the team run.')
const teamNode = z.object({ team_run_id: teamOfRun, node_id: z.string().describe('The id of the node.') })

export const teamEvents = {
  task_team_run_started: z
    .object({
      team_run_id: teamOfRun,
      run_id: runId
        .nullable()
        .describe('The run that called the team. null: the task is a workflow without a root agent.'),
      call_id: z
        .string()
        .nullable()
        .describe('The call that started the team. null: the task is a workflow without a root agent.'),
      graph: executionGraph.describe('The whole graph.'),
      concurrent_nodes_max: z.number().int().positive().describe('How many nodes may run at the same time.'),
      taint: taint.optional().describe('The labels of the run that called the team. Absent: it has none.'),
    })
    .describe('A team run began.'),
  node_started: teamNode
    .extend({
      run_id: runId.describe('The run of the node.'),
      input: jsonObject.nullable().describe('What the program of the graph gave the node. null: nothing.'),
    })
    .describe('A node of a team began.'),
  node_computed: teamNode
    .extend({ output: z.string().describe('The output.') })
    .describe('Code computed the output of a node.'),
  node_skipped: teamNode.extend({ reason }).describe('A node was skipped.'),
  /** `edges` lead to nodes that have not started. */
  graph_extended: teamNode
    .extend({
      node_id: z.string().describe('The node after which the graph grew.'),
      nodes: z.array(executionNode).describe('The new nodes.'),
      edges: z
        .array(z.tuple([z.string(), z.string()]))
        .describe(
          'The new edges, each as a pair: the node that must end first, and the node that depends on it.',
        ),
      outputs: z
        .array(z.string())
        .min(1)
        .describe('The nodes whose outputs are now the outputs of the team.'),
      output: z
        .string()
        .nullable()
        .describe(
          'The node whose text is now the final output of the team. null: the final output combines all outputs.',
        ),
    })
    .describe('The graph of a team grew.'),
  node_evidence_evaluated: teamNode
    .extend({
      run_id: runId.describe('The run of the node.'),
      passed: z.boolean().describe('Whether the result passes.'),
      checks: z.array(evidenceCheck).describe('The verdict on each requirement.'),
    })
    .describe('The gate evaluated the evidence of a node.'),
  node_completed: teamNode
    .extend({ run_id: runId.describe('The run of the node.') })
    .describe('A node completed.'),
  node_failed: teamNode
    .extend({
      run_id: runId.nullable().describe('The run of the node. null: the node failed before it could start.'),
      failure: failure.describe('Why the node failed.'),
    })
    .describe('A node failed.'),
  node_blocked: teamNode
    .extend({ cause_node_id: z.string().describe('The node that did not complete.') })
    .describe('A node can never start, because another node did not complete.'),
  node_cancel_requested: teamNode.extend({ reason, ...asker }).describe('Somebody asked to cancel one node.'),
  node_cancelled: teamNode.extend({ reason }).describe('A node was cancelled.'),
  /** Such as a plan that was repaired, or an unknown member that a plan named. */
  team_diagnostic_recorded: teamNode
    .extend({
      code: z.string().describe('A code for programs, such as "tie".'),
      message: z.string().describe('What happened, in one sentence.'),
    })
    .describe('Something worth knowing happened in a team. Nothing failed.'),
  shared_state_changed: z
    .object({
      team_run_id: teamOfRun,
      run_id: runId
        .nullable()
        .describe('The run that changed the state. null: the program of the graph changed it.'),
      change: sharedStateChange.describe('The change.'),
      taint: taint.optional().describe('The labels of that run. Absent: it has none.'),
    })
    .describe('The state that the members of a team share changed.'),
  task_team_run_completed: z
    .object({ team_run_id: teamOfRun, outcome: z.literal('complete').describe('How the team ended.') })
    .describe('A team run completed.'),
  task_team_run_failed: z
    .object({
      team_run_id: teamOfRun,
      outcome: z.enum(['incomplete', 'cancelled']).describe('How the team ended.'),
      message: reason,
    })
    .describe('A team run ended without completing.'),
}
