// The details of what is selected: an event, a part of the task, or the task as a whole. What goes on now is above
// the rest.
import type { QueryOutput } from '@beaver/contracts'
import type { ReactNode } from 'react'
import { Status } from '../parts/status.tsx'
import { Line } from '../parts/text.tsx'
import { EventDetails } from './event-details.tsx'
import type { LiveState } from './live-text.ts'
import { MarkedFigure } from './marked-figure.tsx'
import { PartDetails } from './part-details.tsx'
import type { TaskPageSearch } from './selection.ts'
import { TaskDetails } from './task-details.tsx'
import { isOpen, type Item } from './tree.ts'
import { Waits } from './why-waits.tsx'
import { Writes } from './writes.tsx'

export interface DetailsProps {
  readonly answer: QueryOutput<'task'>
  readonly items: readonly Item[]
  readonly selected: Item | null
  readonly event: number | null
  readonly select: (key: string | null) => void
  readonly show: (change: TaskPageSearch) => void
  readonly live: LiveState
}

export function Details({ answer, items, selected, event, select, show, live }: DetailsProps): ReactNode {
  const taskId = answer.task.task_id
  return (
    <aside className="details" aria-label="Details">
      {event !== null ? (
        <>
          <MarkedFigure show={show} />
          <EventDetails
            taskId={taskId}
            taskseq={event}
            last={answer.task.last_taskseq}
            items={items}
            select={select}
            show={show}
          />
        </>
      ) : selected === null ? (
        <>
          <Waits answer={answer} runId={null} />
          <Writes live={live} runId={null} />
          <TaskDetails answer={answer} items={items} show={show} />
        </>
      ) : (
        <>
          <header className="page-head">
            <Status status={selected.status} />
            <h2>
              <Line text={selected.name} />
            </h2>
            <span className="quiet">{selected.what}</span>
            <button type="button" className="quiet-button" onClick={() => select(null)}>
              Show the whole task
            </button>
          </header>
          {selected.runId === null || !isOpen(selected.status) ? null : (
            <>
              <Waits answer={answer} runId={selected.runId} />
              <Writes live={live} runId={selected.runId} />
            </>
          )}
          <PartDetails taskId={taskId} item={selected} select={select} show={show} />
        </>
      )}
    </aside>
  )
}
