// What a graph may come to while it runs, for people who look at a plan: how far it may grow, which nodes have
// a condition, and the skills that its agents may need. The number is a bound: a graph never has more agents
// and tools than this.
import { definitionPrefix, type ExecutionGraph, type ExecutionNode } from '@beaver/core/graph'
import { bodySize } from './definitions/compile.ts'
import { mapItemsMax } from './definitions/definition-file.ts'
import { graphSettings, operations } from './definitions/settings.ts'
import { isRecord } from './arguments/json-text.ts'
import { findTaskWorkflow } from './registry.ts'

/** A plan, as `beaver plan --json` and the request `plan` show it. */
export interface ShownPlan {
  readonly ok: true
  readonly graph: ExecutionGraph
  /** The most agents and tools that the graph may have. `null`: it does not grow. */
  readonly grows_to_max: number | null
  /** The nodes that run only under a condition. */
  readonly conditions: { readonly node_id: string; readonly when: string }[]
}

/**
 * What people look at before a graph runs.
 *
 * @example
 * shownPlan(graph).grows_to_max // => null
 */
export function shownPlan(graph: ExecutionGraph): ShownPlan {
  const conditions = graph.nodes.flatMap((node) => {
    const when = conditionOf(node)
    return when === null ? [] : [{ node_id: node.node_id, when }]
  })
  return { ok: true, graph, grows_to_max: growthOf(graph), conditions }
}

/**
 * The condition of a node of a definition file. `null`: the node always runs.
 *
 * @example
 * graph.nodes.map(conditionOf) // => [null, null]
 */
export function conditionOf({ settings }: ExecutionNode): string | null {
  const when = settings?.['when']
  return typeof when === 'string' ? when : null
}

/**
 * The most agents and tools that the graph may have when it ends. `null`: it has all of them from the start.
 *
 * @example
 * growthOf(graph) // => null
 */
export function growthOf(graph: ExecutionGraph): number | null {
  const now = graph.nodes.filter(({ kind }) => kind !== 'code').length
  const most = graph.workflow.startsWith(definitionPrefix)
    ? mapsMost(graph, now)
    : (findTaskWorkflow(graph.workflow)?.growthOf?.(graph) ?? null)
  return most === null || most <= now ? null : most
}

/** A map runs its body for each item. Maps within a body are bounded by the limit of the graph alone. */
function mapsMost(graph: ExecutionGraph, now: number): number | null {
  const settings = graphSettings.safeParse(graph.settings)
  if (!settings.success) return null
  const { definitions, limits } = settings.data
  const library = new Map(Object.entries(definitions))
  const nested = Object.values(definitions).some(({ nodes }) => nodes.some(({ kind }) => kind === 'map'))
  let most = now
  for (const node of graph.nodes) {
    if (node.kind !== 'code' || node.operation !== 'spread') continue
    const spread = operations.spread.safeParse(node.settings)
    if (!spread.success) continue
    const { body, max_items = mapItemsMax } = spread.data
    most += nested && body.kind === 'workflow' ? limits.agents_max : max_items * bodySize(body, library).runs
  }
  return Math.min(most, limits.agents_max)
}

/**
 * The skills that agents of a graph name: those of its nodes, and of nodes that it may gain.
 *
 * @example
 * skillsOf(graph) // => []
 */
export function skillsOf(
  graph: ExecutionGraph,
): readonly { readonly agent: string; readonly skill: string }[] {
  const found = new Map<string, { agent: string; skill: string }>()
  const note = (agent: unknown, skill: unknown): void => {
    if (typeof agent === 'string' && typeof skill === 'string')
      found.set(JSON.stringify([agent, skill]), { agent, skill })
  }
  for (const node of graph.nodes) if (node.kind === 'agent') note(node.agent.name, node.use_skill)
  for (const value of Object.values(graph.settings ?? {})) {
    for (const spec of Array.isArray(value) ? value : [value])
      if (isRecord(spec)) note(spec['name'], spec['use_skill'])
  }
  return [...found.values()]
}
