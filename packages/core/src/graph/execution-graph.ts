// The ExecutionGraph: a workflow builds it and the TeamSupervisor executes it; no model writes it. Nodes have
// a declared order, and their dependencies form no cycle. A running graph may grow by its workflow's program
// (`graph_extended`), and never shrinks.
import { z } from 'zod'
import { evidenceRequirement } from '../evidence/requirement.ts'
import { jsonObject } from '../json.ts'
import { modelSettings } from '../model-settings.ts'

/** The descriptor of an agent node (EG-02). `role` is always empty: nodes are peers, not roles (EG-03). */
export const agentDescriptor = z.object({
  name: z.string().describe('The name of the agent.'),
  role: z.literal('').describe('Always empty: nodes have no roles.'),
  system_prompt: z.string().describe('What the system prompt says about the agent.'),
  metadata: z
    .object({
      sub_agent_kind: z.literal('generic_skill_worker').describe('The kind of every agent of a team.'),
      workflow_tool: z.string().describe('The workflow that built the node.'),
      workflow_agent_name: z.string().describe('The name of the agent in the arguments of the workflow.'),
    })
    .describe('Where the agent comes from.'),
})
export type AgentDescriptor = z.infer<typeof agentDescriptor>

const place = {
  node_id: z.string().describe('The id of the node, unique in the graph.'),
  depends_on: z.array(z.string()).describe('The nodes that must end before this node starts.'),
  /** The node starts when all of `depends_on` have ended. */
  quorum: z
    .number()
    .int()
    .nonnegative()
    .optional()
    .describe('How many of the nodes in depends_on must complete. Absent: all.'),
  deadline_ms: z
    .number()
    .int()
    .positive()
    .optional()
    .describe('How long the run of the node may take, in milliseconds. Absent: the configured limit.'),
  settings: jsonObject.optional().describe('Settings for the program of the workflow.'),
}

/** A node whose work is done by an AgentLoop. */
export const agentNode = z.object({
  kind: z.literal('agent').describe('An AgentLoop does the work of the node.'),
  ...place,
  agent: agentDescriptor.describe('The agent of the node.'),
  instruction: z.string().describe('What the agent is to do.'),
  use_skill: z.string().optional().describe('The skill that the node names. Absent: none.'),
  skill_query: z
    .string()
    .optional()
    .describe(
      'What Beaver searches for to find a skill. Absent: Beaver does not search by a query of the node.',
    ),
  /** TA-03. */
  allowed_tool_names: z
    .array(z.string())
    .nullable()
    .describe('The only tools that the node may have. null: no limit. An empty list: no tools.'),
  required_evidence: z
    .array(evidenceRequirement)
    .describe('What the result must rest on. A sentence is for the worker; code checks an object.'),
  validation_rules: z
    .array(evidenceRequirement)
    .optional()
    .describe('Rules for the output, in the same form as required_evidence. Absent: none.'),
  evidence_contract: z
    .string()
    .optional()
    .describe('How the worker must give evidence, in words. Code never checks it. Absent: nothing is said.'),
  model: z
    .string()
    .optional()
    .describe('The name of the model of the worker in the configuration. Absent: the main model.'),
  model_settings: modelSettings
    .optional()
    .describe('How the worker asks its model, beyond what the endpoint sets. Absent: as the endpoint sets.'),
  output_schema: jsonObject.optional().describe('The JSON Schema of its output. Absent: any text.'),
})
export type AgentNode = z.infer<typeof agentNode>

/** A node that makes one call of one tool, without a model. Its output is the tool's result. */
const toolNode = z.object({
  kind: z.literal('tool').describe('The node makes one call of one tool, without a model.'),
  ...place,
  tool: z.string().describe('The name of the tool.'),
  arguments: jsonObject.describe('The arguments of the call.'),
})
export type ToolNode = z.infer<typeof toolNode>

/** A node whose output the workflow's program computes, at once and without an effect. */
const codeNode = z.object({
  kind: z.literal('code').describe('The program of the workflow computes the output of the node.'),
  ...place,
  operation: z.string().describe('The operation of the program.'),
})
export type CodeNode = z.infer<typeof codeNode>

/** A node of a graph. */
export const executionNode = z.discriminatedUnion('kind', [agentNode, toolNode, codeNode])
export type ExecutionNode = z.infer<typeof executionNode>

/** The prefix of a definition's id in the name of its tool (CT-03), and in the `workflow` of its graphs. */
export const definitionPrefix = 'workflow:'

/** A graph of nodes. `graphFault` checks its invariants, which the schema cannot express. */
export const executionGraph = z.object({
  workflow: z.string().describe('The workflow that built the graph.'),
  task: z.string().describe('What the team is to do.'),
  nodes: z.array(executionNode).min(1).describe('The nodes, in declared order.'),
  outputs: z
    .array(z.string())
    .min(1)
    .describe('The nodes whose outputs are the outputs of the team, in declared order.'),
  output: z
    .string()
    .nullable()
    .describe(
      'The node whose text is the final output of the team. null: the final output combines all outputs.',
    ),
  /** D-61. */
  deliver: z
    .literal('user')
    .optional()
    .describe(
      'user: the final output of the complete team is the answer of the task, word for word. Absent: the root agent goes on with it.',
    ),
  deadline_ms: z
    .number()
    .int()
    .positive()
    .optional()
    .describe('How long the whole team may take, in milliseconds. Absent: the configured limit.'),
  settings: jsonObject.optional().describe('Settings for the program of the workflow.'),
  /** D-51. */
  shared_state: jsonObject
    .optional()
    .describe('The state that the members share at the start. Absent: the members share no state.'),
})
export type ExecutionGraph = z.infer<typeof executionGraph>
