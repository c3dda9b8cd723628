// TeamProgram: what a workflow decides while its graph runs: what a node is given, what code nodes compute, how the graph grows.
// The five workflow tools need none. Which program a graph has follows from `graph.workflow`.
// P1. Pure: the same team gives the same decision, whoever asks and however often. P2. A program never sees an effect;
//     what it decides is journaled before it takes one.
import type { Failure } from '../failure/failure-class.ts'
import type { JsonObject } from '../json.ts'
import type { SharedStateChange } from '../team/shared-state.ts'
import type { Edge } from './topology.ts'
import type { ExecutionGraph, ExecutionNode } from './execution-graph.ts'
import type { NodeStatus } from './schedule.ts'

/** A team as a program sees it. */
export interface TeamView {
  readonly graph: ExecutionGraph
  statusOf(nodeId: string): NodeStatus
  /** The text of a completed node; `null` for any other. */
  outputOf(nodeId: string): string | null
  failureOf(nodeId: string): Failure | null
  readonly sharedState: JsonObject
}

/** How a node begins whose dependencies have ended. */
export type NodeEntry =
  /**
   * It runs. `input` replaces fields of the same name in the node: `instruction` of an agent, `arguments` of a tool.
   * `dependency_outputs`, a list of node ids, says whose outputs an agent is shown; absent: of all it depends on.
   */
  | { readonly kind: 'run'; readonly input: JsonObject | null }
  /** A code node's output, and what the graph grows by. */
  | { readonly kind: 'output'; readonly output: string; readonly growth?: Growth; readonly diagnostics?: readonly Diagnostic[] }
  | { readonly kind: 'skip'; readonly reason: string }
  | { readonly kind: 'fail'; readonly failure: Failure }

/** What a graph grows by. */
export interface Growth {
  readonly nodes: readonly ExecutionNode[]
  /** From a node to one that has not started: it waits for that one too. */
  readonly edges?: readonly Edge[]
  /** Absent: as before. */
  readonly outputs?: readonly string[]
  readonly output?: string | null
}

/** What follows from a node whose run completed. */
export type NodeSequel =
  | {
      readonly kind: 'go_on'
      readonly growth?: Growth
      readonly diagnostics?: readonly Diagnostic[]
      /** Of the shared state; one that does not fit is left out, with a diagnostic. */
      readonly stateChanges?: readonly SharedStateChange[]
    }
  /** Its answer cannot be used: the node failed after all. */
  | { readonly kind: 'fail'; readonly failure: Failure; readonly diagnostics?: readonly Diagnostic[] }

export interface Diagnostic {
  readonly code: string
  readonly message: string
}

export interface TeamProgram {
  /** Asked for every node that may start. Default: agents and tools run as they stand in the graph. */
  readonly enter?: (team: TeamView, node: ExecutionNode) => NodeEntry
  /** Asked when a node's run has completed and passed its evidence, before that is recorded. `output` is its text. */
  readonly after?: (team: TeamView, node: ExecutionNode, output: string) => NodeSequel
  /** What the ended team hands back; absent: D-31. */
  readonly result?: (team: TeamView) => { readonly final_output: string }
}

/** The graph after it grew. */
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
