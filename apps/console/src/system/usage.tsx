// What calls of models used and cost: a plot by day, and a table by what the address names.
import type { QueryOutput, UsageAnswer } from '@beaver/contracts'
import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { ask } from '../data/api.ts'
import type { TaskSearch } from '../pages/task-search.ts'
import { Cost } from '../parts/cost.tsx'
import { Icon } from '../parts/icons.tsx'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { numberText, shortNumber } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import { daysOf } from './days.ts'
import { SystemPlaces } from './places.tsx'
import { Plot } from './plot.tsx'
import { measures, type UsageBy, usageGroups, usageInput, type UsageSearch } from './search.ts'
import './figures.css'

type Group = QueryOutput<'usage'>['groups'][number]

/** Figures of a system at work are asked for again, as long as somebody looks. */
export const againMs = 30_000

export function Usage(): ReactNode {
  const search = useSearch({ from: '/system/usage' })
  const by = search.by ?? 'day'
  const measure = search.show ?? 'tokens'
  const days = useUsage(search, 'day')
  const groups = useUsage(search, by)
  const refused = refusedBy(search)
  return (
    <section className="page figures">
      <h1 className="hidden">Usage</h1>
      <SystemPlaces />
      <Choices search={search} answer={days.data} />
      {refused === null ? null : (
        <p className="problem" role="alert">
          {refused}
        </p>
      )}
      {refused !== null ? null : days.error !== null || groups.error !== null ? (
        <Problem error={days.error ?? groups.error} again={() => void [days.refetch(), groups.refetch()]} />
      ) : days.data === undefined || groups.data === undefined ? (
        <Loading />
      ) : days.data.total.calls === 0 ? (
        <Empty title="No model was called in this period.">
          <Link to="/system/usage" search={{ since: '90d' }}>
            Look at the last 90 days
          </Link>
        </Empty>
      ) : (
        <>
          <Totals total={days.data.total} />
          <Plot days={daysOf(days.data, measure)} measure={measure} />
          <Table answer={groups.data} by={by} search={search} />
          {by === 'day' ? null : (
            <details>
              <summary className="quiet">The numbers of the days</summary>
              <Table answer={days.data} by="day" search={search} />
            </details>
          )}
        </>
      )}
    </section>
  )
}

/** Why the address cannot be read. `null`: it can. */
function refusedBy(search: UsageSearch): string | null {
  const read = usageInput(search, 'day', 0)
  return 'input' in read ? null : `The filter ${read.field} takes ${read.takes}.`
}

function useUsage(search: UsageSearch, by: UsageBy): UseQueryResult<UsageAnswer> {
  const { since, until, user } = search
  return useQuery({
    queryKey: ['usage', by, since, until, user],
    enabled: refusedBy(search) === null,
    queryFn: ({ signal }) => {
      const read = usageInput(search, by, Date.now())
      return ask('usage', 'input' in read ? read.input : {}, signal)
    },
    placeholderData: keepPreviousData,
    refetchInterval: againMs,
    refetchOnMount: 'always',
  })
}

const periods = [
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['90d', '90 days'],
] as const

function Choices({
  search,
  answer,
}: {
  readonly search: UsageSearch
  readonly answer: UsageAnswer | undefined
}): ReactNode {
  const navigate = useNavigate({ from: '/system/usage' })
  const set = (changed: UsageSearch): void =>
    void navigate({ search: (now: UsageSearch) => ({ ...now, ...changed }) })
  const { until: _until, ...openEnded } = search
  const { user: _user, ...ofAll } = search
  return (
    <div className="choices-row">
      <Choice
        label="Period"
        choices={periods}
        chosen={search.until === undefined ? (search.since ?? '30d') : null}
        choose={(since) => void navigate({ search: { ...openEnded, since } })}
      />
      <span className="from-to">
        <DayField name="From" value={search.since} shown={answer?.since} set={(since) => set({ since })} />
        <DayField name="To" value={search.until} shown={answer?.until} set={(until) => set({ until })} />
      </span>
      <Choice label="By" choices={usageGroups} chosen={search.by ?? 'day'} choose={(by) => set({ by })} />
      <Choice
        label="Plot"
        choices={measures}
        chosen={search.show ?? 'tokens'}
        choose={(show) => set({ show })}
      />
      {search.user === undefined ? null : (
        <button
          type="button"
          className="chip"
          title="Remove this filter"
          onClick={() => void navigate({ search: ofAll })}
        >
          user: {visible(search.user)}
          <Icon name="close" />
        </button>
      )}
    </div>
  )
}

interface ChoiceProps<Name extends string> {
  readonly label: string
  readonly choices: readonly (readonly [Name, string])[]
  readonly chosen: string | null
  readonly choose: (name: Name) => void
}

export const Choice = <Name extends string>({
  label,
  choices,
  chosen,
  choose,
}: ChoiceProps<Name>): ReactNode => (
  <span className="choice-group" role="group" aria-label={label}>
    <span className="quiet small" aria-hidden="true">
      {label}
    </span>
    {choices.map(([name, word]) => (
      <button
        key={name}
        type="button"
        className="choice"
        aria-pressed={chosen === name}
        onClick={() => choose(name)}
      >
        {word}
      </button>
    ))}
  </span>
)

/** A day of the period. It takes effect when it is a whole day. */
function DayField({
  name,
  value,
  shown,
  set,
}: {
  readonly name: string
  readonly value: string | undefined
  readonly shown: string | undefined
  readonly set: (day: string) => void
}): ReactNode {
  const [typed, setTyped] = useState<{ readonly of: string | undefined; readonly day: string } | null>(null)
  return (
    <label>
      <span className="quiet small">{name}</span>
      <input
        type="date"
        value={typed !== null && typed.of === value ? typed.day : (shown ?? '')}
        onChange={({ target }) => {
          setTyped({ of: value, day: target.value })
          if (/^[12]\d{3}-\d\d-\d\d$/.test(target.value)) set(target.value)
        }}
      />
    </label>
  )
}

const Figure = ({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode => (
  <div className="card">
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

function Totals({ total }: { readonly total: UsageAnswer['total'] }): ReactNode {
  const unknown = total.usage_by_model.filter((each) => each.calls > 0 && each.cost_usd === null)
  const names = [...new Set(unknown.map(({ model }) => visible(model ?? 'several models')))]
  return (
    <>
      <dl className="totals">
        <Figure name="Cost">
          <Cost of={total} />
        </Figure>
        <Figure name="Tokens in">{numberText(total.input_tokens)}</Figure>
        <Figure name="Cached">{numberText(total.cached_input_tokens ?? 0)}</Figure>
        <Figure name="Tokens out">{numberText(total.output_tokens)}</Figure>
        <Figure name="Calls">{numberText(total.calls)}</Figure>
      </dl>
      {names.length === 0 ? null : (
        <p className="quiet small">
          The cost is not known for {names.slice(0, 5).join(', ')}
          {names.length > 5 ? ` and ${names.length - 5} more` : ''}: no price of{' '}
          {names.length === 1 ? 'this model' : 'these models'} is set.
        </p>
      )}
      {total.unknown_calls === undefined ? null : (
        <p className="quiet small">
          {numberText(total.unknown_calls)} {total.unknown_calls === 1 ? 'call has' : 'calls have'} no token
          counts from the provider.
        </p>
      )}
    </>
  )
}

function Table({
  answer,
  by,
  search,
}: {
  readonly answer: UsageAnswer
  readonly by: UsageBy
  readonly search: UsageSearch
}): ReactNode {
  const [, title = ''] = usageGroups.find(([name]) => name === by) ?? []
  const most = Math.max(1, ...answer.groups.map(tokensOf))
  return (
    <>
      <div className="wide" role="region" aria-label={`The numbers by ${by}`} tabIndex={0}>
        <table className="usage-table">
          <thead>
            <tr>
              <th scope="col">{title}</th>
              <th scope="col" className="number">
                Cost
              </th>
              <th scope="col" className="number">
                Tokens
              </th>
              <th scope="col" className="number">
                In
              </th>
              <th scope="col" className="number">
                Cached
              </th>
              <th scope="col" className="number">
                Out
              </th>
              <th scope="col" className="number">
                Calls
              </th>
              {by === 'model' ? null : (
                <th scope="col" className="of-models">
                  Models
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {answer.groups.map((group) => (
              <tr key={group.key ?? ''}>
                <th scope="row" className={by === 'day' ? 'day' : ''}>
                  <Name group={group} by={by} search={search} />
                </th>
                <td className="number">
                  <Cost of={group} />
                </td>
                <td className="number">
                  <Share of={tokensOf(group)} most={most} />
                </td>
                <td className="number">{numberText(group.input_tokens)}</td>
                <td className="number">{numberText(group.cached_input_tokens ?? 0)}</td>
                <td className="number">{numberText(group.output_tokens)}</td>
                <td className="number">{numberText(group.calls)}</td>
                {by === 'model' ? null : <td className="models">{modelsOf(group)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {answer.more ? (
        <p className="quiet">There are more than these {answer.groups.length}. Choose a shorter period.</p>
      ) : null}
    </>
  )
}

const tokensOf = ({ input_tokens, output_tokens }: Group): number => input_tokens + output_tokens

const modelsOf = ({ usage_by_model: used }: Group): string =>
  [...new Set(used.map(({ model }) => visible(model ?? 'several')))].join(', ')

/** A number with a bar that compares it with the greatest one. */
export const Share = ({ of, most }: { readonly of: number; readonly most: number }): ReactNode => (
  <span className="share">
    <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect width={(of / most) * 100} height="4" />
    </svg>
    <span title={numberText(of)}>{shortNumber(of)}</span>
  </span>
)

/** The name of a group. It leads to the tasks that are meant, or to what this user used. */
function Name({
  group: { key },
  by,
  search,
}: {
  readonly group: Group
  readonly by: UsageBy
  readonly search: UsageSearch
}): ReactNode {
  if (key === null) return <span className="quiet">{nameless(by)}</span>
  if (by === 'user')
    return (
      <Link to="/system/usage" search={{ ...search, by: 'model', user: key }}>
        {visible(key)}
      </Link>
    )
  const tasks = tasksWith(key, by)
  if (tasks === null) return visible(key)
  return (
    <Link to="/" search={search.user === undefined ? tasks : { ...tasks, user: search.user }}>
      {visible(key)}
    </Link>
  )
}

const nameless = (by: UsageBy): string =>
  by === 'model' ? 'no name' : by === 'profile' ? 'default profile' : `no ${by}`

/** `null`: no filter of the tasks means this group. */
function tasksWith(key: string, by: Exclude<UsageBy, 'user'>): TaskSearch | null {
  if (by === 'model') return { model: key }
  if (by === 'workflow') return { workflow: key }
  if (by === 'profile') return { profile: key }
  if (by === 'skill') return key.includes(',') ? null : { skill: key }
  const next = new Date(Date.parse(key) + 86_400_000).toISOString()
  return { since: `${key}T00:00:00.000Z`, until: next }
}
