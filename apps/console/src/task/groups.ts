// A graph of thousands of nodes is more than anybody can look at. So the nodes of one layer are drawn as groups,
// and a group opens when somebody wants to see its nodes. Pure.
import { ranksOf } from './layout.ts'

/** A node as it is drawn. */
export interface GraphItem {
  readonly key: string
  readonly id: string
  readonly name: string
  readonly status: string
  readonly durationMs: number | null
  /** The ids of the nodes that must end before it starts. */
  readonly dependsOn: readonly string[]
  /** Present: it is a group of nodes, and opens. */
  readonly group?: {
    /** What is in it, in a few words. */
    readonly text: string
    /** The key of its first node, which gets the focus when it opens. */
    readonly first: string
  }
}

/** A graph with so many nodes is drawn in groups. */
export const groupedFrom = 2_000
/** The most nodes of a group. */
const groupMax = 200

/**
 * The nodes, in groups of at most 200 of one layer.
 *
 * @param isOpen whether somebody opened the group with this key
 * @param selected the key of the node that must be seen; its group is open
 */
export function grouped(
  nodes: readonly GraphItem[],
  isOpen: (key: string) => boolean,
  selected: string | null,
): readonly GraphItem[] {
  const at = new Map(nodes.map(({ id }, index) => [id, index]))
  const ranks = ranksOf(nodes.map(({ dependsOn }) => dependsOn.flatMap((id) => at.get(id) ?? [])))
  /** The id under which a node is drawn: its own, or that of its group. */
  const drawnAs = new Map<string, string>()
  const groups: { readonly key: string; readonly name: string; readonly members: readonly GraphItem[] }[] = []
  const layers = Map.groupBy(nodes.keys(), (index) => ranks[index] ?? 0)
  for (const [rank, indexes] of layers) {
    const layer = indexes.flatMap((index) => nodes[index] ?? [])
    for (let from = 0; from < layer.length; from += groupMax) {
      const members = layer.slice(from, from + groupMax)
      const key = `group:${rank}/${from}`
      const isShown = members.length === 1 || isOpen(key) || members.some((each) => each.key === selected)
      for (const { id } of members) drawnAs.set(id, isShown ? id : key)
      const name = `Step ${rank + 1}, ${from + 1}–${from + members.length}`
      if (isShown) groups.push(...members.map((each) => ({ key: each.key, name, members: [each] })))
      else groups.push({ key, name, members })
    }
  }
  return groups.flatMap(({ key, name, members }): GraphItem[] => {
    const [first] = members
    if (first === undefined) return []
    const dependsOn = [
      ...new Set(members.flatMap((each) => each.dependsOn.flatMap((id) => drawnAs.get(id) ?? []))),
    ]
    if (members.length === 1) return [{ ...first, dependsOn }]
    const status = mostUrgent(members)
    return [
      {
        ...{ key, id: key, name, status, durationMs: null, dependsOn },
        group: { text: countsText(members), first: first.key },
      },
    ]
  })
}

/** What a person wants to know of first. */
const urgency = [
  'failed',
  'waiting_for_approval',
  'waiting_for_budget',
  'running',
  'blocked',
  'cancelled',
  'ready',
  'pending',
  'skipped',
  'completed',
]

function mostUrgent(members: readonly GraphItem[]): string {
  const present = new Set(members.map(({ status }) => status))
  return urgency.find((each) => present.has(each)) ?? members[0]?.status ?? 'pending'
}

function countsText(members: readonly GraphItem[]): string {
  const count = (status: string): number => members.filter((each) => each.status === status).length
  const [failed, completed] = [count('failed'), count('completed')]
  return [
    `${members.length} nodes`,
    failed > 0 ? `${failed} failed` : completed > 0 ? `${completed} completed` : null,
  ]
    .filter((each) => each !== null)
    .join(', ')
}
