// One task: a list of its parts in one of four views, and the details of what is selected. The selection is
// in the address and is the same in every view.
import type { QueryOutput } from '@beaver/contracts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { type ReactNode, useCallback, useMemo } from 'react'
import { ApiProblem, ask } from '../data/api.ts'
import { Cost } from '../parts/cost.tsx'
import { Loading, Problem } from '../parts/problem.tsx'
import { Status } from '../parts/status.tsx'
import { Copy, Line } from '../parts/text.tsx'
import { shortNumber } from '../parts/time.ts'
import { Elapsed, When } from '../parts/when.tsx'
import { Actions } from './actions.tsx'
import { Details } from './details.tsx'
import { EventList } from './events.tsx'
import { RetryOf, useKeptUntil } from './kept.tsx'
import { type TaskPageSearch, type ViewName, views } from './selection.ts'
import { TeamGraph } from './team-graph.tsx'
import { Timeline } from './timeline.tsx'
import { isOpen, type Item, itemsOf } from './tree.ts'
import { Tree } from './tree-view.tsx'
import { runsWithoutBudget } from './waits.ts'
import { useLive } from './writes.tsx'
import { readGraph, type WholeGraph } from './whole-graph.ts'
import { useEntries } from './why-waits.tsx'
import './task.css'

export function Task(): ReactNode {
  const { taskId } = useParams({ from: '/tasks/$taskId' })
  const search = useSearch({ from: '/tasks/$taskId' })
  const navigate = useNavigate({ from: '/tasks/$taskId' })
  const read = useQuery({
    queryKey: ['task', taskId],
    queryFn: ({ signal }) => ask('task', { task_id: taskId, limit: nodesInFull }, signal),
    // A task that was submitted a moment ago may not be in the read model yet.
    retry: (failures, error) => error instanceof ApiProblem && error.status === 404 && failures < 4,
    retryDelay: 300,
  })
  const graph = useWholeGraph(taskId, read.data?.more === true)
  const isNotOver = read.data !== undefined && isOpen(read.data.task.status)
  const live = useLive(taskId, isNotOver ? read.data.task.last_taskseq : null)
  const entries = useEntries(taskId, isNotOver)
  const keptUntil = useKeptUntil({ task_id: taskId, retry_of: read.data?.task.retry_of ?? null })
  const items = useMemo(
    () =>
      read.data === undefined
        ? []
        : itemsOf(read.data, { graph, withoutBudget: runsWithoutBudget(entries), keptUntil }),
    [read.data, graph, entries, keptUntil],
  )
  const show = useCallback(
    (change: TaskPageSearch) =>
      void navigate({
        search: (now) => ({ ...now, figure: undefined, ...change }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  )
  const select = useCallback(
    (key: string | null) =>
      void navigate({
        search: ({ view }) => ({
          ...(view === undefined ? {} : { view }),
          ...(key === null ? {} : { at: key }),
        }),
        replace: true,
        // The page stays where it is, and so do its lists.
        resetScroll: false,
      }),
    [navigate],
  )
  if (read.error !== null)
    return (
      <section className="page">
        <Problem error={read.error} again={() => void read.refetch()} />
      </section>
    )
  if (read.data === undefined) return <Loading />
  const { task } = read.data
  const selected = items.find(({ key }) => key === search.at) ?? null
  const view = search.view ?? 'tree'
  return (
    <section className="page list task-page">
      <header className="task-head">
        <div className="page-head">
          <Status status={task.status} />
          <h1>
            <Line text={task.title ?? task.text ?? task.task_id} />
          </h1>
          <Actions answer={read.data} selected={selected} />
        </div>
        <Facts task={task} items={items} />
      </header>
      <div className="panes">
        <div className="parts-pane">
          <div className="tabs" role="tablist" aria-label="View">
            {views.map((each) => (
              <button
                key={each}
                type="button"
                role="tab"
                aria-selected={each === view}
                onClick={() => show({ view: each })}
              >
                {viewNames[each]}
              </button>
            ))}
          </div>
          <PartsView
            view={view}
            items={items}
            selected={selected}
            select={select}
            show={show}
            taskId={taskId}
            event={search.event ?? null}
          />
        </div>
        <Details
          answer={read.data}
          items={items}
          selected={selected}
          event={search.event ?? null}
          select={select}
          show={show}
          live={live}
        />
      </div>
    </section>
  )
}

/** The task in a line: how long, how much, who and when. */
function Facts({
  task,
  items,
}: {
  readonly task: QueryOutput<'task'>['task']
  readonly items: readonly Item[]
}): ReactNode {
  return (
    <p className="facts quiet">
      <span>
        <Elapsed from={task.submitted_at} ms={isOpen(task.status) ? null : task.elapsed_ms} />
      </span>
      <span>{shortNumber(task.input_tokens + task.output_tokens)} tokens</span>
      {task.calls === 0 ? null : (
        <span>
          <Cost of={task} />
        </span>
      )}
      <span>
        {task.agents} {task.agents === 1 ? 'agent' : 'agents'}
      </span>
      {task.model === null ? null : <span>{task.simulated === true ? 'simulated model' : task.model}</span>}
      {task.user_id === null ? null : <span>for {task.user_id}</span>}
      <span>
        submitted <When time={task.submitted_at} />
      </span>
      <RetryOf task={task} items={items} />
      <Link to="/sessions/$sessionId" params={{ sessionId: task.session_id }}>
        Session
      </Link>
      <Copy text={task.task_id} what="Copy the id" />
    </p>
  )
}

/** So many nodes are read in full with the task. The graph has all nodes of a larger task. */
const nodesInFull = 200

/** All nodes of a large task; after a change only those that changed are read. */
function useWholeGraph(taskId: string, isLarge: boolean): WholeGraph | null {
  const client = useQueryClient()
  const key = ['graph', taskId]
  const { data = null } = useQuery({
    queryKey: key,
    enabled: isLarge,
    queryFn: ({ signal }) =>
      readGraph(
        (input) => ask('graph', { task_id: taskId, ...input }, signal),
        client.getQueryData<WholeGraph>(key) ?? null,
      ),
  })
  return isLarge ? data : null
}

const viewNames: Readonly<Record<ViewName, string>> = {
  tree: 'Tree',
  graph: 'Graph',
  timeline: 'Timeline',
  events: 'Events',
}

interface PartsProps {
  readonly view: ViewName
  readonly taskId: string
  readonly items: readonly Item[]
  readonly selected: Item | null
  readonly event: number | null
  readonly select: (key: string | null) => void
  readonly show: (change: TaskPageSearch) => void
}

function PartsView({ view, taskId, items, selected, event, select, show }: PartsProps): ReactNode {
  switch (view) {
    case 'tree':
      return <Tree items={items} selected={selected?.key ?? null} select={select} />
    case 'graph':
      return <TeamGraph items={items} selected={selected} select={select} />
    case 'timeline':
      return (
        <Timeline
          taskId={taskId}
          items={items}
          selected={selected?.key ?? null}
          select={select}
          show={show}
        />
      )
    case 'events':
      return <EventList taskId={taskId} nodeId={selected?.nodeId ?? null} event={event} show={show} />
    default:
      return view satisfies never
  }
}
