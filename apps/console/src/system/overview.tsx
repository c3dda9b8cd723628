// What somebody looks at first on the System page: what is wrong, the figures of now, and the tasks by their state.
import type { SystemState } from '@beaver/contracts'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { lookOf, Status } from '../parts/status.tsx'
import { durationText, numberText } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import { useNow, When } from '../parts/when.tsx'
import { counted, ratesOf, rateText, rowsOfTasks, type Sample, slotsOf, troublesOf, waits } from './look.ts'

export function Troubles({ state }: { readonly state: SystemState }): ReactNode {
  const troubles = troublesOf(state, useNow())
  return (
    <section aria-labelledby="troubles" className="troubles">
      <div role="status">
        <h2 id="troubles">
          {troubles.length === 0 ? 'Everything answers.' : `${counted(troubles.length, 'thing')} to look at`}
        </h2>
      </div>
      {troubles.length === 0 ? null : (
        <ul>
          {troubles.map(({ level, what, todo, at }) => (
            <li key={what} className={level === 'fail' ? 'card failed' : 'card waits'}>
              <Status status={level === 'fail' ? 'broken' : 'attention'} />
              <div>
                <p>{visible(what)}</p>
                <p className="quiet">{visible(todo)}</p>
                {at === undefined ? null : <Link to={at}>Open the inbox</Link>}
              </div>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

export function Figures({
  state,
  samples,
}: {
  readonly state: SystemState
  readonly samples: readonly Sample[]
}): ReactNode {
  const { used, all } = slotsOf(state.daemons.list)
  const queue = state.tasks.by_status['submitted'] ?? 0
  const rates = ratesOf(samples)
  const { behind, problem } = state.projector
  const isAway = problem !== null
  const lag = behind === null ? 'not known' : `${counted(behind, 'message')} behind`
  return (
    <dl className="figures">
      <Figure
        name="Slots taken"
        value={all === 0 ? 'none are there' : `${numberText(used)} of ${numberText(all)}`}
      />
      <Figure
        name="Queue"
        value={state.tasks.problem === null ? counted(queue, 'task') : 'not known'}
        more={
          queue > 0 && state.tasks.oldest_submitted_at !== null ? (
            <>
              the oldest came <When time={state.tasks.oldest_submitted_at} />
            </>
          ) : undefined
        }
      />
      <Figure
        name="Tasks that end"
        value={isAway ? 'not known' : rates === null ? '–' : `${rateText(rates.tasksAMinute)} a minute`}
        more={isAway ? undefined : rates === null ? 'counting' : `in the last ${durationText(rates.overMs)}`}
      />
      <Figure
        name="Events"
        value={isAway ? 'not known' : rates === null ? '–' : `${rateText(rates.eventsASecond)} a second`}
        more={state.projector.events === null ? undefined : `${numberText(state.projector.events)} in all`}
      />
      <Figure
        name="Projector"
        value={isAway ? 'does not answer' : (behind ?? 0) <= 1 ? 'up to date' : lag}
        more={isAway ? lag : undefined}
      />
    </dl>
  )
}

const Figure = ({
  name,
  value,
  more,
}: {
  readonly name: string
  readonly value: string
  readonly more?: ReactNode
}): ReactNode => (
  <div className="card">
    <dt>{name}</dt>
    <dd>
      <strong>{value}</strong>
      {more === undefined ? null : <span className="quiet small">{more}</span>}
    </dd>
  </div>
)

export function Tasks({ tasks }: { readonly tasks: SystemState['tasks'] }): ReactNode {
  return (
    <section className="card" aria-labelledby="tasks">
      <h2 id="tasks">Tasks</h2>
      {tasks.problem === null ? (
        <dl>
          {rowsOfTasks(tasks.by_status).map(({ status, n, of }) => (
            <div key={status} className="pair">
              <dt className={of === undefined ? undefined : 'inner'}>
                {status === waits ? (
                  'waits'
                ) : (
                  <Link to="/" search={{ status }}>
                    {lookOf(status)[0]}
                  </Link>
                )}
              </dt>
              <dd className="number">{numberText(n)}</dd>
            </div>
          ))}
          <dt>in all</dt>
          <dd className="number">{numberText(tasks.total ?? 0)}</dd>
        </dl>
      ) : (
        <p className="quiet">{tasks.problem}</p>
      )}
    </section>
  )
}
