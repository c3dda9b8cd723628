// One task.
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ask } from '../data/api.ts'
import { Loading, Problem } from '../parts/problem.tsx'
import { Status } from '../parts/status.tsx'
import { Block, Line } from '../parts/text.tsx'

export function Task(): ReactNode {
  const { taskId } = useParams({ from: '/tasks/$taskId' })
  const read = useQuery({
    queryKey: ['task', taskId],
    queryFn: ({ signal }) => ask('task', { task_id: taskId }, signal),
  })
  if (read.error !== null)
    return (
      <section className="page">
        <Problem error={read.error} again={() => void read.refetch()} />
      </section>
    )
  if (read.data === undefined) return <Loading />
  const { task, final_output } = read.data
  return (
    <section className="page">
      <header className="page-head">
        <h1>
          <Line text={task.title ?? task.text ?? task.task_id} />
        </h1>
        <Status status={task.status} />
      </header>
      {final_output === null ? null : <Block text={final_output} />}
    </section>
  )
}
