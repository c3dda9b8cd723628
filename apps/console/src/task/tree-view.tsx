// The parts of a task as a tree. The arrow keys work as in any tree: right opens, left closes.
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, useMemo, useRef, useState } from 'react'
import { Icon } from '../parts/icons.tsx'
import { lookOf, Status } from '../parts/status.tsx'
import { Line } from '../parts/text.tsx'
import { shortNumber } from '../parts/time.ts'
import { Elapsed } from '../parts/when.tsx'
import { type Item, shownOf } from './tree.ts'

export interface TreeProps {
  readonly items: readonly Item[]
  readonly selected: string | null
  readonly select: (key: string | null) => void
}

const rowHeight = 46

export function Tree({ items, selected, select }: TreeProps): ReactNode {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const shown = useMemo(() => shownOf(items, closed), [items, closed])
  const inside = useMemo(() => new Set(items.map(({ parent }) => parent)), [items])
  const scroller = useRef<HTMLDivElement>(null)
  const at = shown.findIndex(({ key }) => key === selected)
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => shown[index]?.key ?? index,
    overscan: 10,
    // What was selected in another view is in view here.
    initialOffset: Math.max(0, (at - 3) * rowHeight),
  })
  const turn = (key: string, isClosed: boolean): void =>
    setClosed((now) => {
      const next = new Set(now)
      if (isClosed) next.add(key)
      else next.delete(key)
      return next
    })
  const go = (index: number): void => {
    const item = shown[Math.min(shown.length - 1, Math.max(0, index))]
    if (item === undefined) return
    select(item.key)
    virtual.scrollToIndex(shown.indexOf(item))
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(item.key)}"]`)?.focus(),
    )
  }
  const move = (event: KeyboardEvent): void => {
    const item = shown[at]
    const steps: Readonly<Record<string, () => void>> = {
      ArrowDown: () => go(at + 1),
      j: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      k: () => go(at - 1),
      Home: () => go(0),
      End: () => go(shown.length - 1),
      ArrowRight: () => item !== undefined && (closed.has(item.key) ? turn(item.key, false) : go(at + 1)),
      ArrowLeft() {
        if (item === undefined) return
        if (inside.has(item.key) && !closed.has(item.key)) turn(item.key, true)
        else go(shown.findIndex(({ key }) => key === item.parent))
      },
      Escape: () => select(null),
    }
    const step = event.ctrlKey || event.metaKey || event.altKey ? undefined : steps[event.key]
    if (step === undefined) return
    event.preventDefault()
    step()
  }
  if (items.length === 0) return <p className="loading">No agent has started yet.</p>
  return (
    <div className="scroller" ref={scroller} role="tree" aria-label="Parts of the task" onKeyDown={move}>
      <div className="space" role="presentation" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const item = shown[index]
          if (item === undefined) return null
          const isParent = inside.has(item.key)
          return (
            <div
              key={key}
              data-key={item.key}
              className="tree-row"
              role="treeitem"
              aria-level={item.depth + 1}
              aria-selected={item.key === selected}
              {...(isParent ? { 'aria-expanded': !closed.has(item.key) } : {})}
              tabIndex={index === Math.max(at, 0) ? 0 : -1}
              style={{
                height: rowHeight,
                transform: `translateY(${start}px)`,
                paddingLeft: 8 + item.depth * 18,
              }}
              onClick={() => select(item.key === selected ? null : item.key)}
            >
              {isParent ? (
                <span
                  className={closed.has(item.key) ? 'turn' : 'turn open'}
                  onClick={(event) => {
                    event.stopPropagation()
                    turn(item.key, !closed.has(item.key))
                  }}
                >
                  <Icon name="next" />
                </span>
              ) : (
                <span className="turn" />
              )}
              <span className="what">
                <span className="name">
                  <Line text={item.name} /> <span className="quiet small">{item.what}</span>
                </span>
                <Second item={item} />
              </span>
              <span className="number quiet small">
                {item.isKept ? null : <Elapsed from={item.startedAt} ms={item.durationMs} />}
                {item.tokens === 0 ? null : <br />}
                {item.tokens === 0 ? null : `${shortNumber(item.tokens)} tokens`}
              </span>
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** The second line of a row: the state, and why it is not complete or what the evidence says. */
function Second({ item }: { readonly item: Item }): ReactNode {
  const [, look] = lookOf(item.status)
  return (
    <span className="small second">
      <Status status={item.status} />
      {item.isKept ? <span className="quiet">kept, not run again</span> : null}
      {item.why === null ? null : (
        <span className={look === 'failed' ? 'why failed' : 'quiet'}>
          <Line text={item.why} />
        </span>
      )}
      {item.why !== null || item.evidence === null ? null : (
        <span className={item.evidence.failed > 0 ? 'why failed' : 'quiet'}>
          evidence {item.evidence.passed} of {item.evidence.passed + item.evidence.failed}
        </span>
      )}
    </span>
  )
}
