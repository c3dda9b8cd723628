// `graph`: all nodes of a task in few words each, and what changed of them.
import { failure } from '@beaver/core/supervision'
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  after,
  count,
  limitOf,
  paged,
  runIdField,
  sessionIdField,
  taskIdField,
  taskNameOfUser,
  tenantField,
  textOrNull,
  timeOrNull,
} from '../fields.ts'

const graphNode = z
  .object({
    node_id: z.string().describe('The id of the node.'),
    team: count.describe('The place of its team in the list of teams, from 0.'),
    declared_index: count.describe('The place of the node in its team, from 0.'),
    kind: z.string().describe('The kind of the node: agent, tool or code.'),
    depends_on: z
      .array(count)
      .describe('The declared_index of each node that must end before this node starts.'),
    status: z.string().describe('The state of the node.'),
    run_id: runIdField.nullable().describe('The run of the node. null: the node has no run.'),
    agent_name: textOrNull.describe('The name of the agent. null: the node has no run.'),
    started_at: timeOrNull,
    ended_at: timeOrNull,
    tokens: count.describe('The tokens of input and output that its run used.'),
    calls: count.describe('The calls of models of its run.'),
    tool_calls: count.describe('The calls of tools of its run.'),
    tool_calls_failed: count.describe('How many of them failed.'),
    failure_class: failure.shape.class
      .nullable()
      .describe('The class of its failure. null: it did not fail.'),
    waits: z.boolean().describe('Whether a call of its run waits for a person.'),
    changed_taskseq: count.describe('The place of the last event that changed the node or its run.'),
  })
  .meta({ id: 'graph_node', description: 'One node of a team, in few words.' })

export const graph = contract(
  'All nodes of all teams of a task, in few words each. Or only the nodes that changed after an event.',
  {
    input: z.strictObject({
      ...taskNameOfUser,
      changed_after: count
        .default(0)
        .describe('Only nodes that changed after the event at this place of the log. 0: all nodes.'),
      after,
      limit: limitOf('nodes', { usual: 2_000, max: 5_000 }),
    }),
    output: z.object({
      task_id: taskIdField,
      session_id: sessionIdField,
      tenant: tenantField,
      last_taskseq: count.describe(
        'The place of the last event of the task. Pass it as "changed_after" to get what changes later.',
      ),
      teams: z
        .array(
          z.object({
            team_run_id: z.string().describe('The id of the team run.'),
            run_id: runIdField
              .nullable()
              .describe('The run that called the team. null: the task is a workflow.'),
            workflow: z.string().describe('The workflow that built the graph.'),
            status: z.string().describe('The state of the team run.'),
            nodes: count.describe('How many nodes the graph has.'),
          }),
        )
        .describe('All teams of the task, in the order in which they started, at most 512.'),
      nodes: z.array(graphNode).describe('The nodes, in the order in which the journal declared them.'),
      ...paged,
    }),
  },
)
