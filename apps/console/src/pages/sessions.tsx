// The list of sessions: conversations across tasks, the one with the newest task first.
import type { QueryOutput } from '@beaver/contracts'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useCallback, useMemo } from 'react'
import { ask } from '../data/api.ts'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { Rows } from '../parts/rows.tsx'
import { Status } from '../parts/status.tsx'
import { Line } from '../parts/text.tsx'
import { numberText } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import './sessions.css'

type Session = QueryOutput<'sessions'>['sessions'][number]
const keyOf = ({ session_id }: Session): string => session_id

export function Sessions(): ReactNode {
  const navigate = useNavigate()
  const list = useInfiniteQuery({
    queryKey: ['sessions'],
    initialPageParam: undefined as number | undefined,
    queryFn: ({ pageParam, signal }) =>
      ask('sessions', { limit: 100, ...(pageParam === undefined ? {} : { before: pageParam }) }, signal),
    getNextPageParam: ({ more, next }) => (more ? (next ?? undefined) : undefined),
  })
  const rows = useMemo(() => list.data?.pages.flatMap(({ sessions }) => sessions) ?? [], [list.data])
  const { hasNextPage, isFetching, fetchNextPage } = list
  const loadMore = useCallback(() => {
    if (!isFetching) void fetchNextPage()
  }, [isFetching, fetchNextPage])
  if (list.error !== null)
    return (
      <section className="page">
        <Problem error={list.error} again={() => void list.refetch()} />
      </section>
    )
  if (list.data === undefined) return <Loading />
  return (
    <section className="page list">
      <h1 className="hidden">Sessions</h1>
      {rows.length === 0 ? (
        <Empty title="There is no session yet.">
          A session begins with its first task: <code>beaver run "Say hello"</code>
        </Empty>
      ) : (
        <Rows
          label="Sessions, the newest first"
          kind="session-row"
          rows={rows}
          keyOf={keyOf}
          open={({ session_id }) =>
            void navigate({ to: '/sessions/$sessionId', params: { sessionId: session_id } })
          }
          more={hasNextPage}
          loadMore={loadMore}
          columns={columns}
          cells={(session) => <Cells session={session} />}
        />
      )}
    </section>
  )
}

const columns = [['Session'], ['Newest task'], ['Tasks', 'number'], ['Last', 'number']] as const

const Cells = ({ session }: { readonly session: Session }): ReactNode => (
  <>
    <span role="gridcell">
      <Link to="/sessions/$sessionId" params={{ sessionId: session.session_id }} tabIndex={-1}>
        <Line text={session.title ?? session.text ?? session.session_id} />
      </Link>
      <span className="quiet small">
        <Line text={[session.user_id, session.session_id].filter((each) => each !== null).join(' · ')} />
      </span>
    </span>
    <span role="gridcell">
      <Status status={session.last_status} />
    </span>
    <span role="gridcell" className="number">
      {numberText(session.tasks)}
      {session.open > 0 ? <span className="quiet"> ({numberText(session.open)} open)</span> : null}
    </span>
    <span role="gridcell" className="number quiet">
      <When time={session.last_at} />
    </span>
  </>
)
