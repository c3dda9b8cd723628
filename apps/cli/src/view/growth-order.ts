// Orders the nodes of a team for people: in declared order, but a node that the graph gained later comes
// after the node that it was added after. Every node appears once, whatever node it names.

export function growthOrder<Node>(
  nodes: readonly Node[],
  of: { id: (node: Node) => string; addedAfter: (node: Node) => string | null },
): Node[] {
  const known = new Set(nodes.map(of.id))
  const after = new Map<string | null, Node[]>()
  for (const node of nodes) {
    const named = of.addedAfter(node)
    const key = named !== null && known.has(named) && named !== of.id(node) ? named : null
    const group = after.get(key)
    if (group === undefined) after.set(key, [node])
    else group.push(node)
  }
  const ordered: Node[] = []
  const placed = new Set<Node>()
  const open = (after.get(null) ?? []).toReversed()
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (placed.has(node)) continue
    placed.add(node)
    ordered.push(node)
    open.push(...(after.get(of.id(node)) ?? []).toReversed())
  }
  // A circle, which only a forged journal can contain.
  return ordered.length === nodes.length
    ? ordered
    : [...ordered, ...nodes.filter((node) => !placed.has(node))]
}
