// Why tasks failed: groups of the same class and message, the largest first.
import type { QueryOutput } from '@beaver/contracts'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ask } from '../data/api.ts'
import { Icon } from '../parts/icons.tsx'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { Block } from '../parts/text.tsx'
import { numberText } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import { When } from '../parts/when.tsx'
import { SystemPlaces } from './places.tsx'
import { type FailureFilter, failureFilters, type FailureSearch, failuresInput, tasksOf } from './search.ts'
import { againMs, Choice } from './usage.tsx'
import './figures.css'

type Answer = QueryOutput<'failures'>
type Group = Answer['groups'][number]

const periods = [
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['', 'All'],
] as const

export function Failures(): ReactNode {
  const search = useSearch({ from: '/system/failures' })
  const read = failuresInput(search, 0)
  const asked = useQuery({
    queryKey: ['failures', search],
    enabled: 'input' in read,
    queryFn: ({ signal }) => {
      const now = failuresInput(search, Date.now())
      return ask('failures', 'input' in now ? now.input : {}, signal)
    },
    placeholderData: keepPreviousData,
    refetchInterval: againMs,
    refetchOnMount: 'always',
  })
  return (
    <section className="page figures">
      <h1 className="hidden">Failures</h1>
      <SystemPlaces />
      <Choices search={search} />
      {'field' in read ? (
        <p className="problem" role="alert">
          The filter {read.field} takes {read.takes}.
        </p>
      ) : asked.error !== null ? (
        <Problem error={asked.error} again={() => void asked.refetch()} />
      ) : asked.data === undefined ? (
        <Loading />
      ) : asked.data.groups.length === 0 ? (
        <NoFailures search={search} answer={asked.data} />
      ) : (
        <Groups answer={asked.data} search={search} />
      )}
    </section>
  )
}

function Choices({ search }: { readonly search: FailureSearch }): ReactNode {
  const navigate = useNavigate({ from: '/system/failures' })
  const drop = (...names: readonly (FailureFilter | 'since' | 'until')[]): FailureSearch =>
    Object.fromEntries(
      Object.entries(search).filter(([name]) => !(names as readonly string[]).includes(name)),
    )
  const others = failureFilters.filter((name) => search[name] !== undefined)
  const isOwnPeriod =
    search.until !== undefined || periods.every(([period]) => period !== (search.since ?? ''))
  return (
    <div className="choices-row">
      <Choice
        label="Submitted within"
        choices={periods}
        chosen={isOwnPeriod ? null : (search.since ?? '')}
        choose={(since) =>
          void navigate({
            search: { ...drop('since', 'until'), ...(since === '' ? {} : { since }) },
          })
        }
      />
      {isOwnPeriod ? (
        <span className="chip">
          {search.since === undefined ? '' : `from ${visible(search.since)} `}
          {search.until === undefined ? '' : `until ${visible(search.until)}`}
        </span>
      ) : null}
      {others.map((name) => (
        <button
          key={name}
          type="button"
          className="chip"
          title="Remove this filter"
          onClick={() => void navigate({ search: drop(name) })}
        >
          {name}: {visible(search[name] ?? '')}
          <Icon name="close" />
        </button>
      ))}
    </div>
  )
}

function NoFailures({
  search,
  answer,
}: {
  readonly search: FailureSearch
  readonly answer: Answer
}): ReactNode {
  const title = answer.at_least
    ? `None of the newest ${numberText(answer.looked_at)} failed tasks is one of these.`
    : 'No task failed.'
  return Object.keys(search).length === 0 ? (
    <Empty title={title} />
  ) : (
    <Empty title={title}>
      <Link to="/system/failures" search={{}}>
        Look at all failures
      </Link>
    </Empty>
  )
}

function Groups({ answer, search }: { readonly answer: Answer; readonly search: FailureSearch }): ReactNode {
  const most = Math.max(1, ...answer.groups.map(({ tasks }) => tasks))
  return (
    <>
      <p className="quiet">
        {answer.tasks === 1 ? 'One task' : `${numberText(answer.tasks)} tasks`} failed in{' '}
        {answer.more ? 'more than ' : ''}
        {answer.groups.length === 1 ? 'one way' : `${answer.groups.length} ways`}.
        {answer.at_least
          ? ` There are older ones: Beaver looked at the newest ${numberText(answer.looked_at)}.`
          : ''}
      </p>
      <ol className="failure-groups">
        {answer.groups.map((group) => (
          <li key={`${group.failure_class} ${group.pattern}`} className="card">
            <OneGroup group={group} most={most} search={search} />
          </li>
        ))}
      </ol>
    </>
  )
}

function OneGroup({
  group,
  most,
  search,
}: {
  readonly group: Group
  readonly most: number
  readonly search: FailureSearch
}): ReactNode {
  return (
    <>
      <div className="group-head">
        <strong className="number">{numberText(group.tasks)}</strong>
        <svg className="group-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect width={(group.tasks / most) * 100} height="4" />
        </svg>
        <code className="why failed">{group.failure_class}</code>
        <Link to="/" search={tasksOf(group, search)}>
          {group.tasks === 1 ? 'Show the task' : 'Show these tasks'}
        </Link>
      </div>
      <p className="pattern">{visible(group.pattern)}</p>
      <p className="quiet small">
        {group.tasks === 1 ? null : (
          <>
            First <When time={group.first_at} />, last{' '}
          </>
        )}
        <When time={group.last_at} />
        {group.mostly.map(({ kind, name, tasks }) => (
          <span key={kind}>
            {' '}
            · {kind}{' '}
            <Link to="/system/failures" search={{ ...search, [kind]: name }}>
              {visible(name)}
            </Link>
            {tasks === group.tasks ? '' : ` in ${numberText(tasks)}`}
          </span>
        ))}
      </p>
      <details>
        <summary className="small">The newest message{group.tasks === 1 ? '' : ', and tasks'}</summary>
        <Block text={group.message} />
        <ul className="examples small">
          {group.task_ids.map((id) => (
            <li key={id}>
              <Link to="/tasks/$taskId" params={{ taskId: id }} search={{}}>
                {visible(id)}
              </Link>
            </li>
          ))}
        </ul>
      </details>
    </>
  )
}
