// One event as it is in the journal. Its address is a permanent link to it.
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ask } from '../data/api.ts'
import { Json } from '../parts/json.tsx'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { Copy } from '../parts/text.tsx'
import { numberText } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import type { TaskPageSearch } from './selection.ts'
import type { Item } from './tree.ts'

export interface EventDetailsProps {
  readonly taskId: string
  readonly taskseq: number
  /** The place of the newest event. */
  readonly last: number
  /** The parts of the task, of which one wrote the event. */
  readonly items: readonly Item[]
  readonly select: (key: string | null) => void
  readonly show: (change: TaskPageSearch) => void
}

export function EventDetails({ taskId, taskseq, last, items, select, show }: EventDetailsProps): ReactNode {
  const read = useQuery({
    queryKey: ['event', taskId, taskseq],
    queryFn: ({ signal }) => ask('events', { task_id: taskId, after: taskseq - 1, limit: 1 }, signal),
  })
  if (read.error !== null) return <Problem error={read.error} again={() => void read.refetch()} />
  if (read.data === undefined) return <Loading />
  const [event] = read.data.events
  if (event === undefined || event.taskseq !== taskseq)
    return <Empty title={`The task has no event ${taskseq}.`}>Its newest event is {last}.</Empty>
  const writer = items.find(({ runId }) => runId !== null && runId === event.run_id)
  return (
    <>
      <header className="page-head">
        <h2>Event {taskseq}</h2>
        <code>{event.type}</code>
        <span className="buttons">
          <button type="button" disabled={taskseq <= 1} onClick={() => show({ event: 1 })}>
            First
          </button>
          <button type="button" disabled={taskseq <= 1} onClick={() => show({ event: taskseq - 1 })}>
            Before
          </button>
          <button type="button" disabled={taskseq >= last} onClick={() => show({ event: taskseq + 1 })}>
            Next
          </button>
          <button type="button" disabled={taskseq >= last} onClick={() => show({ event: last })}>
            Newest
          </button>
          <Copy text={location.href} what="Copy the link" />
        </span>
      </header>
      <section className="card">
        <dl>
          <dt>Written</dt>
          <dd>
            <When time={event.time} />
          </dd>
          {event.node_id === null ? null : (
            <>
              <dt>Node</dt>
              <dd>{event.node_id}</dd>
            </>
          )}
          {event.run_id === null ? null : (
            <>
              <dt>Run</dt>
              <dd>
                <code>{event.run_id}</code>{' '}
                {writer === undefined ? null : (
                  <button type="button" className="link" onClick={() => select(writer.key)}>
                    Go to {writer.nodeId ?? 'the agent'}
                  </button>
                )}
              </dd>
            </>
          )}
          <dt>Claim</dt>
          <dd>{event.epoch}</dd>
          <dt>In the journal</dt>
          <dd>
            message {numberText(event.sequence)}, {numberText(event.data_bytes)} bytes
          </dd>
          <dt>Hash</dt>
          <dd>
            <code>{event.hash.slice(0, 16)}…</code> <Copy text={event.hash} what="Copy" />
          </dd>
        </dl>
      </section>
      {event.data === null ? (
        <Empty title="The data of this event is too large for the page, or it is lost." />
      ) : (
        <section className="card">
          <Json value={event.data} open={4} />
        </section>
      )}
    </>
  )
}
