// What happened, one sentence for each event, in the order of the log.
import type { QueryOutput } from '@beaver/contracts'
import { useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useCallback, useMemo } from 'react'
import { ask } from '../data/api.ts'
import { Loading, Problem } from '../parts/problem.tsx'
import { Rows } from '../parts/rows.tsx'
import { Line } from '../parts/text.tsx'
import { durationText, numberText } from '../parts/time.ts'
import { EventLink } from './event-link.tsx'
import type { TaskPageSearch } from './selection.ts'
import type { Item } from './tree.ts'

type Told = QueryOutput<'timeline'>['events'][number]
const keyOf = ({ taskseq }: Told): string => String(taskseq)

export interface EventListProps {
  readonly taskId: string
  readonly selected: Item | null
  readonly show: (change: TaskPageSearch) => void
}

export function EventList({ taskId, selected, show }: EventListProps): ReactNode {
  const nodeId = selected?.nodeId ?? undefined
  const read = useInfiniteQuery({
    queryKey: ['timeline', taskId, nodeId ?? null],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      ask(
        'timeline',
        {
          task_id: taskId,
          after: pageParam,
          limit: 500,
          ...(nodeId === undefined ? {} : { node_id: nodeId }),
        },
        signal,
      ),
    getNextPageParam: ({ more, next }) => (more ? (next ?? undefined) : undefined),
  })
  const rows = useMemo(() => read.data?.pages.flatMap(({ events }) => events) ?? [], [read.data])
  const { hasNextPage, isFetching, fetchNextPage } = read
  const loadMore = useCallback(() => {
    if (!isFetching) void fetchNextPage()
  }, [isFetching, fetchNextPage])
  if (read.error !== null) return <Problem error={read.error} again={() => void read.refetch()} />
  if (read.data === undefined) return <Loading />
  return (
    <Rows
      label={nodeId === undefined ? 'Events of the task' : `Events of ${nodeId}`}
      kind="event-row"
      height={30}
      rows={rows}
      keyOf={keyOf}
      open={({ taskseq }) => show({ event: taskseq })}
      more={hasNextPage}
      loadMore={loadMore}
      columns={columns}
      cells={(event) => <Cells event={event} />}
    />
  )
}

const columns = [['No.', 'number'], ['After', 'number'], ['What happened']] as const

const Cells = ({ event }: { readonly event: Told }): ReactNode => (
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
