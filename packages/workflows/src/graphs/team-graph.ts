// Builds an ExecutionGraph from agents and edges (WT-08), in declared order, whatever the order of the edges.
// Every node has the same generic worker as its descriptor: nodes are peers.
import { invariant } from '@beaver/core'
import {
  type AgentNode,
  type Edge,
  type ExecutionGraph,
  graphFault,
  sinksOf,
  type Topology,
  topologyOf,
} from '@beaver/core/graph'
import type { WorkflowAgentSpec } from '../agent-spec.ts'
import type { PlanResult, WorkflowLimits } from '../workflow.ts'
import { type Refusal, refuse } from '../workflow-error.ts'

export interface TeamShape {
  readonly workflow: string
  readonly task: string
  readonly agents: readonly WorkflowAgentSpec[]
  readonly topology: Topology
  /** The node whose text is the team's. Default: the only sink, or `null` if there are several. */
  readonly output?: string
}

/** The topology of a team whose names and edges were checked. */
export function teamTopology(agents: readonly WorkflowAgentSpec[], edges: Iterable<Edge>): Topology {
  return topologyOf(
    agents.map((agent) => agent.name),
    edges,
  )
}

export function edgeLimitFault(edgeCount: number, path: string, limits: WorkflowLimits): Refusal | null {
  if (edgeCount <= limits.edgesMax) return null
  return refuse(
    'too_many_edges',
    path,
    `The graph would have ${edgeCount} edges; the limit edgesMax is ${limits.edgesMax}. Use fewer edges: put a collecting agent between large groups.`,
  )
}

/** The graph of a checked shape. */
export function teamGraph({ workflow, task, agents, topology, output }: TeamShape): PlanResult {
  const outputs = [...sinksOf(topology)]
  const graph: ExecutionGraph = {
    workflow,
    task,
    nodes: agents.map((agent) => nodeOfAgent(workflow, agent, topology.dependenciesOf.get(agent.name) ?? [])),
    outputs,
    output: output ?? (outputs.length === 1 ? (outputs[0] ?? null) : null),
  }
  const fault = graphFault(graph)
  invariant(fault === null, `${workflow} built a graph in which ${fault}`)
  return { ok: true, graph }
}

/**
 * The node in which an agent of a workflow does its part.
 *
 * @example
 * nodeOfAgent('Relay', { name: 'writer', instruction: 'Draft.' }, ['reader']).depends_on // => ['reader']
 */
export function nodeOfAgent(
  workflow: string,
  agent: WorkflowAgentSpec,
  dependsOn: readonly string[],
): AgentNode {
  return {
    kind: 'agent',
    node_id: agent.name,
    agent: {
      name: agent.name,
      role: '',
      system_prompt: '',
      metadata: {
        sub_agent_kind: 'generic_skill_worker',
        workflow_tool: workflow,
        workflow_agent_name: agent.name,
      },
    },
    instruction: agent.instruction,
    depends_on: [...dependsOn],
    ...(agent.use_skill === undefined ? {} : { use_skill: agent.use_skill }),
    ...(agent.skill_query === undefined ? {} : { skill_query: agent.skill_query }),
    allowed_tool_names: agent.allowed_tool_names ?? null,
    required_evidence: agent.required_evidence ?? [],
    ...(agent.validation_rules === undefined ? {} : { validation_rules: agent.validation_rules }),
    ...(agent.evidence_contract === undefined ? {} : { evidence_contract: agent.evidence_contract }),
    ...(agent.model === undefined ? {} : { model: agent.model }),
    ...(agent.model_settings === undefined ? {} : { model_settings: agent.model_settings }),
    ...(agent.output_schema === undefined ? {} : { output_schema: agent.output_schema }),
  }
}
