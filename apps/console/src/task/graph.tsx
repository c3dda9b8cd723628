// The graph of one team, drawn as SVG. React draws the nodes once; moving and zooming change one attribute.
// The arrow keys go along the edges to neighbours in other layers, and to the nodes beside one in its layer.
import {
  type KeyboardEvent,
  memo,
  type PointerEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { lookOf } from '../parts/status.tsx'
import { durationText } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import type { GraphItem } from './groups.ts'
import { broughtIn, fitted, layered, nodeSize, type Placed, type Size, type View, zoomed } from './layout.ts'

export type { GraphItem } from './groups.ts'

export interface GraphProps {
  /** The nodes, in declared order. */
  readonly nodes: readonly GraphItem[]
  readonly selected: string | null
  readonly select: (key: string) => void
  /** Opens a group. Default: there are no groups. */
  readonly open?: (key: string) => void
}

/** A narrower window shows the layers from the top down, in pixels. */
const narrowMax = 520
/** Below this scale the texts are smaller than anybody can read. */
const farScale = 0.42

export function Graph({ nodes, selected, select, open }: GraphProps): ReactNode {
  const frame = useRef<SVGSVGElement>(null)
  // The places depend on the shape alone, so a node that ends does not move.
  const lines = JSON.stringify(nodes.map(({ id, dependsOn }) => [id, dependsOn]))
  const size = useSize(frame)
  const isVertical = size !== null && size.width < narrowMax
  const shape = useMemo(() => shapeOf(JSON.parse(lines) as Lines, isVertical), [lines, isVertical])
  const { places } = shape
  const [view, setView] = useState<View | null>(null)
  const isMeasured = size !== null
  // What gets the focus when the nodes of a group are there.
  const wanted = useRef<string | null>(null)
  const at = nodes.findIndex(({ key }) => key === selected)
  const latest = useRef({ nodes, size, at })
  useEffect(() => {
    latest.current = { nodes, size, at }
  })
  // A new drawing is shown from its beginning, or where one was.
  useEffect(() => {
    const { nodes: drawn, size: room, at: chosen } = latest.current
    if (!isMeasured || room === null) return
    const opened = drawn.findIndex(({ key }) => key === wanted.current)
    const shown = places[opened === -1 ? chosen : opened]
    setView((before) => {
      const whole = opened === -1 || before === null ? fitted(places, room, isVertical) : before
      return shown === undefined ? whole : broughtIn(whole, shown, room)
    })
    if (opened !== -1) frame.current?.querySelector<SVGGElement>(`[data-at="${opened}"]`)?.focus()
    wanted.current = null
  }, [places, isVertical, isMeasured])
  useWheel(frame, (factor, at) => setView((now) => (now === null ? now : zoomed(now, factor, at))))
  const drag = useDrag(view, setView)
  const zoom = (factor: number): void => {
    if (view !== null && size !== null)
      setView(zoomed(view, factor, { x: size.width / 2, y: size.height / 2 }))
  }
  const fit = (): void => {
    if (size !== null) setView(fitted(places, size, isVertical))
  }
  const enter = useCallback(
    (node: GraphItem): void => {
      if (node.group === undefined) return select(node.key)
      wanted.current = node.group.first
      open?.(node.key)
    },
    [select, open],
  )
  const move = (event: KeyboardEvent): void => {
    const from = (event.target as Element).closest<SVGGElement>('[data-at]')?.dataset['at']
    const to = neighbour(event.key, Number(from ?? at), shape)
    const [node, place] = to === null ? [] : [nodes[to], places[to]]
    if (node === undefined || place === undefined) return
    event.preventDefault()
    // The arrow keys pass a group; Enter opens it.
    if (node.group === undefined) select(node.key)
    if (view !== null && size !== null) setView(broughtIn(view, place, size))
    frame.current?.querySelector<SVGGElement>(`[data-at="${to}"]`)?.focus()
  }
  // Moving and zooming draw nothing again.
  const drawn = useMemo(
    () => (
      <>
        <Edges {...shape} />
        {nodes.map((node, index) => (
          <GraphNode
            key={node.key}
            at={index}
            node={node}
            place={places[index] ?? nowhere}
            isSelected={index === at}
            isFirst={index === Math.max(0, at)}
            enter={enter}
          />
        ))}
      </>
    ),
    [nodes, places, shape, at, enter],
  )
  return (
    <div className="graph">
      <svg
        ref={frame}
        className={view !== null && view.scale < farScale ? 'far' : ''}
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
  readonly isVertical: boolean
}

const nowhere: Placed = { x: 0, y: 0 }

/** For each node its id, and the ids of those that must end before it starts. */
type Lines = readonly (readonly [id: string, dependsOn: readonly string[]])[]

function shapeOf(lines: Lines, isVertical: boolean): Shape {
  const at = new Map(lines.map(([id], index) => [id, index]))
  const dependsOn = lines.map(([, ids]) =>
    ids.flatMap((id) => {
      const index = at.get(id)
      return index === undefined ? [] : [index]
    }),
  )
  return {
    places: layered(dependsOn, { isVertical }),
    edges: dependsOn.flatMap((all, to) => all.map((from) => [from, to] as const)),
    isVertical,
  }
}

const Edges = memo(({ edges, places, isVertical }: Shape): ReactNode => {
  const { width, height } = nodeSize
  return edges.map(([from, to]) => {
    const [a, b] = [places[from], places[to]]
    if (a === undefined || b === undefined) return null
    const [x, y, toX, toY] = isVertical
      ? [a.x + width / 2, a.y + height, b.x + width / 2, b.y]
      : [a.x + width, a.y + height / 2, b.x, b.y + height / 2]
    const [byX, byY] = isVertical ? [0, 24] : [34, 0]
    return (
      <path
        key={`${from} ${to}`}
        className="edge"
        d={`M${x} ${y}C${x + byX} ${y + byY} ${toX - byX} ${toY - byY} ${toX} ${toY}`}
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
  readonly enter: (node: GraphItem) => void
}

/** A node that looks the same is not drawn again, of thousands of which one changed. */
const looksTheSame = (a: GraphNodeProps, b: GraphNodeProps): boolean =>
  a.at === b.at &&
  a.place === b.place &&
  a.isSelected === b.isSelected &&
  a.isFirst === b.isFirst &&
  a.enter === b.enter &&
  a.node.key === b.node.key &&
  a.node.name === b.node.name &&
  a.node.status === b.node.status &&
  a.node.durationMs === b.node.durationMs &&
  a.node.group?.text === b.node.group?.text

const GraphNode = memo(({ at, node, place, isSelected, isFirst, enter }: GraphNodeProps): ReactNode => {
  const [word, look] = lookOf(node.status)
  const name = visible(node.name)
  const shortName = name.length > 22 ? `${name.slice(0, 21)}…` : name
  const second =
    node.group !== undefined
      ? node.group.text
      : node.durationMs === null
        ? word
        : `${word} · ${durationText(node.durationMs)}`
  return (
    <g
      data-at={at}
      className={`node ${look}${node.group === undefined ? '' : ' group'}`}
      transform={`translate(${place.x} ${place.y})`}
      role="button"
      {...(node.group === undefined ? { 'aria-pressed': isSelected } : { 'aria-expanded': false })}
      tabIndex={isFirst ? 0 : -1}
      onClick={() => enter(node)}
      onKeyDown={({ key }) => {
        if (key === 'Enter' || key === ' ') enter(node)
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
}, looksTheSame)

/** The node to which an arrow key leads. `null`: none. */
function neighbour(key: string, at: number, { places, edges, isVertical }: Shape): number | null {
  const here = places[at]
  if (here === undefined) return null
  // Along the layers, and across them.
  const along = ({ x, y }: Placed): number => (isVertical ? y : x)
  const across = ({ x, y }: Placed): number => (isVertical ? x : y)
  const distance = (each: Placed | undefined): number =>
    each === undefined
      ? Infinity
      : Math.abs(across(each) - across(here)) + Math.abs(along(each) - along(here)) / 1_000
  const nearest = (found: readonly number[]): number | null =>
    found.toSorted((a, b) => distance(places[a]) - distance(places[b]))[0] ?? null
  const beside = (isMeant: (by: number) => boolean): number | null =>
    nearest(
      places.flatMap((each, index) =>
        along(each) === along(here) && isMeant(across(each) - across(here)) ? [index] : [],
      ),
    )
  switch (isVertical ? turned[key] : key) {
    case 'ArrowRight':
      return nearest(edges.flatMap(([from, to]) => (from === at ? [to] : [])))
    case 'ArrowLeft':
      return nearest(edges.flatMap(([from, to]) => (to === at ? [from] : [])))
    case 'ArrowDown':
      return beside((by) => by > 0)
    case 'ArrowUp':
      return beside((by) => by < 0)
    default:
      return null
  }
}

/** What an arrow key does in a drawing from the top down. */
const turned: Readonly<Record<string, string>> = {
  ArrowDown: 'ArrowRight',
  ArrowUp: 'ArrowLeft',
  ArrowRight: 'ArrowDown',
  ArrowLeft: 'ArrowUp',
}

/** The size of the window. `null`: it is not measured yet. */
function useSize(frame: { readonly current: SVGSVGElement | null }): Size | null {
  const [size, setSize] = useState<Size | null>(null)
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setSize({ width: entry.contentRect.width, height: entry.contentRect.height })
    })
    if (frame.current !== null) watcher.observe(frame.current)
    return () => watcher.disconnect()
  }, [frame])
  return size
}

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
