// What a member and its tools are told of the team that they work in (AT-12). Pure.
import type { AgentNode, ExecutionGraph, ToolNode } from '@beaver/core/graph'
import { findTaskWorkflow } from './registry.ts'

/** The team of a run. Plain data, because it crosses threads and cells. */
export interface TeamContext {
  readonly team_run_id: string
  readonly workflow: string
  /** The configured name of a team. Default: the name of the workflow. */
  readonly team: string
  /** `null` if the workflow has no strategy. */
  readonly strategy: string | null
  readonly node_id: string
  /** `null` for the node of a tool. */
  readonly member_name: string | null
  /** The configured members, or the agents of the graph, in declared order. */
  readonly members: readonly string[]
  readonly coordinator: string | null
}

/**
 * The team of a node.
 *
 * @example
 * const [node] = graph.nodes
 * if (node?.kind === 'agent') teamContextOf('team1', graph, node).members // => ['researcher', 'writer']
 */
export function teamContextOf(
  teamRunId: string,
  graph: ExecutionGraph,
  node: AgentNode | ToolNode,
): TeamContext {
  const { workflow } = graph
  const configured = findTaskWorkflow(workflow)?.teamOf?.(graph) ?? null
  const agents = [...new Set(graph.nodes.flatMap((each) => (each.kind === 'agent' ? [each.agent.name] : [])))]
  return {
    team_run_id: teamRunId,
    workflow,
    team: configured?.team ?? workflow,
    strategy: configured?.strategy ?? null,
    node_id: node.node_id,
    member_name: node.kind === 'agent' ? node.agent.name : null,
    members: configured?.members ?? agents,
    coordinator: configured?.coordinator ?? null,
  }
}
