// One session as a conversation: what each task asked, and what came out. The newest is at the end.
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ask } from '../data/api.ts'
import { sessionCommand } from '../parts/command.ts'
import { CopyCommand } from '../parts/copy-command.tsx'
import { Markdown } from '../parts/lazy-markdown.tsx'
import { Loading, Problem } from '../parts/problem.tsx'
import { Status } from '../parts/status.tsx'
import { Block, Copy, Line } from '../parts/text.tsx'
import { numberText } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import './sessions.css'

export function Session(): ReactNode {
  const { sessionId } = useParams({ from: '/sessions/$sessionId' })
  const read = useInfiniteQuery({
    queryKey: ['session', sessionId],
    initialPageParam: undefined as number | undefined,
    queryFn: ({ pageParam, signal }) =>
      ask(
        'session',
        { session_id: sessionId, limit: 50, ...(pageParam === undefined ? {} : { before: pageParam }) },
        signal,
      ),
    getNextPageParam: ({ more, next }) => (more ? (next ?? undefined) : undefined),
  })
  if (read.error !== null)
    return (
      <section className="page">
        <Problem error={read.error} again={() => void read.refetch()} />
      </section>
    )
  const [first] = read.data?.pages ?? []
  if (read.data === undefined || first === undefined) return <Loading />
  const { session } = first
  const turns = read.data.pages.flatMap(({ tasks }) => tasks).toReversed()
  return (
    <section className="page conversation">
      <header className="page-head">
        <h1>
          <Line text={session.title ?? session.text ?? session.session_id} />
        </h1>
        <span className="quiet">
          {numberText(session.tasks)} {session.tasks === 1 ? 'task' : 'tasks'}
          {session.user_id === null ? '' : ` of ${session.user_id}`}
        </span>
        <Copy text={session.session_id} what="Copy the id" />
        <CopyCommand command={sessionCommand(session.session_id)} />
      </header>
      {read.hasNextPage ? (
        <button type="button" onClick={() => void read.fetchNextPage()} disabled={read.isFetching}>
          Show earlier tasks
        </button>
      ) : null}
      <ol>
        {turns.map((turn) => (
          <li key={turn.task_id}>
            <div className="said person">
              <Block text={turn.text ?? ''} />
              <span className="quiet small">
                {session.user_id ?? 'The client'}, <When time={turn.submitted_at} />
                {turn.retry_of === null ? '' : ', as a retry'}
              </span>
            </div>
            <div className="said agent">
              {turn.answer === null ? null : <Markdown text={turn.answer} />}
              {turn.failure === null ? null : <p className="why failed">{turn.failure.message}</p>}
              <span className="small">
                <Status status={turn.status} />{' '}
                <Link to="/tasks/$taskId" params={{ taskId: turn.task_id }}>
                  {turn.workflow === null ? 'Open the task' : `Open the task of ${turn.workflow}`}
                </Link>
              </span>
            </div>
          </li>
        ))}
      </ol>
    </section>
  )
}
