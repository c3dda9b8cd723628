// The ExecutionGraph: a workflow builds it and the TeamSupervisor executes it. It is internal: no model
// writes it. Nodes have a declared order, and each depends only on nodes of the same graph. There is no
// cycle. A graph may grow while it runs, if its workflow's program decides so (`graph_extended`). It never
// shrinks.
import { z } from 'zod'
import { evidenceRequirement } from '../evidence/requirement.ts'
import { jsonObject } from '../json.ts'
import { modelSettings } from '../model-settings.ts'

/** The descriptor of an agent node (EG-02). `role` is always empty: nodes are peers, not roles (EG-03). */
export const agentDescriptor = z.object({
  name: z.string(),
  role: z.literal(''),
  system_prompt: z.string(),
  metadata: z.object({
    sub_agent_kind: z.literal('generic_skill_worker'),
    workflow_tool: z.string(),
    workflow_agent_name: z.string(),
  }),
})
export type AgentDescriptor = z.infer<typeof agentDescriptor>

const place = {
  node_id: z.string(),
  depends_on: z.array(z.string()),
  /**
   * How many of `depends_on` must complete. The node starts when all of them have ended. Default: all must
   * complete.
   */
  quorum: z.number().int().nonnegative().optional(),
  /** How long the run of the node may take. Default: the configured limit. */
  deadline_ms: z.number().int().positive().optional(),
  /** Settings for the program of the graph's workflow. Nothing else reads them. */
  settings: jsonObject.optional(),
}

/** A node whose work is done by an AgentLoop. */
export const agentNode = z.object({
  kind: z.literal('agent'),
  ...place,
  agent: agentDescriptor,
  instruction: z.string(),
  use_skill: z.string().optional(),
  skill_query: z.string().optional(),
  /** The ceiling on the node's tools (TA-03). `null`: no ceiling; `[]`: no tools. */
  allowed_tool_names: z.array(z.string()).nullable(),
  required_evidence: z.array(evidenceRequirement),
  /** Rules for the output. Default: none. */
  validation_rules: z.array(evidenceRequirement).optional(),
  /** How the worker must give evidence, in words. It is shown to the worker and never checked. */
  evidence_contract: z.string().optional(),
  /** The name of its model in the configuration. Default: the main model. */
  model: z.string().optional(),
  /** How the worker asks its model, beyond what the endpoint sets. Default: as the endpoint sets. */
  model_settings: modelSettings.optional(),
  /** The JSON Schema of its output. Default: any text. */
  output_schema: jsonObject.optional(),
})
export type AgentNode = z.infer<typeof agentNode>

/** A node that makes one call of one tool, without a model. Its output is the tool's result. */
const toolNode = z.object({ kind: z.literal('tool'), ...place, tool: z.string(), arguments: jsonObject })
export type ToolNode = z.infer<typeof toolNode>

/** A node whose output the workflow's program computes, at once and without an effect. */
const codeNode = z.object({ kind: z.literal('code'), ...place, operation: z.string() })
export type CodeNode = z.infer<typeof codeNode>

/** A node of a graph. */
export const executionNode = z.discriminatedUnion('kind', [agentNode, toolNode, codeNode])
export type ExecutionNode = z.infer<typeof executionNode>

/** The prefix of a definition's id in the name of its tool (CT-03), and in the `workflow` of its graphs. */
export const definitionPrefix = 'workflow:'

/** A graph of nodes. `graphFault` checks its invariants, which the schema cannot express. */
export const executionGraph = z.object({
  workflow: z.string(),
  task: z.string(),
  nodes: z.array(executionNode).min(1),
  /** The nodes whose outputs are the outputs of the team, in declared order. */
  outputs: z.array(z.string()).min(1),
  /** The node whose text is the `final_output` of the team; `null` if several outputs are combined. */
  output: z.string().nullable(),
  /**
   * `user`: the final output of the complete team is the answer of the task, word for word (D-61). Default:
   * the root agent goes on with it.
   */
  deliver: z.literal('user').optional(),
  /** How long the whole team may take. Default: the configured limit. */
  deadline_ms: z.number().int().positive().optional(),
  /** Settings for the workflow's program. */
  settings: jsonObject.optional(),
  /** The initial value of the shared state. Default: the members share no state (D-51). */
  shared_state: jsonObject.optional(),
})
export type ExecutionGraph = z.infer<typeof executionGraph>
