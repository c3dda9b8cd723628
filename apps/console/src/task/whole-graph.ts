// All nodes of a task in few words each, for a task of which one answer does not have every node in full. It is
// read once, and then only what changed of it. Pure but for the reading itself, which is given.
import type { QueryInput, QueryOutput } from '@beaver/contracts'

type Answer = QueryOutput<'graph'>
export type CompactNode = Answer['nodes'][number]

export interface WholeGraph {
  /** The place of the last event that it knows. */
  readonly last: number
  readonly teams: Answer['teams']
  /** The nodes, in the order of their teams and in declared order. */
  readonly nodes: readonly CompactNode[]
}

const nodesOfPage = 5_000

/**
 * Reads what is new since `known`.
 *
 * @param read asks for one page
 * @param known what was read before. `null`: nothing
 */
export async function readGraph(
  read: (input: Omit<QueryInput<'graph'>, 'task_id'>) => Promise<Answer>,
  known: WholeGraph | null,
): Promise<WholeGraph> {
  const pages: Answer[] = []
  let after: number | null = 0
  while (after !== null) {
    const page: Answer = await read({ changed_after: known?.last ?? 0, after, limit: nodesOfPage })
    // The journal has fewer events than before: it is another one.
    if (known !== null && page.last_taskseq < known.last) return readGraph(read, null)
    pages.push(page)
    after = page.more ? page.next : null
  }
  return withPages(known, pages)
}

function withPages(known: WholeGraph | null, pages: readonly Answer[]): WholeGraph {
  const [first] = pages
  if (first === undefined) return known ?? { last: 0, teams: [], nodes: [] }
  const nodes = new Map((known?.nodes ?? []).map((node) => [placeOf(node), node]))
  const before = nodes.size
  for (const page of pages) for (const node of page.nodes) nodes.set(placeOf(node), node)
  const all = [...nodes.values()]
  return {
    // What changes while the pages are read is read again.
    last: first.last_taskseq,
    teams: pages.at(-1)?.teams ?? [],
    nodes:
      nodes.size === before
        ? all
        : all.toSorted((a, b) => a.team - b.team || a.declared_index - b.declared_index),
  }
}

const placeOf = ({ team, declared_index: at }: CompactNode): string => `${team}/${at}`
