// The shape of a graph: cycles, weakly connected components and reachability. @beaver/workflows defines what
// a shape means and how its faults are worded. Results depend on the declared order of the nodes, never on
// the order of the edges. Nothing here recurses, so a chain may have any length.
// @beaver/workflows. Results depend on the declared order of the nodes, never on the order of the edges. A
// repeated edge counts once. Nothing here recurses, so a chain may have any length.
import { invariant } from '../errors.ts'
import type { ExecutionGraph } from './execution-graph.ts'

/** An edge: `to` depends on `from`. */
export type Edge = readonly [from: string, to: string]

/** Both directions of every edge. Each list is in declared order and without repetitions. */
export interface Topology {
  /** All nodes, in declared order. */
  readonly nodes: readonly string[]
  readonly dependenciesOf: ReadonlyMap<string, readonly string[]>
  readonly dependentsOf: ReadonlyMap<string, readonly string[]>
  /** The number of different edges. */
  readonly edgeCount: number
}

/**
 * The topology of nodes and edges.
 *
 * @throws {BeaverError} `internal` if a node is declared twice or an end of an edge is not declared
 * @example
 * const topology = topologyOf(['a', 'b'], [['a', 'b']])
 * topology.dependenciesOf.get('b') // => ['a']
 * topologyOf(['a'], [['a', 'b']]) // throws internal
 */
export function topologyOf(nodes: readonly string[], edges: Iterable<Edge>): Topology {
  const place = new Map(nodes.map((node, index) => [node, index]))
  invariant(place.size === nodes.length, 'A node is declared twice')
  const dependencies = new Map(nodes.map((node) => [node, new Set<string>()]))
  const dependents = new Map(nodes.map((node) => [node, new Set<string>()]))
  let edgeCount = 0
  for (const [from, to] of edges) {
    const [upstream, downstream] = [dependencies.get(to), dependents.get(from)]
    invariant(
      upstream !== undefined && downstream !== undefined,
      `The edge ${from} -> ${to} has an end that is not declared`,
    )
    if (!upstream.has(from)) edgeCount++
    upstream.add(from)
    downstream.add(to)
  }
  const declared = (edges: Map<string, Set<string>>): ReadonlyMap<string, readonly string[]> =>
    new Map(
      [...edges].map(([node, others]) => [
        node,
        [...others].toSorted((a, b) => (place.get(a) ?? 0) - (place.get(b) ?? 0)),
      ]),
    )
  return { nodes, dependenciesOf: declared(dependencies), dependentsOf: declared(dependents), edgeCount }
}

/**
 * The nodes of one cycle: each node depends on the one before it, and the first depends on the last. `null`
 * if there is no cycle.
 *
 * @example
 * findCycle(topologyOf(['a', 'b'], [['a', 'b']])) // => null
 * findCycle(topologyOf(['a', 'b'], [['a', 'b'], ['b', 'a']])) // => ['a', 'b']
 */
export function findCycle(topology: Topology): readonly string[] | null {
  const done = new Set<string>()
  for (const start of topology.nodes) {
    if (done.has(start)) continue
    const path = [start]
    const onPath = new Set(path)
    const next = [0]
    while (path.length > 0) {
      const node = path[path.length - 1] as string
      const index = next[next.length - 1] as number
      const to = topology.dependentsOf.get(node)?.[index]
      if (to === undefined) {
        done.add(node)
        onPath.delete(node)
        path.pop()
        next.pop()
        continue
      }
      next[next.length - 1] = index + 1
      if (onPath.has(to)) return path.slice(path.indexOf(to))
      if (done.has(to)) continue
      path.push(to)
      onPath.add(to)
      next.push(0)
    }
  }
  return null
}

/**
 * The weakly connected components, in the order of their first nodes. The nodes of each component are in
 * declared order.
 *
 * @example
 * weakComponents(topologyOf(['a', 'b', 'c'], [['a', 'c']])) // => [['a', 'c'], ['b']]
 */
export function weakComponents(topology: Topology): readonly (readonly string[])[] {
  const componentOf = new Map<string, number>()
  const components: string[][] = []
  for (const start of topology.nodes) {
    if (!componentOf.has(start)) {
      const component = components.push([]) - 1
      const open = [start]
      componentOf.set(start, component)
      for (let node = open.pop(); node !== undefined; node = open.pop()) {
        for (const near of [
          ...(topology.dependenciesOf.get(node) ?? []),
          ...(topology.dependentsOf.get(node) ?? []),
        ]) {
          if (componentOf.has(near)) continue
          componentOf.set(near, component)
          open.push(near)
        }
      }
    }
    components[componentOf.get(start) as number]?.push(start)
  }
  return components
}

/**
 * The nodes on which `from` depends (`upstream`) or which depend on `from` (`downstream`), directly or not,
 * in declared order. `from` itself is included only if it is in a cycle.
 *
 * @example
 * const topology = topologyOf(['a', 'b', 'c'], [['a', 'b'], ['b', 'c']])
 * reachable(topology, 'c', 'upstream') // => ['a', 'b']
 * reachable(topology, 'b', 'downstream') // => ['c']
 */
export function reachable(
  topology: Topology,
  from: string,
  direction: 'upstream' | 'downstream',
): readonly string[] {
  const step = direction === 'upstream' ? topology.dependenciesOf : topology.dependentsOf
  const reached = new Set<string>()
  const open = [from]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const near of step.get(node) ?? []) {
      if (reached.has(near)) continue
      reached.add(near)
      open.push(near)
    }
  }
  return topology.nodes.filter((node) => reached.has(node))
}

/**
 * The nodes on which no node depends, in declared order.
 *
 * @example
 * sinksOf(topologyOf(['a', 'b', 'c'], [['a', 'b'], ['a', 'c']])) // => ['b', 'c']
 */
export function sinksOf(topology: Topology): readonly string[] {
  return topology.nodes.filter((node) => topology.dependentsOf.get(node)?.length === 0)
}

/**
 * The first broken invariant of execution-graph.ts, in words; `null` if there is none. Each builder of a
 * graph has checks of its own too.
 *
 * @example
 * graphFault(graph) // => null
 * graphFault({ ...graph, output: 'editor' }) === null // => false
 */
export function graphFault(graph: Pick<ExecutionGraph, 'nodes' | 'outputs' | 'output'>): string | null {
  const ids = graph.nodes.map((node) => node.node_id)
  const known = new Set(ids)
  if (known.size < ids.length)
    return `two nodes are called ${ids.find((id, index) => ids.indexOf(id) !== index)}`
  for (const node of graph.nodes) {
    const missing = node.depends_on.find((id) => !known.has(id))
    if (missing !== undefined)
      return `${node.node_id} depends on ${missing}, which is not a node of the graph`
  }
  const output = [...graph.outputs, ...(graph.output === null ? [] : [graph.output])].find(
    (id) => !known.has(id),
  )
  if (output !== undefined) return `the output ${output} is not a node of the graph`
  const cycle = findCycle(
    topologyOf(
      ids,
      graph.nodes.flatMap((node) => node.depends_on.map((id): Edge => [id, node.node_id])),
    ),
  )
  return cycle === null ? null : `${[...cycle, cycle[0]].join(' -> ')} is a cycle`
}
