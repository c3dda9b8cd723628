// Shared parts of the workflows whose graph follows from answers: ids of steps, nodes of a step, numbers,
// failures, limits. An agent name contains no `#`, so the id of a step (`alice #2`, `#3 floor`) is never an
// agent's name or another step's id.
import { invariant, type JsonObject } from '@beaver/core'
import {
  type AgentNode,
  type CodeNode,
  type ExecutionGraph,
  type ExecutionNode,
  graphFault,
  type TeamView,
} from '@beaver/core/graph'
import {
  nodeOfAgent,
  type PlanResult,
  quote,
  type Refusal,
  refuse,
  type WorkflowAgentSpec,
  type WorkflowLimits,
} from '@beaver/workflows'
import { z } from 'zod'

/** The id of a step: `alice #2`. */
export const stepId = (agent: string, step: string | number): string => `${agent} #${step}`

export interface StepOf {
  readonly workflow: string
  readonly id: string
  readonly instruction: string
  readonly dependsOn: readonly string[]
  readonly quorum?: number
  readonly settings?: JsonObject
}

/** A node in which an agent makes one of its steps. */
export function stepNode(
  agent: WorkflowAgentSpec,
  { workflow, id, instruction, dependsOn, quorum, settings }: StepOf,
): AgentNode {
  return {
    ...nodeOfAgent(workflow, agent, dependsOn),
    node_id: id,
    instruction,
    ...(quorum === undefined ? {} : { quorum }),
    ...(settings === undefined ? {} : { settings }),
  }
}

/** An agent that answers about the work but does not do it: no tools, no skill, no evidence. */
export const bare = ({ name, instruction }: WorkflowAgentSpec): WorkflowAgentSpec => ({
  name,
  instruction,
  allowed_tool_names: [],
})

export function codeStep(
  id: string,
  operation: string,
  dependsOn: readonly string[],
  more: Pick<CodeNode, 'quorum' | 'settings'> = {},
): CodeNode {
  return { kind: 'code', node_id: id, operation, depends_on: [...dependsOn], ...more }
}

/** A field for a whole number within bounds. */
export const countField = (min: number, max: number, about: string) =>
  z
    .number()
    .refine((value) => Number.isInteger(value) && value >= min && value <= max, {
      error: (issue) => `is ${quote(issue.input)}: write a whole number from ${min} to ${max}`,
    })
    .meta({ type: 'integer', minimum: min, maximum: max })
    .describe(about)

/** A value for `settings`: JSON that shares nothing with the arguments. */
export const asSettings = (value: object): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject

/** A graph of nodes that are in order already. */
export function builtGraph(graph: ExecutionGraph): PlanResult {
  const fault = graphFault(graph)
  invariant(fault === null, `${graph.workflow} built a graph in which ${fault}`)
  return { ok: true, graph }
}

/** What is wrong with the size of a team: `runs` of agents and `edges` are the most that it may reach. */
export function sizeFault(
  size: { readonly runs: number; readonly edges?: number },
  path: string,
  advice: string,
  limits: WorkflowLimits,
): Refusal | null {
  const { runs, edges = 0 } = size
  if (runs > limits.agentsMax) {
    return refuse(
      'too_many_agents',
      path,
      `The team may need ${runs} agent runs; the limit agentsMax is ${limits.agentsMax}. ${advice}`,
    )
  }
  return edges <= limits.edgesMax
    ? null
    : refuse(
        'too_many_edges',
        path,
        `The graph may grow to ${edges} edges; the limit edgesMax is ${limits.edgesMax}. ${advice}`,
      )
}

export const edgeCountOf = (nodes: readonly ExecutionNode[]): number =>
  nodes.reduce((sum, node) => sum + node.depends_on.length, 0)

/**
 * Those of the nodes that ended without a result: id and class, never their texts (D-34). Empty if all
 * completed.
 */
export function failuresOf(team: TeamView, ids: readonly string[]): readonly string[] {
  return ids.flatMap((id) => {
    const status = team.statusOf(id)
    if (status === 'completed') return []
    return [
      `${quote(id)}: ${status === 'failed' ? `failed (${team.failureOf(id)?.class ?? 'internal'})` : status}`,
    ]
  })
}

/** The instruction with what failed. Unchanged if nothing failed. */
export function withFailures(instruction: string, failures: readonly string[]): string {
  if (failures.length === 0) return instruction
  return `${instruction}\n\nThese ended without a result; say so where it matters, and do not invent one:\n${failures.map((each) => `- ${each}`).join('\n')}`
}

/** A text cut for an instruction. */
export const excerpt = (text: string, charsMax = 300): string =>
  text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()}…`
