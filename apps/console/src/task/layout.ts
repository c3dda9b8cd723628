// Where the nodes of a team are drawn: in layers from left to right. The layer of a node is its longest way
// from a node without predecessors; the order inside of a layer follows the mean place of the neighbours, so
// that few lines cross. 2,000 nodes take some 10 ms. Pure.

export interface Placed {
  readonly x: number
  readonly y: number
}

/** The distance of layers and of nodes in a layer, in units of the drawing. */
const step = { x: 230, y: 58 } as const

/**
 * @param dependsOn for each node the places (in this list) of those that must end before it starts
 * @returns the place of each node. Nodes in a circle, which no graph of Beaver has, are at the left
 */
export function layered(dependsOn: readonly (readonly number[])[], sweeps = 6): readonly Placed[] {
  const rank = ranksOf(dependsOn)
  const from: number[][] = dependsOn.map(() => [])
  dependsOn.forEach((all, node) => {
    for (const each of all) from[each]?.push(node)
  })
  const layers: number[][] = []
  rank.forEach((layer, node) => (layers[layer] ??= []).push(node))
  const place = new Float64Array(dependsOn.length)
  const put = (layer: readonly number[]): void =>
    layer.forEach((node, at) => (place[node] = at - (layer.length - 1) / 2))
  for (const layer of layers) put(layer)
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    const isForward = sweep % 2 === 0
    const near = isForward ? dependsOn : from
    for (const layer of isForward ? layers : layers.toReversed()) {
      const wanted = new Map(layer.map((node) => [node, meanOf(near[node] ?? [], place) ?? place[node] ?? 0]))
      layer.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0) || a - b)
      put(layer)
    }
  }
  return dependsOn.map((_, node) => ({ x: (rank[node] ?? 0) * step.x, y: (place[node] ?? 0) * step.y }))
}

function ranksOf(dependsOn: readonly (readonly number[])[]): Int32Array {
  const rank = new Int32Array(dependsOn.length)
  const left = dependsOn.map((all) => all.length)
  const from: number[][] = dependsOn.map(() => [])
  dependsOn.forEach((all, node) => {
    for (const each of all) from[each]?.push(node)
  })
  const queue = left.flatMap((open, node) => (open === 0 ? [node] : []))
  for (let at = 0; at < queue.length; at += 1) {
    const node = queue[at] ?? 0
    for (const next of from[node] ?? []) {
      rank[next] = Math.max(rank[next] ?? 0, (rank[node] ?? 0) + 1)
      left[next] = (left[next] ?? 0) - 1
      if (left[next] === 0) queue.push(next)
    }
  }
  return rank
}

const meanOf = (nodes: readonly number[], place: Float64Array): number | null =>
  nodes.length === 0 ? null : nodes.reduce((sum, each) => sum + (place[each] ?? 0), 0) / nodes.length

/** What the view shows of the drawing: a factor, and where the origin is, in pixels. */
export interface View {
  readonly x: number
  readonly y: number
  readonly scale: number
}

/** The view that shows all of the drawing in a window of this size. */
export function fitted(
  places: readonly Placed[],
  size: { readonly width: number; readonly height: number },
): View {
  const box = boxOf(places)
  const scale = Math.min(1.1, (size.width - 40) / box.width, (size.height - 40) / box.height)
  return {
    scale,
    x: (size.width - box.width * scale) / 2 - box.left * scale,
    y: (size.height - box.height * scale) / 2 - box.top * scale,
  }
}

/** The size of a node. */
export const nodeSize = { width: 170, height: 42 } as const

function boxOf(places: readonly Placed[]): { left: number; top: number; width: number; height: number } {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const { x, y } of places) {
    left = Math.min(left, x)
    top = Math.min(top, y)
    right = Math.max(right, x + nodeSize.width)
    bottom = Math.max(bottom, y + nodeSize.height)
  }
  return places.length === 0
    ? { left: 0, top: 0, width: 1, height: 1 }
    : { left, top, width: right - left, height: bottom - top }
}

/** The view after the wheel or a key made it larger or smaller around a point of the window. */
export function zoomed(view: View, factor: number, at: { readonly x: number; readonly y: number }): View {
  const scale = Math.min(2, Math.max(0.01, view.scale * factor))
  const by = scale / view.scale
  return { scale, x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by }
}
