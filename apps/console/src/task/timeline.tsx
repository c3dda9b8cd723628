// The parts of a task along the time: when each began and ended.
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useMemo, useRef } from 'react'
import { lookOf } from '../parts/status.tsx'
import { Line } from '../parts/text.tsx'
import { durationText } from '../parts/time.ts'
import { useNow } from '../parts/when.tsx'
import type { TaskPageSearch } from './selection.ts'
import type { Item } from './tree.ts'

export interface TimelineProps {
  readonly taskId: string
  readonly items: readonly Item[]
  readonly selected: string | null
  readonly select: (key: string | null) => void
  readonly show: (change: TaskPageSearch) => void
}

const rowHeight = 28

export function Timeline({ items, selected, select }: TimelineProps): ReactNode {
  const now = useNow()
  const scroller = useRef<HTMLDivElement>(null)
  const started = useMemo(() => items.filter(({ startedAt }) => startedAt !== null), [items])
  const from = Math.min(...started.map(({ startedAt }) => Date.parse(startedAt ?? '')))
  const to = Math.max(
    from + 1,
    ...started.map(({ endedAt }) => (endedAt === null ? now : Date.parse(endedAt))),
  )
  const virtual = useVirtualizer({
    count: started.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => started[index]?.key ?? index,
    overscan: 10,
  })
  const percent = (time: number): number => ((time - from) / (to - from)) * 100
  if (started.length === 0) return <p className="loading">Nothing has started yet.</p>
  return (
    <div className="timeline">
      <div className="axis quiet small" aria-hidden="true">
        <span>0</span>
        {[0.25, 0.5, 0.75, 1].map((part) => (
          <span key={part}>{durationText((to - from) * part)}</span>
        ))}
      </div>
      <div className="scroller" ref={scroller}>
        <ol className="space" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const item = started[index]
            if (item === undefined) return null
            const left = percent(Date.parse(item.startedAt ?? ''))
            const right = percent(item.endedAt === null ? now : Date.parse(item.endedAt))
            const [word, look] = lookOf(item.status)
            return (
              <li key={key} style={{ height: rowHeight, transform: `translateY(${start}px)` }}>
                <button
                  type="button"
                  className="lane"
                  aria-pressed={item.key === selected}
                  onClick={() => select(item.key === selected ? null : item.key)}
                >
                  <span className="lane-name" style={{ paddingLeft: item.depth * 12 }}>
                    <Line text={item.name} />
                  </span>
                  <span className="lane-line">
                    <span
                      className={`lane-bar ${look}`}
                      style={{ left: `${left}%`, width: `max(3px, ${right - left}%)` }}
                      title={`${word}, ${durationText(item.durationMs)}`}
                    />
                  </span>
                </button>
              </li>
            )
          })}
        </ol>
      </div>
    </div>
  )
}
