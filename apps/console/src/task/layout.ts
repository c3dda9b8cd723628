// Where the nodes of a team are drawn: in layers, from left to right, or from the top down where there is little
// room. The layer of a node is its longest way from a node without predecessors; the order inside of a layer
// follows the mean place of the neighbours, so that few lines cross. 2,000 nodes take some 10 ms. Pure.

export interface Placed {
  readonly x: number
  readonly y: number
}

/** The size of a node. */
export const nodeSize = { width: 170, height: 42 } as const

/** The distances of layers and of nodes in a layer, in units of the drawing. */
const across = { layer: 230, node: 58 } as const
const down = { layer: 84, node: 186 } as const

/** For each node the places (in this list) of those that must end before it starts. */
export type DependsOn = readonly (readonly number[])[]

/** @returns the place of each node. Nodes in a circle, which no graph of Beaver has, are in the first layer */
export function layered(
  dependsOn: DependsOn,
  { sweeps = 6, isVertical = false }: { readonly sweeps?: number; readonly isVertical?: boolean } = {},
): readonly Placed[] {
  const rank = ranksOf(dependsOn)
  const from = followersOf(dependsOn)
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
  return dependsOn.map((_, node) => {
    const [layer, at] = [rank[node] ?? 0, place[node] ?? 0]
    return isVertical
      ? { x: at * down.node, y: layer * down.layer }
      : { x: layer * across.layer, y: at * across.node }
  })
}

function followersOf(dependsOn: DependsOn): readonly (readonly number[])[] {
  const from: number[][] = dependsOn.map(() => [])
  dependsOn.forEach((all, node) => {
    for (const each of all) from[each]?.push(node)
  })
  return from
}

/** The layer of each node. */
export function ranksOf(dependsOn: DependsOn): Int32Array {
  const rank = new Int32Array(dependsOn.length)
  const left = dependsOn.map((all) => all.length)
  const from = followersOf(dependsOn)
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

export interface Size {
  readonly width: number
  readonly height: number
}

/** A smaller drawing has texts that nobody can read. */
const readableScale = 0.8
const margin = 20

/**
 * The view that shows all of the drawing in a window of this size. If it were too small to read, the view shows
 * the beginning of the drawing: the first layer, and of each layer the middle.
 */
export function fitted(places: readonly Placed[], size: Size, isVertical = false): View {
  const box = boxOf(places)
  const whole = Math.min((size.width - 2 * margin) / box.width, (size.height - 2 * margin) / box.height)
  const scale = Math.min(1.1, Math.max(readableScale, whole))
  const middle = {
    x: (size.width - box.width * scale) / 2 - box.left * scale,
    y: (size.height - box.height * scale) / 2 - box.top * scale,
  }
  const isWider = box.width * scale > size.width - margin
  const isHigher = box.height * scale > size.height - margin
  return {
    scale,
    x: isWider && !isVertical ? margin - box.left * scale : middle.x,
    y: isHigher && isVertical ? margin - box.top * scale : middle.y,
  }
}

/** The view, moved as little as it takes to show a node in a window of this size. */
export function broughtIn(view: View, { x, y }: Placed, size: Size): View {
  const move = (from: number, length: number, room: number): number =>
    from < margin ? margin - from : Math.min(0, room - margin - from - length)
  return {
    scale: view.scale,
    x: view.x + move(view.x + x * view.scale, nodeSize.width * view.scale, size.width),
    y: view.y + move(view.y + y * view.scale, nodeSize.height * view.scale, size.height),
  }
}

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
