// Why a task or one of its agents does not go on: what it waits for, until when, and a link to where somebody
// can do something about it.
import type { QueryOutput } from '@beaver/contracts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ask } from '../data/api.ts'
import { type Entry, keyOf } from '../inbox/entry.ts'
import { visible } from '../parts/visible.ts'
import { useNow, When } from '../parts/when.tsx'
import { isOpen } from './tree.ts'
import { type Wait, waitsOf } from './waits.ts'

type Answer = QueryOutput<'task'>

const noEntries: readonly Entry[] = []

/** What people of the inbox are asked by a task that is open. */
export function useEntries(taskId: string, isNotOver: boolean): readonly Entry[] {
  const { data } = useQuery({
    queryKey: ['waits', taskId],
    enabled: isNotOver,
    queryFn: ({ signal }) => ask('inbox', { task_id: taskId, limit: 100 }, signal),
  })
  return isNotOver ? (data?.entries ?? noEntries) : noEntries
}

export interface WaitsProps {
  readonly answer: Answer
  /** The agent that is shown. `null`: the task as a whole. */
  readonly runId: string | null
}

export function Waits({ answer, runId }: WaitsProps): ReactNode {
  const { task } = answer
  const now = useNow()
  const isNotOver = isOpen(task.status)
  const entries = useEntries(task.task_id, isNotOver)
  const agent = runId ?? task.root_run_id
  const spans = useQuery({
    queryKey: ['spans', task.task_id, 'pauses', agent],
    enabled: isNotOver && agent !== null,
    queryFn: ({ signal }) =>
      ask(
        'spans',
        {
          task_id: task.task_id,
          run_ids: agent === null ? [] : [agent],
          // Only those that have not ended.
          from_ms: Math.max(0, Date.now() - Date.parse(task.submitted_at ?? '')) || 0,
          limit: 500,
        },
        signal,
      ),
  })
  const previous = task.status === 'submitted' ? (task.previous_task_id ?? null) : null
  const before = useQuery({
    queryKey: ['task', previous, 'status'],
    enabled: previous !== null,
    queryFn: ({ signal }) => ask('tasks', { task_ids: [previous ?? ''] }, signal),
  })
  const [earlier] = before.data?.tasks ?? []
  const waits = waitsOf({
    task: runId === null ? task : { ...task, wait: null },
    entries: runId === null ? entries : entries.filter((entry) => isOfRun(entry, runId)),
    previousOpen: earlier !== undefined && isOpen(earlier.status) ? earlier.task_id : null,
    spans: spans.data?.spans ?? [],
    now,
  })
  if (!isNotOver || waits.length === 0) return null
  return (
    <section className="card waits">
      <h2>Why it waits</h2>
      <ul className="why-waits">
        {waits.map((wait) => (
          <li key={wait.key}>
            <p>{visible(wait.text)}</p>
            <WaitLink wait={wait} />
            {wait.until === null ? null : (
              <p className="quiet small">
                {wait.until.what} <When time={wait.until.time} />.
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function isOfRun(entry: Entry, runId: string): boolean {
  switch (entry.kind) {
    case 'approval':
      return entry.call.run_id === runId
    case 'question':
      return entry.question.run_id === runId
    case 'budget':
      return entry.budget.run_ids?.includes(runId) === true
    default:
      return entry satisfies never
  }
}

function WaitLink({ wait: { to } }: { readonly wait: Wait }): ReactNode {
  if (to === null) return null
  return 'entry' in to ? (
    <Link to="/inbox" search={{ at: keyOf(to.entry) }}>
      Go to it in the inbox
    </Link>
  ) : (
    <Link to="/tasks/$taskId" params={{ taskId: to.taskId }} search={{}}>
      Go to that task
    </Link>
  )
}
