// TeamProgram: what a workflow decides while its graph runs: the input of each node, the output of code
// nodes, and how the graph grows. `graph.workflow` determines the program. A program is pure: the same team
// always gives the same decision, which is journaled before it takes effect.
import type { Failure } from '../failure/failure-class.ts'
import type { JsonObject } from '../json.ts'
import type { SharedStateChange } from '../team/shared-state.ts'
import type { Edge } from './topology.ts'
import type { ExecutionGraph, ExecutionNode } from './execution-graph.ts'
import type { NodeStatus } from './schedule.ts'

/** A team, as its program sees it. */
export interface TeamView {
  readonly graph: ExecutionGraph
  statusOf(nodeId: string): NodeStatus
  /** The text of a completed node; `null` for any other node. */
  outputOf(nodeId: string): string | null
  failureOf(nodeId: string): Failure | null
  readonly sharedState: JsonObject
}

/** How a node begins after its dependencies have ended. */
export type NodeEntry =
  /**
   * The node runs. `input` replaces fields of the node: `instruction` of an agent, `arguments` of a tool. An
   * instruction is a text, or a list of parts in which `{ "value": "…" }` is text of other nodes.
   * `dependency_outputs`, a list of node ids, selects the outputs that an agent is shown. Default: those of
   * all its dependencies.
   */
  | { readonly kind: 'run'; readonly input: JsonObject | null }
  /** The output of a code node, and the growth of the graph that follows from it. */
  | {
      readonly kind: 'output'
      readonly output: string
      readonly growth?: Growth
      readonly diagnostics?: readonly Diagnostic[]
    }
  | { readonly kind: 'skip'; readonly reason: string }
  | { readonly kind: 'fail'; readonly failure: Failure }

/** The nodes and edges that a graph gains. */
export interface Growth {
  readonly nodes: readonly ExecutionNode[]
  /** Edges to nodes that have not started. Such a node also waits for the new dependency. */
  readonly edges?: readonly Edge[]
  /** If they are absent, the outputs do not change. */
  readonly outputs?: readonly string[]
  readonly output?: string | null
}

/** What follows from a node whose run completed. */
export type NodeSequel =
  | {
      readonly kind: 'go_on'
      readonly growth?: Growth
      readonly diagnostics?: readonly Diagnostic[]
      /** Changes of the shared state. A change that does not fit is left out and recorded as a diagnostic. */
      readonly stateChanges?: readonly SharedStateChange[]
      /**
       * Nodes whose results are not needed any more, and why. They are skipped: one that waits never starts,
       * and the run of one that runs is cancelled. A node that has ended stays as it is.
       */
      readonly dismiss?: { readonly nodes: readonly string[]; readonly reason: string }
    }
  /** The answer cannot be used, so the node fails although its run completed. */
  | { readonly kind: 'fail'; readonly failure: Failure; readonly diagnostics?: readonly Diagnostic[] }

/** A remark for the record. It fails nothing. */
export interface Diagnostic {
  readonly code: string
  readonly message: string
}

/**
 * The decisions of a workflow. If a function throws, the node fails; if `result` throws, the team is
 * incomplete.
 */
export interface TeamProgram {
  /** Is called for every node that may start. Default: agents and tools run as the graph defines them. */
  readonly enter?: (team: TeamView, node: ExecutionNode) => NodeEntry
  /**
   * Is called when a node's run has completed and passed the gate, before that is recorded. `output` is its
   * text.
   */
  readonly after?: (team: TeamView, node: ExecutionNode, output: string) => NodeSequel
  /** The final output of a complete team. Default: the rules of D-31. */
  readonly result?: (team: TeamView) => { readonly final_output: string }
}

/** The graph after its growth. */
export function grow(graph: ExecutionGraph, growth: Growth): ExecutionGraph {
  const more = new Map<string, string[]>()
  for (const [from, to] of growth.edges ?? []) {
    const known = more.get(to)
    if (known === undefined) more.set(to, [from])
    else known.push(from)
  }
  const joined = (node: ExecutionNode): ExecutionNode => {
    const added = more.get(node.node_id)
    return added === undefined ? node : { ...node, depends_on: [...new Set([...node.depends_on, ...added])] }
  }
  return {
    ...graph,
    nodes: [...graph.nodes, ...growth.nodes].map(joined),
    outputs: [...(growth.outputs ?? graph.outputs)],
    output: growth.output === undefined ? graph.output : growth.output,
  }
}
