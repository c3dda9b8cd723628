// What a retry kept from the task that it retries. Its log begins with copies of the events of that task, and
// what had completed there is not run again.
import type { QueryOutput } from '@beaver/contracts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ask } from '../data/api.ts'
import { numberText } from '../parts/time.ts'
import type { Item } from './tree.ts'

type Task = QueryOutput<'task'>['task']

/** The task is submitted and claimed, and then its log is copied. */
const firstEvents = 20

/** @returns when the last copied event was written; `null`: nothing was copied, or it is not known yet */
export function useKeptUntil({ task_id, retry_of }: Pick<Task, 'task_id' | 'retry_of'>): string | null {
  const client = useQueryClient()
  // The first part of the key is that of the task, so it is asked again while nothing is copied.
  const queryKey = ['task', task_id, 'kept until']
  const { data = null } = useQuery({
    queryKey,
    enabled: retry_of !== null && (client.getQueryData(queryKey) ?? null) === null,
    queryFn: async ({ signal }) => {
      const eventsAfter = async (after: number, limit: number) =>
        (await ask('events', { task_id, after, limit }, signal)).events
      const first = await eventsAfter(0, firstEvents)
      const copied = first.find(({ type }) => type === 'task_log_copied')
      const { events = 0 } = (copied?.data ?? {}) as { readonly events?: number }
      if (copied === undefined || events === 0) return null
      const [last] = await eventsAfter(copied.taskseq + events - 1, 1)
      return last?.time ?? null
    },
  })
  return data
}

/** Which task this one retries, and how much of it was kept. */
export function RetryOf({
  task: { retry_of },
  items,
}: {
  readonly task: Task
  readonly items: readonly Item[]
}): ReactNode {
  if (retry_of === null) return null
  const nodes = items.filter(({ nodeId }) => nodeId !== null)
  const kept = nodes.filter(({ isKept }) => isKept).length
  return (
    <span>
      <Link to="/tasks/$taskId" params={{ taskId: retry_of }} search={{}}>
        Retry of an earlier task
      </Link>
      {kept === 0 ? null : `, kept ${numberText(kept)} of ${numberText(nodes.length)} nodes`}
    </span>
  )
}

/** What a retry of this task would keep, and what it would run again. */
export function WhatIsKept({ answer: { runs, teams } }: { readonly answer: QueryOutput<'task'> }): ReactNode {
  // A team of a root agent has its nodes in the run that called it.
  const nodes = [...teams, ...runs.flatMap((run) => run.teams)].flatMap((team) => team.nodes)
  const named = (isDone: boolean): string[] =>
    nodes.filter(({ status }) => (status === 'completed') === isDone).map(({ node_id }) => node_id)
  const [done, rest] = [named(true), named(false)]
  if (done.length === 0 || rest.length === 0) return null
  return (
    <dl>
      <dt>Kept</dt>
      <dd>{listed(done)}</dd>
      <dt>Run again</dt>
      <dd>{listed(rest)}</dd>
    </dl>
  )
}

/** More names are counted. */
const namesMax = 6
const listed = (names: readonly string[]): string =>
  names.length <= namesMax
    ? names.join(', ')
    : `${names.slice(0, namesMax).join(', ')} and ${numberText(names.length - namesMax)} more`
