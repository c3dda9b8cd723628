// The list of tasks, newest first. What it shows is in the address.
import type { QueryInput, QueryOutput } from '@beaver/contracts'
import { taskStatus } from '@beaver/core'
import {
  type InfiniteData,
  keepPreviousData,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useCallback, useEffect, useMemo, useState } from 'react'
import { ask } from '../data/api.ts'
import { type ChangedTask, useChanges } from '../data/live.ts'
import { tasksCommand } from '../parts/command.ts'
import { CopyCommand } from '../parts/copy-command.tsx'
import { Cost } from '../parts/cost.tsx'
import { Icon } from '../parts/icons.tsx'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { Rows } from '../parts/rows.tsx'
import { Status } from '../parts/status.tsx'
import { Line } from '../parts/text.tsx'
import { numberText, shortNumber } from '../parts/time.ts'
import { Elapsed, When } from '../parts/when.tsx'
import { BulkButtons } from './bulk.tsx'
import { type FilterField, filterFields, filterOf, statusChoices, type TaskSearch } from './task-search.ts'
import './tasks.css'

type Summary = QueryOutput<'tasks'>['tasks'][number]
const pageSize = 100

export function Tasks(): ReactNode {
  const search = useSearch({ from: '/' })
  const navigate = useNavigate({ from: '/' })
  const [opened] = useState(Date.now)
  const read = useMemo(() => filterOf(search, opened), [search, opened])
  const list = useInfiniteQuery({
    queryKey: ['tasks', search],
    enabled: 'filter' in read,
    initialPageParam: undefined as number | undefined,
    queryFn: ({ pageParam, signal }) =>
      ask(
        'tasks',
        {
          ...('filter' in read ? read.filter : {}),
          limit: pageSize,
          ...(pageParam === undefined ? {} : { before: pageParam }),
        },
        signal,
      ),
    getNextPageParam: ({ more, next }) => (more ? (next ?? undefined) : undefined),
    placeholderData: keepPreviousData,
  })
  const rows = useMemo(() => list.data?.pages.flatMap(({ tasks }) => tasks) ?? [], [list.data])
  const { hasNextPage, isFetching, fetchNextPage } = list
  const loadMore = useCallback(() => {
    if (!isFetching) void fetchNextPage()
  }, [isFetching, fetchNextPage])
  const fresh = useLiveRows(search, 'filter' in read ? read.filter : null, rows)
  const open = (task: Summary): void =>
    void navigate({ to: '/tasks/$taskId', params: { taskId: task.task_id }, search: {} })

  return (
    <section className="page list">
      <h1 className="hidden">Tasks</h1>
      <Filters
        search={search}
        filter={'filter' in read ? read.filter : null}
        refused={'filter' in read ? null : read}
      />
      <p className="fresh" role="status">
        {fresh.count === 0 ? null : (
          <button type="button" className="link" onClick={fresh.show}>
            {fresh.count === 1 ? 'One new task' : `${numberText(fresh.count)} new tasks`}. Show
          </button>
        )}
      </p>
      {'field' in read ? null : list.error !== null ? (
        <Problem error={list.error} again={() => void list.refetch()} />
      ) : list.data === undefined ? (
        <Loading />
      ) : rows.length === 0 && hasNextPage ? (
        <Searching fetchMore={loadMore} />
      ) : rows.length === 0 ? (
        <NoTasks search={search} />
      ) : (
        <Rows
          label="Tasks, newest first"
          kind="task-row"
          rows={rows}
          keyOf={keyOf}
          open={open}
          more={hasNextPage}
          loadMore={loadMore}
          columns={columns}
          cells={(task) => <Cells task={task} />}
        />
      )}
    </section>
  )
}

const keyOf = ({ task_id }: Summary): string => task_id

interface Counted {
  readonly search: TaskSearch
  /** The new tasks that fit it, which the list does not show yet. */
  readonly ids: ReadonlySet<string>
}
const nothingCounted: ReadonlySet<string> = new Set()

/**
 * Keeps the rows as they are now, without moving any: a row that changed is replaced in its place, also if it no
 * longer fits the filter, and new tasks are only counted until somebody wants to see them.
 */
function useLiveRows(
  search: TaskSearch,
  filter: QueryInput<'task_count'> | null,
  rows: readonly Summary[],
): { readonly count: number; readonly show: () => void } {
  const client = useQueryClient()
  const [counted, setCounted] = useState<Counted>(() => ({ search, ids: new Set() }))
  // What was counted for another filter says nothing about this one.
  const fresh = counted.search === search ? counted.ids : nothingCounted
  const newest = rows[0]?.submitted_at ?? null
  const known = useMemo(() => new Set(rows.map(keyOf)), [rows])
  const onChanges = useCallback(
    (changed: readonly ChangedTask[]): void => {
      if (filter === null) return
      const ids = changed.map(({ task_id }) => task_id)
      const replace = async (task_ids: string[]): Promise<void> => {
        const { tasks } = await ask('tasks', { task_ids, limit: idsMax })
        const now = new Map(tasks.map((each) => [each.task_id, each]))
        client.setQueryData<InfiniteData<QueryOutput<'tasks'>>>(['tasks', search], (data) =>
          data === undefined
            ? data
            : {
                ...data,
                pages: data.pages.map((page) => ({
                  ...page,
                  tasks: page.tasks.map((each) => now.get(each.task_id) ?? each),
                })),
              },
        )
      }
      const count = async (task_ids: string[]): Promise<void> => {
        const { tasks } = await ask('tasks', { ...filter, task_ids, limit: idsMax })
        const newer = tasks.filter(({ submitted_at }) => newest === null || (submitted_at ?? '') > newest)
        if (newer.length > 0)
          setCounted((before) => ({
            search,
            ids: new Set([...(before.search === search ? before.ids : []), ...newer.map(keyOf)]),
          }))
      }
      // What fails here is seen by the next change, or by the whole list after the connection is back.
      for (const some of inPieces(ids.filter((id) => known.has(id)))) replace(some).catch(() => {})
      for (const some of inPieces(ids.filter((id) => !known.has(id)))) count(some).catch(() => {})
    },
    [client, search, filter, known, newest],
  )
  useChanges(onChanges)
  return {
    count: [...fresh].filter((id) => !known.has(id)).length,
    show() {
      setCounted({ search, ids: nothingCounted })
      void client.resetQueries({ queryKey: ['tasks', search] })
    },
  }
}

/** So many ids fit into one question. */
const idsMax = 200
const inPieces = (ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / idsMax) }, (_, at) => ids.slice(at * idsMax, (at + 1) * idsMax))

const columns = [
  ['State'],
  ['Task'],
  ['Model'],
  ['Agents', 'number'],
  ['Tokens', 'number'],
  ['Cost', 'number'],
  ['Took', 'number'],
  ['Submitted', 'number'],
] as const

function Cells({ task }: { readonly task: Summary }): ReactNode {
  return (
    <>
      <span role="gridcell">
        <Status status={taskStatus(task)} />
      </span>
      <span role="gridcell" className="what">
        <Link to="/tasks/$taskId" params={{ taskId: task.task_id }} tabIndex={-1}>
          <Line text={task.title ?? task.text ?? task.task_id} />
        </Link>
        <Why task={task} />
      </span>
      <span role="gridcell" className="quiet model">
        <Line text={task.model ?? '–'} />
      </span>
      <span role="gridcell" className="number">
        {numberText(task.agents)}
      </span>
      <span role="gridcell" className="number">
        {shortNumber(task.input_tokens + task.output_tokens)}
      </span>
      <span role="gridcell" className="number">
        <Cost of={task} />
      </span>
      <span role="gridcell" className="number">
        <Elapsed from={task.submitted_at} ms={task.ended_at === null ? null : task.elapsed_ms} />
      </span>
      <span role="gridcell" className="number quiet">
        <When time={task.submitted_at} />
      </span>
    </>
  )
}

/** The second line of a row: why the task failed or waits; otherwise who asked for it. */
function Why({ task }: { readonly task: Summary }): ReactNode {
  if (task.waits_for !== null)
    return (
      <span className="why person">
        <Line text={`${task.waits_for.tool} waits for a decision: ${task.waits_for.subject}`} />
      </span>
    )
  if (task.wait !== null)
    return (
      <span className="why waits">
        <Line text={task.wait.reason} />
      </span>
    )
  if (task.failure !== null)
    return (
      <span className="why failed">
        <Line text={task.failure.message} />
      </span>
    )
  const words = [task.user_id, task.skill, task.title === null ? null : task.text].filter(
    (each) => each !== null,
  )
  return (
    <span className="why quiet">
      <Line text={words.join(' · ')} />
    </span>
  )
}

/** An answer looks at a part of the tasks only. The page asks on until one fits, or there are no more. */
function Searching({ fetchMore }: { readonly fetchMore: () => void }): ReactNode {
  useEffect(fetchMore, [fetchMore])
  return (
    <p className="loading" role="status">
      No task of the newest ones fits. Beaver looks through older ones …
    </p>
  )
}

function NoTasks({ search }: { readonly search: TaskSearch }): ReactNode {
  if (Object.keys(search).length > 0)
    return (
      <Empty title="No task fits these filters.">
        {search.status === 'failed' ? (
          <p>
            A task of which only a part failed is incomplete.{' '}
            <Link to="/" search={{ ...search, status: 'incomplete' }}>
              Show the incomplete tasks
            </Link>
          </p>
        ) : null}
        <Link to="/" search={{}}>
          Show all tasks
        </Link>
      </Empty>
    )
  return (
    <Empty title="There is no task yet.">
      Submit one in a terminal: <code>beaver run "Say hello"</code>
    </Empty>
  )
}

interface FiltersProps {
  readonly search: TaskSearch
  readonly refused: { readonly field: FilterField; readonly takes: string } | null
  /** `null`: it cannot be read. */
  readonly filter: QueryInput<'task_count'> | null
}

/** The fields of the filter, with what a person may write into each. */
const fields: readonly (readonly [FilterField, string, string])[] = [
  ['workflow', 'Workflow', 'its name'],
  ['skill', 'Skill', 'its name'],
  ['profile', 'Profile', 'its name'],
  ['model', 'Model', 'its name'],
  ['user', 'User', 'the id of the user'],
  ['session', 'Session', 'the id of the session'],
  ['since', 'Submitted since', '2h, 7d, 2026-11-29'],
  ['until', 'Submitted before', '2h, 7d, 2026-11-29'],
  ['failure', 'Class of failure', 'such as provider_error'],
  ['pattern', 'Pattern of the failure', 'as the page Failures has it'],
  ['cost', 'Costs at least', 'US dollars, 0.50'],
  ['tokens', 'Uses at least', 'tokens'],
]

/** A filter as its field is called: "Costs at least: $0.05". */
const chipText = (field: FilterField, value: string): string => {
  const [, name = field] = fields.find(([each]) => each === field) ?? []
  return `${name}: ${field === 'cost' ? '$' : ''}${value}${field === 'tokens' ? (value === '1' ? ' token' : ' tokens') : ''}`
}

/** How many tasks fit the filter. */
function Count({
  search,
  filter,
}: {
  readonly search: TaskSearch
  readonly filter: QueryInput<'task_count'>
}): ReactNode {
  const { data } = useQuery({
    queryKey: ['task_count', search],
    queryFn: ({ signal }) => ask('task_count', filter, signal),
    placeholderData: keepPreviousData,
  })
  if (data === undefined) return null
  return (
    <span className="quiet">
      {data.at_least ? '≥ ' : ''}
      {numberText(data.tasks)} {data.tasks === 1 ? 'task' : 'tasks'}
    </span>
  )
}

/** In a narrow window the states do not fit beside each other. The chosen one is in view. */
const intoView = (choice: HTMLElement | null): void =>
  choice?.scrollIntoView({ block: 'nearest', inline: 'nearest' })

function Filters({ search, refused, filter }: FiltersProps): ReactNode {
  const navigate = useNavigate({ from: '/' })
  const [isOpen, setOpen] = useState(false)
  const [opened] = useState(Date.now)
  const set = (field: FilterField, value: string): void =>
    void navigate({
      search: (now: TaskSearch) => {
        const { [field]: _, ...rest } = now
        return value.trim() === '' ? rest : { ...rest, [field]: value.trim() }
      },
    })
  const chosen = filterFields.filter(
    (field) => field !== 'status' && field !== 'text' && search[field] !== undefined,
  )
  return (
    <div className="filters">
      <div className="states" role="group" aria-label="State">
        {statusChoices.map(([value, word]) => (
          <button
            key={value}
            ref={(search.status ?? '') === value ? intoView : null}
            type="button"
            className="choice"
            aria-pressed={(search.status ?? '') === value}
            onClick={() => set('status', value)}
          >
            {word}
          </button>
        ))}
      </div>
      <Field
        key={search.text ?? ''}
        name="Search"
        hideName
        takes="Search in requests, titles and failures"
        value={search.text ?? ''}
        set={(value) => set('text', value)}
      />
      <span className="chips">
        {chosen.map((field) => (
          <button
            key={field}
            type="button"
            className="chip"
            title="Remove this filter"
            onClick={() => set(field, '')}
          >
            {chipText(field, search[field] ?? '')}
            <Icon name="close" />
          </button>
        ))}
      </span>
      {filter === null ? null : <Count search={search} filter={filter} />}
      <CopyCommand command={tasksCommand(search, opened)} />
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Filters
      </button>
      {filter === null ? null : <BulkButtons search={search} filter={filter} />}
      {isOpen ? (
        <div className="filter-fields">
          {fields.map(([field, name, takes]) => (
            <Field
              key={`${field} ${search[field] ?? ''}`}
              name={name}
              takes={takes}
              value={search[field] ?? ''}
              set={(value) => set(field, value)}
            />
          ))}
        </div>
      ) : null}
      {refused === null ? null : (
        <p className="problem" role="alert">
          The filter {refused.field} takes {refused.takes}.
        </p>
      )}
    </div>
  )
}

interface FieldProps {
  readonly name: string
  /** The name is for readers of screens alone. */
  readonly hideName?: true
  readonly takes: string
  readonly value: string
  readonly set: (value: string) => void
}

/** One field of the filter. It takes effect on Enter, and when the focus leaves it. */
function Field({ name, hideName, takes, value, set }: FieldProps): ReactNode {
  const [text, setText] = useState(value)
  const done = (event?: FormEvent): void => {
    event?.preventDefault()
    if (text.trim() !== value) set(text)
  }
  return (
    <form onSubmit={done}>
      <label>
        <span className={hideName === true ? 'hidden' : ''}>{name}</span>
        <input
          type={hideName === true ? 'search' : 'text'}
          value={text}
          placeholder={takes}
          onChange={({ target }) => setText(target.value)}
          onBlur={() => done()}
        />
      </label>
    </form>
  )
}
