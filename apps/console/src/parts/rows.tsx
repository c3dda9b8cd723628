// A long list. Only the rows that are in view are in the page, so it is as fast with a million rows as with
// ten. One row has the focus; the arrow keys, j and k move it, Enter opens it.
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { useKeys } from './keys.ts'

export interface RowsProps<Row> {
  /** Names the list for a reader of screens. */
  readonly label: string
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** The cells of a row; each has the role `gridcell`. */
  readonly cells: (row: Row) => ReactNode
  /** The titles of the columns. `number`: what stands below it is a number. */
  readonly columns: readonly (readonly [title: string, kind?: 'number'])[]
  /** The class of each row, which lays out its cells. */
  readonly kind: string
  readonly open: (row: Row) => void
  /** Whether more rows follow, and how to get them. */
  readonly more: boolean
  readonly loadMore: () => void
  /** Whether rows come before the first one. Default: none do. */
  readonly moreBefore?: boolean
  readonly loadBefore?: () => void
  /** The height of a row in pixels. Default: 52. */
  readonly height?: number
  /** Called with the row that gets the focus. */
  readonly onActive?: (row: Row) => void
  /** The key of the row that is shown elsewhere on the page. The list scrolls to it when it changes. */
  readonly selected?: string | null
}

const steps: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
  Home: -Infinity,
  End: Infinity,
}

/** -1: no row has the key. */
const placeOf = <Row,>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  key: string | null | undefined,
): number => (key === null || key === undefined ? -1 : rows.findIndex((row) => keyOf(row) === key))

/** Rows that come before the others do not move what a person reads. */
function useSteady<Row>({
  rows,
  keyOf,
  height,
  scroller,
  grows,
}: Required<Pick<RowsProps<Row>, 'rows' | 'keyOf' | 'height'>> & {
  readonly scroller: RefObject<HTMLDivElement | null>
  /** Whether the list grows at its beginning. */
  readonly grows: boolean
}): void {
  const top = rows[0] === undefined ? null : keyOf(rows[0])
  const before = useRef(top)
  useLayoutEffect(() => {
    const moved = top === before.current ? 0 : placeOf(rows, keyOf, before.current)
    before.current = top
    if (moved > 0 && grows) scroller.current?.scrollBy({ top: moved * height, behavior: 'instant' })
  })
}

export function Rows<Row>(props: RowsProps<Row>): ReactNode {
  const { label, rows, keyOf, cells, columns, kind, open, more, loadMore, height = 52 } = props
  const { onActive, selected, moreBefore = false, loadBefore } = props
  const scroller = useRef<HTMLDivElement>(null)
  // The row with the focus by its key, so that it stays the same row when others come before it.
  const [active, setActive] = useState<string | null>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    getItemKey: (index) => keyOf(rows[index] as Row),
    overscan: 8,
  })
  const items = virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? -1
  useEffect(() => {
    if (more && last >= rows.length - 20) loadMore()
  }, [more, last, rows.length, loadMore])

  const had = useMemo(() => placeOf(rows, keyOf, active), [rows, keyOf, active])
  const chosen = useMemo(() => placeOf(rows, keyOf, selected), [rows, keyOf, selected])
  const first = items[0]?.index ?? -1
  useEffect(() => {
    if (moreBefore && first !== -1 && first < 20) loadBefore?.()
  }, [moreBefore, first, rows.length, loadBefore])

  useSteady({ rows, keyOf, height, scroller, grows: loadBefore !== undefined })

  // `undefined`: the list has just opened. Then it has the row in its middle.
  const shown = useRef<string | null | undefined>(undefined)
  useEffect(() => {
    if (selected === undefined || selected === shown.current || (selected !== null && chosen === -1)) return
    if (chosen !== -1)
      virtual.scrollToIndex(chosen, { align: shown.current === undefined ? 'center' : 'auto' })
    shown.current = selected
  }, [selected, chosen, virtual])

  // The row with the focus may have left the list.
  const at = had === -1 ? chosen : had
  const go = (step: number): void => {
    if (rows.length === 0) return
    const to = Math.min(rows.length - 1, Math.max(0, Math.max(at, 0) + (at === -1 && step > 0 ? 0 : step)))
    setActive(keyOf(rows[to] as Row))
    virtual.scrollToIndex(to)
    // The row may not be in the page before the list has scrolled.
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[aria-rowindex="${to + 2}"]`)?.focus(),
    )
  }
  const move = (event: KeyboardEvent): void => {
    const step = event.ctrlKey || event.metaKey || event.altKey ? undefined : steps[event.key]
    if (step === undefined) return
    event.preventDefault()
    go(step)
  }
  useKeys([
    { key: 'j', does: 'Goes to the next row of the list', run: () => go(1) },
    { key: 'k', does: 'Goes to the row before', run: () => go(-1) },
  ])
  return (
    <div
      className="rows"
      role="grid"
      aria-label={label}
      aria-rowcount={more || moreBefore ? -1 : rows.length + 1}
    >
      <div className={`row head ${kind}`} role="row" aria-rowindex={1}>
        {columns.map(([title, of]) => (
          <span key={title} role="columnheader" className={of ?? ''}>
            {title}
          </span>
        ))}
      </div>
      <div className="scroller" role="rowgroup" ref={scroller} onKeyDown={move}>
        <div className="space" role="presentation" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const row = rows[item.index] as Row
            const isActive = at === -1 ? item.index === 0 : item.index === at
            return (
              <div
                key={item.key}
                className={`row ${kind}`}
                role="row"
                aria-rowindex={item.index + 2}
                tabIndex={isActive ? 0 : -1}
                style={{ height, transform: `translateY(${item.start}px)` }}
                {...(selected === undefined ? {} : { 'aria-selected': keyOf(row) === selected })}
                onFocus={() => {
                  setActive(keyOf(row))
                  onActive?.(row)
                }}
                onClick={(event) => {
                  if (!isOwnControl(event.target)) open(row)
                }}
                onKeyDown={(event) => {
                  if (event.key === 'Enter' && !isOwnControl(event.target)) open(row)
                }}
              >
                {cells(row)}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

/** A link, a button or a box in a row does its own work. */
const isOwnControl = (target: EventTarget): boolean =>
  target instanceof Element && target.closest('a, button, input') !== null
