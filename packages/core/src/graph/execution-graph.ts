// The ExecutionGraph: what a workflow builds and the TeamSupervisor interprets. Internal: no model writes it.
// G1. Nodes stand in declared order, and each depends only on nodes of the same graph. G2. There is no cycle.
import { z } from 'zod'
import { evidenceRequirement } from '../evidence/requirement.ts'

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

export const executionNode = z.object({
  node_id: z.string(),
  agent: agentDescriptor,
  instruction: z.string(),
  depends_on: z.array(z.string()),
  use_skill: z.string().optional(),
  skill_query: z.string().optional(),
  /** `null`: no scope; `[]`: no tool at all; a list: the ceiling (S0 §5). */
  allowed_tool_names: z.array(z.string()).nullable(),
  required_evidence: z.array(evidenceRequirement),
})
export type ExecutionNode = z.infer<typeof executionNode>

export const executionGraph = z.object({
  workflow: z.string(),
  task: z.string(),
  nodes: z.array(executionNode).min(1),
  /** The nodes whose outputs are the team's, in declared order. */
  outputs: z.array(z.string()).min(1),
  /** The node whose text is the team's `final_output`; `null` when several outputs are put together. */
  output: z.string().nullable(),
})
export type ExecutionGraph = z.infer<typeof executionGraph>
