// The graph of one team, drawn as SVG. React draws the nodes once; moving and zooming change one attribute.
// The arrow keys go along the edges: left and right to neighbours in other layers, up and down inside a layer.
import {
  type KeyboardEvent,
  memo,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { lookOf } from '../parts/status.tsx'
import { durationText } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import { fitted, layered, nodeSize, type Placed, type View, zoomed } from './layout.ts'

/** A node as it is drawn. */
export interface GraphItem {
  readonly key: string
  readonly id: string
  readonly name: string
  readonly status: string
  readonly durationMs: number | null
  /** The ids of the nodes that must end before it starts. */
  readonly dependsOn: readonly string[]
}

export interface GraphProps {
  /** The nodes, in declared order. */
  readonly nodes: readonly GraphItem[]
  readonly selected: string | null
  readonly select: (key: string) => void
}

/** Below this scale the texts are smaller than anybody can read. */
const readableScale = 0.42

export function Graph({ nodes, selected, select }: GraphProps): ReactNode {
  const frame = useRef<SVGSVGElement>(null)
  // The places depend on the shape alone, so a node that ends does not move.
  const lines = JSON.stringify(nodes.map(({ id, dependsOn }) => [id, dependsOn]))
  const { places, edges } = useMemo(() => shapeOf(JSON.parse(lines) as Lines), [lines])
  const [view, setView] = useState<View | null>(null)
  useEffect(() => {
    const box = frame.current?.getBoundingClientRect()
    if (box !== undefined) setView(fitted(places, box))
  }, [places])
  useWheel(frame, (factor, at) => setView((now) => (now === null ? now : zoomed(now, factor, at))))
  const drag = useDrag(view, setView)
  const zoom = (factor: number): void => {
    const box = frame.current?.getBoundingClientRect()
    if (view !== null && box !== undefined)
      setView(zoomed(view, factor, { x: box.width / 2, y: box.height / 2 }))
  }
  const fit = (): void => {
    const box = frame.current?.getBoundingClientRect()
    if (box !== undefined) setView(fitted(places, box))
  }
  const move = (event: KeyboardEvent): void => {
    const to = neighbour(
      event.key,
      nodes.findIndex(({ key }) => key === selected),
      { places, edges },
    )
    const key = to === null ? undefined : nodes[to]?.key
    if (key === undefined) return
    event.preventDefault()
    select(key)
    frame.current?.querySelector<SVGGElement>(`[data-at="${to}"]`)?.focus()
  }
  // Moving and zooming draw nothing again.
  const drawn = useMemo(
    () => (
      <>
        <Edges edges={edges} places={places} />
        {nodes.map((node, at) => (
          <GraphNode
            key={node.key}
            at={at}
            node={node}
            place={places[at] ?? { x: 0, y: 0 }}
            isSelected={node.key === selected}
            isFirst={selected === null ? at === 0 : node.key === selected}
            select={select}
          />
        ))}
      </>
    ),
    [nodes, places, edges, selected, select],
  )
  return (
    <div className="graph">
      <svg
        ref={frame}
        className={view !== null && view.scale < readableScale ? 'far' : ''}
        role="group"
        aria-label={`Graph of ${nodes.length} nodes`}
        onKeyDown={move}
        {...drag}
      >
        <g transform={view === null ? '' : `translate(${view.x} ${view.y}) scale(${view.scale})`}>{drawn}</g>
      </svg>
      <div className="zoom">
        <button type="button" aria-label="Larger" onClick={() => zoom(1.3)}>
          +
        </button>
        <button type="button" aria-label="Smaller" onClick={() => zoom(1 / 1.3)}>
          −
        </button>
        <button type="button" onClick={fit}>
          Fit
        </button>
      </div>
    </div>
  )
}

interface Shape {
  readonly places: readonly Placed[]
  /** Pairs of places in the list: from, to. */
  readonly edges: readonly (readonly [number, number])[]
}

/** For each node its id, and the ids of those that must end before it starts. */
type Lines = readonly (readonly [id: string, dependsOn: readonly string[]])[]

function shapeOf(lines: Lines): Shape {
  const at = new Map(lines.map(([id], index) => [id, index]))
  const dependsOn = lines.map(([, ids]) =>
    ids.flatMap((id) => {
      const index = at.get(id)
      return index === undefined ? [] : [index]
    }),
  )
  return {
    places: layered(dependsOn),
    edges: dependsOn.flatMap((all, to) => all.map((from) => [from, to] as const)),
  }
}

const Edges = memo(({ edges, places }: Shape): ReactNode => {
  const { width, height } = nodeSize
  return edges.map(([from, to]) => {
    const [a, b] = [places[from], places[to]]
    if (a === undefined || b === undefined) return null
    const [x, y, toY] = [a.x + width, a.y + height / 2, b.y + height / 2]
    return (
      <path
        key={`${from} ${to}`}
        className="edge"
        d={`M${x} ${y}C${x + 34} ${y} ${b.x - 34} ${toY} ${b.x} ${toY}`}
      />
    )
  })
})

interface GraphNodeProps {
  readonly at: number
  readonly node: GraphItem
  readonly place: Placed
  readonly isSelected: boolean
  /** Whether the key Tab reaches it. */
  readonly isFirst: boolean
  readonly select: (key: string) => void
}

const GraphNode = memo(({ at, node, place, isSelected, isFirst, select }: GraphNodeProps): ReactNode => {
  const [word, look] = lookOf(node.status)
  const name = visible(node.name)
  const shortName = name.length > 22 ? `${name.slice(0, 21)}…` : name
  const second = node.durationMs === null ? word : `${word} · ${durationText(node.durationMs)}`
  return (
    <g
      data-at={at}
      className={`node ${look}`}
      transform={`translate(${place.x} ${place.y})`}
      role="button"
      aria-pressed={isSelected}
      tabIndex={isFirst ? 0 : -1}
      onClick={() => select(node.key)}
      onKeyDown={({ key }) => {
        if (key === 'Enter' || key === ' ') select(node.key)
      }}
    >
      <title>{`${name} ${second}`}</title>
      <rect width={nodeSize.width} height={nodeSize.height} rx="7" />
      <rect className="mark" width="5" height={nodeSize.height} rx="2.5" />
      <text x="14" y="18" className="name">
        {shortName}
      </text>
      <text x="14" y="33" className="state">
        {second}
      </text>
    </g>
  )
})

/** The node to which an arrow key leads. `null`: none. */
function neighbour(key: string, at: number, { places, edges }: Shape): number | null {
  const here = places[at]
  if (here === undefined) return null
  const nearest = (found: readonly number[]): number | null =>
    found.toSorted((a, b) => distance(places[a], here) - distance(places[b], here))[0] ?? null
  switch (key) {
    case 'ArrowRight':
      return nearest(edges.flatMap(([from, to]) => (from === at ? [to] : [])))
    case 'ArrowLeft':
      return nearest(edges.flatMap(([from, to]) => (to === at ? [from] : [])))
    case 'ArrowDown':
      return nearest(places.flatMap(({ x, y }, each) => (x === here.x && y > here.y ? [each] : [])))
    case 'ArrowUp':
      return nearest(places.flatMap(({ x, y }, each) => (x === here.x && y < here.y ? [each] : [])))
    default:
      return null
  }
}

const distance = (a: Placed | undefined, b: Placed): number =>
  a === undefined ? Infinity : Math.abs(a.y - b.y) + Math.abs(a.x - b.x) / 1_000

/** Zooms with the wheel. React's own listener cannot keep the page from scrolling. */
function useWheel(
  frame: { readonly current: SVGSVGElement | null },
  zoom: (factor: number, at: { readonly x: number; readonly y: number }) => void,
): void {
  const latest = useRef(zoom)
  useEffect(() => {
    latest.current = zoom
  })
  useEffect(() => {
    const element = frame.current
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault()
      const box = element?.getBoundingClientRect()
      const at = { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) }
      latest.current(Math.exp(-event.deltaY / 400), at)
    }
    element?.addEventListener('wheel', onWheel, { passive: false })
    return () => element?.removeEventListener('wheel', onWheel)
  }, [frame])
}

/** Moves the drawing while a pointer is down. */
function useDrag(view: View | null, setView: (view: View) => void) {
  const from = useRef<{ x: number; y: number; view: View } | null>(null)
  return {
    onPointerDown(event: PointerEvent<SVGSVGElement>) {
      if (view !== null && event.button === 0) from.current = { x: event.clientX, y: event.clientY, view }
    },
    onPointerMove(event: PointerEvent<SVGSVGElement>) {
      const began = from.current
      if (began === null) return
      const [dx, dy] = [event.clientX - began.x, event.clientY - began.y]
      if (Math.abs(dx) + Math.abs(dy) < 4) return
      // Only a real move takes the pointer: otherwise a click on a node would not reach it.
      event.currentTarget.setPointerCapture(event.pointerId)
      setView({ ...began.view, x: began.view.x + dx, y: began.view.y + dy })
    },
    onPointerUp: () => void (from.current = null),
    onPointerCancel: () => void (from.current = null),
  }
}
