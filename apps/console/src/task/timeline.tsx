// The parts of a task along the time: when each began and ended, and inside of it each call of a model, call of
// a tool, wait and pause before a retry. The spans are asked for the lanes that are in view.
import type { QueryOutput } from '@beaver/contracts'
import { useQueries } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useMemo, useRef } from 'react'
import { ask } from '../data/api.ts'
import { lookOf } from '../parts/status.tsx'
import { Line } from '../parts/text.tsx'
import { durationText, timeTicks } from '../parts/time.ts'
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

export function Timeline({ taskId, items, selected, select, show }: TimelineProps): ReactNode {
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
  const lanes = virtual.getVirtualItems()
  const spansOf = useSpans(
    taskId,
    lanes.flatMap(({ index }) => started[index]?.runId ?? []),
  )
  const percent = (time: number): number => ((time - from) / (to - from)) * 100
  if (started.length === 0) return <p className="loading">Nothing has started yet.</p>
  return (
    <div className="timeline">
      <p className="legend quiet small">
        <span className="span model" /> model <span className="span tool" /> tool{' '}
        <span className="span wait" /> wait
      </p>
      <div className="axis quiet small" aria-hidden="true">
        {timeTicks(to - from).map((ms) => (
          <span key={ms} style={{ left: `${(ms / (to - from)) * 100}%` }}>
            {ms === 0 ? '0' : durationText(ms).replace('.0 s', ' s')}
          </span>
        ))}
      </div>
      <div className="scroller" ref={scroller}>
        <ol className="space" style={{ height: virtual.getTotalSize() }}>
          {lanes.map(({ index, key, start }) => {
            const item = started[index]
            if (item === undefined) return null
            const left = percent(Date.parse(item.startedAt ?? ''))
            const right = percent(item.endedAt === null ? now : Date.parse(item.endedAt))
            const [word, look] = lookOf(item.status)
            return (
              <li
                key={key}
                className={item.key === selected ? 'chosen' : ''}
                style={{ height: rowHeight, transform: `translateY(${start}px)` }}
              >
                <button
                  type="button"
                  className="lane"
                  aria-pressed={item.key === selected}
                  onClick={() => select(item.key === selected ? null : item.key)}
                >
                  <span className="lane-name" style={{ paddingLeft: item.depth * 12 }}>
                    <Line text={item.name} />
                  </span>
                </button>
                <span className="lane-line">
                  <span
                    className={`lane-bar ${look}`}
                    style={{ left: `${left}%`, width: `max(3px, ${right - left}%)` }}
                    title={`${word}, ${durationText(item.durationMs)}`}
                  />
                  {(spansOf.get(item.runId ?? '') ?? []).map((span) => (
                    <SpanBar
                      key={`${span.kind} ${span.taskseq} ${span.call_id ?? ''}`}
                      span={span}
                      now={now}
                      percent={percent}
                      show={show}
                    />
                  ))}
                </span>
              </li>
            )
          })}
        </ol>
      </div>
    </div>
  )
}

type Span = QueryOutput<'spans'>['spans'][number]

/** So many runs are asked for at once: neighbours share an answer, also after scrolling a little. */
const runsOfAsk = 20

/** The spans of these runs, by run. */
function useSpans(taskId: string, runIds: readonly string[]): ReadonlyMap<string, readonly Span[]> {
  const asks = Array.from({ length: Math.ceil(runIds.length / runsOfAsk) }, (_, at) =>
    runIds.slice(at * runsOfAsk, (at + 1) * runsOfAsk),
  )
  const answers = useQueries({
    queries: asks.map((ids) => ({
      queryKey: ['spans', taskId, ids],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        ask('spans', { task_id: taskId, run_ids: ids, limit: 2_000 }, signal),
    })),
  })
  return Map.groupBy(
    answers.flatMap(({ data }) => data?.spans ?? []),
    ({ run_id }) => run_id ?? '',
  )
}

interface SpanBarProps {
  readonly span: Span
  readonly now: number
  readonly percent: (time: number) => number
  readonly show: (change: TaskPageSearch) => void
}

function SpanBar({ span, now, percent, show }: SpanBarProps): ReactNode {
  // The journal does not say when some calls began; they end somewhere.
  const end = span.ended_at === null ? now : Date.parse(span.ended_at)
  const start = span.started_at === null ? end : Date.parse(span.started_at)
  const [left, right] = [percent(start), percent(end)]
  const text = [
    span.kind === 'wait' ? `waits: ${span.name}` : span.name,
    durationText(end - start),
    span.ok === false ? 'failed' : null,
    span.tries !== null && span.tries > 1 ? `try ${span.tries}` : null,
  ]
  const name = text.filter((each) => each !== null).join(', ')
  return (
    <button
      type="button"
      className={`span ${span.kind}${span.ok === false ? ' failed' : ''}`}
      style={{ left: `${left}%`, width: `max(3px, ${right - left}%)` }}
      title={name}
      aria-label={name}
      onClick={() => show({ event: span.taskseq })}
    />
  )
}
