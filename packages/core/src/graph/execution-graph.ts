// The ExecutionGraph: what a workflow builds and the TeamSupervisor interprets. Internal: no model writes it.
// G1. Nodes stand in declared order, and each depends only on nodes of the same graph. G2. There is no cycle.
// G3. A graph may grow while it runs, by what its workflow's program decides (`graph_extended`); it never shrinks.
import { z } from 'zod'
import { evidenceRequirement } from '../evidence/requirement.ts'
import { jsonObject } from '../json.ts'

/** The descriptor every workflow node carries. `role` is always empty: nodes are peers, not roles (S0 §2.3, §8.2). */
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
  /** How many of `depends_on` have to complete before it starts, once all of them have ended; absent: all. */
  quorum: z.number().int().nonnegative().optional(),
  /** How long its run may take; absent: the configured bound. */
  deadline_ms: z.number().int().positive().optional(),
  /** For the program of the graph's workflow; nothing else reads it. */
  settings: jsonObject.optional(),
}

/** An AgentLoop. */
export const agentNode = z.object({
  kind: z.literal('agent'),
  ...place,
  agent: agentDescriptor,
  instruction: z.string(),
  use_skill: z.string().optional(),
  skill_query: z.string().optional(),
  /** `null`: no scope; `[]`: no tool at all; a list: the ceiling (S0 §5). */
  allowed_tool_names: z.array(z.string()).nullable(),
  required_evidence: z.array(evidenceRequirement),
  /** Rules for the output; absent: none. */
  validation_rules: z.array(evidenceRequirement).optional(),
  /** How evidence is to be given, in words: shown to the worker, never checked. */
  evidence_contract: z.string().optional(),
})
export type AgentNode = z.infer<typeof agentNode>

/** One call of one tool, without a model. Its output is the tool's result. */
const toolNode = z.object({ kind: z.literal('tool'), ...place, tool: z.string(), arguments: jsonObject })
export type ToolNode = z.infer<typeof toolNode>

/** Computed by the program of the graph's workflow, at once and without an effect. */
const codeNode = z.object({ kind: z.literal('code'), ...place, operation: z.string() })
export type CodeNode = z.infer<typeof codeNode>

export const executionNode = z.discriminatedUnion('kind', [agentNode, toolNode, codeNode])
export type ExecutionNode = z.infer<typeof executionNode>

export const executionGraph = z.object({
  workflow: z.string(),
  task: z.string(),
  nodes: z.array(executionNode).min(1),
  /** The nodes whose outputs are the team's, in declared order. */
  outputs: z.array(z.string()).min(1),
  /** The node whose text is the team's `final_output`; `null` when several outputs are put together. */
  output: z.string().nullable(),
  /** How long the whole team may take; absent: the configured bound. */
  deadline_ms: z.number().int().positive().optional(),
  /** For the workflow's program. */
  settings: jsonObject.optional(),
  /** What the state its members share begins with; absent: they share none (D-51). */
  shared_state: jsonObject.optional(),
})
export type ExecutionGraph = z.infer<typeof executionGraph>
