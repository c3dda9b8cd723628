// What happened, one sentence for each event, in the order of the log. The list opens at the event that is
// selected, and new events come to its end.
import { memo, type ReactNode, useCallback, useEffect, useMemo, useSyncExternalStore } from 'react'
import { ask } from '../data/api.ts'
import { useNews } from '../data/live.ts'
import { Loading, Problem } from '../parts/problem.tsx'
import { Rows } from '../parts/rows.tsx'
import { Line } from '../parts/text.tsx'
import { durationText, numberText } from '../parts/time.ts'
import { EventLink } from './event-link.tsx'
import { EventLog, type LogPart, type ToldEvent } from './event-log.ts'
import type { TaskPageSearch } from './selection.ts'

export interface EventListProps {
  readonly taskId: string
  /** The list has the events of this node. `null`: those of the task. */
  readonly nodeId: string | null
  /** The place of the event that is shown beside the list. */
  readonly event: number | null
  readonly show: (change: TaskPageSearch) => void
}

// The page around it is drawn again with each change of the task.
export const EventList = memo(function EventList({ taskId, nodeId, event, show }: EventListProps): ReactNode {
  const { log, part } = useEventLog(taskId, nodeId, event)
  const again = (): void => void log.again()
  const loadMore = useCallback(() => void log.more('after'), [log])
  const loadBefore = useCallback(() => void log.more('before'), [log])
  const problem = part.error === null ? null : <Problem error={part.error} again={again} />
  if (part.events === null) return problem ?? <Loading />
  return (
    <>
      {problem}
      <Rows
        label={nodeId === null ? 'Events of the task' : `Events of ${nodeId}`}
        kind="event-row"
        height={30}
        rows={part.events}
        keyOf={keyOf}
        open={({ taskseq }) => show({ event: taskseq })}
        selected={event === null ? null : String(event)}
        more={part.hasAfter}
        loadMore={loadMore}
        moreBefore={part.hasBefore}
        loadBefore={loadBefore}
        columns={columns}
        cells={cells}
      />
    </>
  )
})

/** The log of the task, or of a node, around the event; it follows what happens. */
function useEventLog(
  taskId: string,
  nodeId: string | null,
  event: number | null,
): { readonly log: EventLog; readonly part: LogPart } {
  const log = useMemo(
    () =>
      new EventLog((part) =>
        ask('timeline', { task_id: taskId, ...part, ...(nodeId === null ? {} : { node_id: nodeId }) }),
      ),
    [taskId, nodeId],
  )
  useEffect(() => {
    if (log.part.events === null || (event !== null && !log.has(event))) void log.open(event ?? 'first')
  }, [log, event])
  useNews(
    taskId,
    useCallback((taskseq: number | null) => void log.heard(taskseq), [log]),
  )
  const part = useSyncExternalStore(
    useCallback((watcher) => log.watch(watcher), [log]),
    () => log.part,
  )
  return { log, part }
}

const keyOf = ({ taskseq }: ToldEvent): string => String(taskseq)
const columns = [['No.', 'number'], ['After', 'number'], ['What happened']] as const

const cells = (event: ToldEvent): ReactNode => (
  <>
    <span role="gridcell" className="number quiet">
      <EventLink taskseq={event.taskseq} tabIndex={-1}>
        {numberText(event.taskseq)}
      </EventLink>
    </span>
    <span role="gridcell" className="number quiet">
      {durationText(event.offset_ms)}
    </span>
    <span role="gridcell" className={event.status === 'failed' ? 'why failed' : ''}>
      <Line text={event.text} />
    </span>
  </>
)
