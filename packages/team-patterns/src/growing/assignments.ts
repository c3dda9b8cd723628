// Reads work that a model assigns: a list of items, each for an agent, each with references to others. The
// caller gives the list its meaning. A reference is the id of an item, otherwise the agent of one item,
// otherwise a node that the caller knows. Pure.
import { type Edge, findCycle, topologyOf } from '@beaver/core/graph'
import { quote, quoteAll } from '@beaver/workflows'

export interface Assigned {
  readonly id?: string | undefined
  readonly agent: string
  readonly depends_on?: readonly string[] | undefined
}

export type Reference =
  | { readonly kind: 'item'; readonly index: number }
  | { readonly kind: 'known'; readonly nodeId: string }
  | { readonly kind: 'fault'; readonly fault: string }

/** What a reference in an item of the list means. `known`: nodes that exist already. */
export function referenceOf(
  items: readonly Assigned[],
  ref: string,
  known: readonly string[] = [],
): Reference {
  const byId = items.findIndex((item) => item.id === ref)
  if (byId !== -1) return { kind: 'item', index: byId }
  const byAgent = items.flatMap((item, index) => (item.agent === ref ? [index] : []))
  const [only, ...others] = byAgent
  if (only !== undefined && others.length === 0) return { kind: 'item', index: only }
  if (only !== undefined)
    return {
      kind: 'fault',
      fault: `depends_on names ${quote(ref)}, who has ${byAgent.length} of the tasks: give each an "id" and name that`,
    }
  if (known.includes(ref)) return { kind: 'known', nodeId: ref }
  const there = [...items.map((item) => item.id ?? item.agent), ...known]
  return {
    kind: 'fault',
    fault: `depends_on names ${quote(ref)}, which is none of the tasks (${quoteAll([...new Set(there)])})`,
  }
}

/** The items of a cycle, by their indexes. `null` if there is none. */
export function cycleOf(dependencies: readonly (readonly number[])[]): readonly number[] | null {
  const edges = dependencies.flatMap((of, index) => of.map((from): Edge => [String(from), String(index)]))
  return (
    findCycle(
      topologyOf(
        dependencies.map((_, index) => String(index)),
        edges,
      ),
    )?.map(Number) ?? null
  )
}

/**
 * The indexes in an order in which each comes after those that it depends on, otherwise in list order. The
 * list has no cycles.
 */
export function inOrderOfNeed(dependencies: readonly (readonly number[])[]): readonly number[] {
  const order = new Set<number>()
  for (let before = -1; before < order.size;) {
    before = order.size
    for (const [index, of] of dependencies.entries())
      if (!order.has(index) && of.every((from) => order.has(from))) order.add(index)
  }
  return [...order]
}
