// The system as it is now: what is wrong first, then the daemons, the endpoints of models, the projector, the
// tasks, the budgets and the streams. It is asked every few seconds while somebody looks. Numbers of the whole
// system are for logins that reach the tasks of all users.
import type { SystemState } from '@beaver/contracts'
import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { ApiProblem, request } from '../data/api.ts'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { lookOf, Status } from '../parts/status.tsx'
import { Line } from '../parts/text.tsx'
import { durationText, moneyText, numberText } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import { useNow, When } from '../parts/when.tsx'
import {
  bytesText,
  counted,
  endpointsOf,
  ratesOf,
  rateText,
  type Sample,
  type SharedEndpoint,
  slotsOf,
  troublesOf,
  withSample,
} from './look.ts'
import { SystemPlaces } from './places.tsx'
import './system.css'

/** The newest state, and what the figures of the last minute were. */
interface Seen {
  readonly state: SystemState
  readonly samples: readonly Sample[]
}

/** How often the system is asked, in milliseconds. A hidden tab does not ask. */
const everyMs = 3_000

const systemQuery = (client: QueryClient) =>
  queryOptions({
    queryKey: ['system'],
    queryFn: async ({ signal }): Promise<Seen> => {
      const state = await request<SystemState>('/api/v1/system', { signal })
      const before = client.getQueryData<Seen>(['system'])?.samples ?? []
      return { state, samples: withSample(before, state) }
    },
    refetchInterval: everyMs,
    // What was seen before somebody came back is old.
    refetchOnMount: 'always',
  })

export function SystemNow(): ReactNode {
  const read = useQuery(systemQuery(useQueryClient()))
  useEffect(() => {
    document.title = 'System · Beaver'
    return () => void (document.title = 'Beaver')
  }, [])
  return (
    <section className="page system">
      <header className="page-head">
        <h1>System</h1>
        <SystemPlaces />
      </header>
      <Content read={read} />
    </section>
  )
}

function Content({ read }: { readonly read: ReturnType<typeof useQuery<Seen>> }): ReactNode {
  const { data, error } = read
  if (error instanceof ApiProblem && error.code === 'not_allowed')
    return (
      <Empty title="Your login sees the tasks of one user.">
        This page has the numbers of all users. Ask somebody who may see them, or sign in with a token without
        a user.
      </Empty>
    )
  if (data === undefined)
    return error === null ? <Loading /> : <Problem error={error} again={() => void read.refetch()} />
  return (
    <>
      {error === null ? null : <Problem error={error} again={() => void read.refetch()} />}
      <Now seen={data} />
    </>
  )
}

function Now({ seen: { state, samples } }: { readonly seen: Seen }): ReactNode {
  return (
    <>
      <Troubles state={state} />
      <Figures state={state} samples={samples} />
      <Daemons daemons={state.daemons} />
      <Endpoints state={state} />
      <div className="cards">
        <Tasks tasks={state.tasks} />
        <Projector projector={state.projector} />
        <Places state={state} />
      </div>
      <Streams state={state} />
      <Budgets budgets={state.budgets} />
    </>
  )
}

function Troubles({ state }: { readonly state: SystemState }): ReactNode {
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

function Figures({ state, samples }: Seen): ReactNode {
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

function Daemons({ daemons }: { readonly daemons: SystemState['daemons'] }): ReactNode {
  return (
    <section aria-labelledby="daemons">
      <h2 id="daemons">Daemons</h2>
      {daemons.list.length === 0 ? <p className="quiet">{daemons.problem ?? 'None is there.'}</p> : null}
      <ul className="cards">
        {daemons.list.map((each) => (
          <DaemonCard key={each.daemon} daemon={each} />
        ))}
      </ul>
      {daemons.left_out === 0 ? null : (
        <p className="quiet">{counted(daemons.left_out, 'daemon')} more: beaver status</p>
      )}
    </section>
  )
}

function DaemonCard({ daemon }: { readonly daemon: SystemState['daemons']['list'][number] }): ReactNode {
  const { tasks, tasks_max: max, threads, threads_max: threadsMax, version } = daemon
  const loops = threads.reduce((sum, each) => sum + each.loops, 0)
  const isThere = daemon.state === 'answers'
  return (
    <li className="card">
      <h3>
        <Line text={daemon.daemon} />
      </h3>
      <Status status={daemon.state} />
      <dl>
        {isThere ? (
          <>
            <dt>Slots</dt>
            <dd>
              {tasks === null
                ? 'not known'
                : `${numberText(tasks)}${max === null ? '' : ` of ${numberText(max)}`} taken`}
              {tasks === null || max === null ? null : (
                <meter
                  min={0}
                  max={max}
                  value={tasks}
                  aria-label={`Slots taken of ${visible(daemon.daemon)}`}
                />
              )}
            </dd>
            <dt>Threads</dt>
            <dd>
              {threads.length === 0
                ? 'not known'
                : `${numberText(threads.length)}${threadsMax === null || threadsMax === threads.length ? '' : ` of ${numberText(threadsMax)}`}, with ${counted(loops, 'agent')}`}
            </dd>
          </>
        ) : (
          <>
            <dt>Seen</dt>
            <dd>
              <When time={daemon.seen_at} />
            </dd>
          </>
        )}
        <dt>Since</dt>
        <dd>{daemon.started_at === null ? 'not known' : <When time={daemon.started_at} />}</dd>
        <dt>Version</dt>
        <dd>{version === null ? 'not known' : visible(version)}</dd>
      </dl>
    </li>
  )
}

function Endpoints({ state }: { readonly state: SystemState }): ReactNode {
  const endpoints = endpointsOf(state)
  if (endpoints.length === 0) return null
  return (
    <section aria-labelledby="endpoints">
      <h2 id="endpoints">Endpoints of models</h2>
      <ul className="cards">
        {endpoints.map((each) => (
          <EndpointCard key={`${each.provider} ${each.model} ${each.host ?? ''}`} of={each} />
        ))}
      </ul>
    </section>
  )
}

function EndpointCard({ of }: { readonly of: SharedEndpoint }): ReactNode {
  const { names, model, provider, host, open, waitMs, requestsMax, tokensMax, daemons } = of
  const limits = [
    ...(requestsMax === null ? [] : [counted(requestsMax, 'request')]),
    ...(tokensMax === null ? [] : [counted(tokensMax, 'token')]),
  ]
  return (
    <li className="card">
      <h3>
        <Line text={model} />
      </h3>
      <Status status={open.length === 0 ? 'asked' : 'circuit_open'} />
      <dl>
        <dt>For</dt>
        <dd>{visible(names.join(', '))}</dd>
        <dt>Where</dt>
        <dd>{host === null ? 'in this system' : visible(host)}</dd>
        <dt>Provider</dt>
        <dd>{visible(provider)}</dd>
        <dt>Limits</dt>
        <dd>{limits.length === 0 ? 'none' : `${limits.join(' and ')} a minute`}</dd>
        <dt>Wait</dt>
        <dd>{waitMs === 0 ? 'none' : `${durationText(waitMs)} for the next call`}</dd>
        {open.map(({ daemon, ms }) => (
          <div key={daemon} className="pair">
            <dt>Not asked</dt>
            <dd>
              for {durationText(ms)} more
              {daemons === 1 ? null : <Line text={`by ${daemon}`} />}
            </dd>
          </div>
        ))}
      </dl>
    </li>
  )
}

function Tasks({ tasks }: { readonly tasks: SystemState['tasks'] }): ReactNode {
  return (
    <section className="card" aria-labelledby="tasks">
      <h2 id="tasks">Tasks</h2>
      {tasks.problem === null ? (
        <dl>
          {Object.entries(tasks.by_status).map(([status, n]) => (
            <div key={status} className="pair">
              <dt>
                <Link to="/" search={{ status }}>
                  {lookOf(status)[0]}
                </Link>
              </dt>
              <dd className="number">{numberText(n)}</dd>
            </div>
          ))}
          <dt>in all</dt>
          <dd className="number">{numberText(tasks.total ?? 0)}</dd>
          <dt>only wait</dt>
          <dd className="number">{numberText(tasks.waiting ?? 0)}</dd>
        </dl>
      ) : (
        <p className="quiet">{tasks.problem}</p>
      )}
    </section>
  )
}

const known = (value: number | null): string => (value === null ? 'not known' : numberText(value))

function Projector({ projector }: { readonly projector: SystemState['projector'] }): ReactNode {
  const { problem, fault } = projector
  return (
    <section className="card" aria-labelledby="projector">
      <h2 id="projector">Projector</h2>
      <Status status={problem !== null ? 'silent' : fault !== null ? 'stands_still' : 'answers'} />
      <dl>
        <dt>Behind</dt>
        <dd>{projector.behind === null ? 'not known' : counted(projector.behind, 'message')}</dd>
        <dt>Moved</dt>
        <dd>
          <When time={projector.moved_at} />
        </dd>
        {problem === null ? null : (
          <>
            <dt>Seen</dt>
            <dd>
              <When time={projector.seen_at} />
            </dd>
          </>
        )}
        <dt>Events</dt>
        <dd>{known(projector.events)}</dd>
        <dt>Quarantine</dt>
        <dd>{known(projector.quarantined)}</dd>
        <dt>Findings</dt>
        <dd>{known(projector.findings)}</dd>
        <dt>Not indexed</dt>
        <dd>{known(projector.texts_behind)}</dd>
      </dl>
    </section>
  )
}

/** The gateway, and the server behind it. */
function Places({ state: { gateway, nats, journal } }: { readonly state: SystemState }): ReactNode {
  return (
    <section className="card" aria-labelledby="gateway">
      <h2 id="gateway">Gateway and NATS</h2>
      <Status status={nats.connected ? 'answers' : 'silent'} />
      <dl>
        <dt>Gateway</dt>
        <dd>
          {gateway === undefined ? (
            'not known'
          ) : (
            <>
              version {visible(gateway.version)}, since <When time={gateway.started_at} />
            </>
          )}
        </dd>
        <dt>Server</dt>
        <dd>{visible(nats.server)}</dd>
        <dt>Version</dt>
        <dd>nats-server {visible(nats.version)}</dd>
        <dt>Journal</dt>
        <dd>
          {journal.last_sequence === null
            ? 'not known'
            : `up to message ${numberText(journal.last_sequence)}`}
        </dd>
      </dl>
    </section>
  )
}

const holds: Readonly<Record<SystemState['streams']['list'][number]['what'], string>> = {
  journal: 'the journal',
  wakes: 'what wakes tasks',
  blobs: 'large payloads',
  memory: 'the memory of agents',
  budgets: 'the accounts of budgets',
  channels: 'the messages of chats',
}

function Streams({ state: { streams } }: { readonly state: SystemState }): ReactNode {
  return (
    <section aria-labelledby="streams">
      <h2 id="streams">Streams</h2>
      {streams.problem === null ? null : (
        <p className="quiet">They are not known: {visible(streams.problem)}</p>
      )}
      <ul className="cards">
        {streams.list.map((each) => (
          <StreamCard key={each.name} stream={each} />
        ))}
      </ul>
    </section>
  )
}

function StreamCard({ stream }: { readonly stream: SystemState['streams']['list'][number] }): ReactNode {
  const { state, cluster, leader, followers, replicas, moving } = stream
  return (
    <li className="card">
      <h3>
        <Line text={stream.name} />
      </h3>
      <Status status={state === 'answers' && cluster !== null && leader === null ? 'silent' : state} />
      <dl>
        <dt>Holds</dt>
        <dd>{holds[stream.what]}</dd>
        {state === 'answers' ? (
          <>
            <dt>Size</dt>
            <dd>
              {counted(stream.messages, 'message')}, {bytesText(stream.bytes)}
            </dd>
            <dt>Replicas</dt>
            <dd>
              {numberText(replicas)}
              {cluster === null ? ', on a server that is alone' : ''}
              {moving ? ', the servers still move it' : ''}
            </dd>
          </>
        ) : null}
        {leader === null ? null : (
          <>
            <dt>Leader</dt>
            <dd>{visible(leader)}</dd>
          </>
        )}
        {followers.map(({ server, current, offline, lag }) => (
          <div key={server} className="pair">
            <dt>Follower</dt>
            <dd>
              {visible(server)},{' '}
              {offline
                ? 'away'
                : current
                  ? 'current'
                  : lag > 0
                    ? `${counted(lag, 'message')} behind`
                    : 'not current'}
            </dd>
          </div>
        ))}
      </dl>
    </li>
  )
}

const measures = [
  ['usd', 'cost'],
  ['tokens', 'tokens'],
  ['model_calls', 'calls of models'],
  ['tool_calls', 'calls of tools'],
] as const

function Budgets({ budgets }: { readonly budgets: SystemState['budgets'] }): ReactNode {
  if (budgets.problem === null && budgets.list.length === 0) return null
  const more = (budgets.total ?? 0) - budgets.list.length
  return (
    <section aria-labelledby="budgets">
      <h2 id="budgets">Budgets that tasks share</h2>
      {budgets.problem === null ? null : (
        <p className="quiet">They are not known: {visible(budgets.problem)}</p>
      )}
      <ul className="cards">
        {budgets.list.map((each) => (
          <BudgetCard key={`${each.of} ${each.name ?? ''} ${each.per}`} budget={each} />
        ))}
      </ul>
      {more > 0 ? <p className="quiet">{counted(more, 'budget')} more: beaver budget</p> : null}
    </section>
  )
}

function BudgetCard({ budget }: { readonly budget: SystemState['budgets']['list'][number] }): ReactNode {
  const { of, name, per, limits, used, reserved } = budget
  return (
    <li className="card">
      <h3>
        <Line
          text={`${of}${name === undefined ? '' : ` ${name}`}, ${per === 'run' ? 'its whole life' : `each ${per}`}`}
        />
      </h3>
      <Status status={budget.waiting_tasks > 0 ? 'used_up' : 'has_place'} />
      <dl>
        {measures.map(([measure, words]) => {
          const limit = limits[measure]
          if (limit === undefined) return null
          const amount = (value: number): string => (measure === 'usd' ? moneyText(value) : numberText(value))
          const taken = used[measure] + reserved[measure]
          return (
            <div key={measure} className="pair">
              <dt>{words}</dt>
              <dd>
                {amount(taken)} of {amount(limit)}
                <meter min={0} max={limit} value={Math.min(taken, limit)} aria-label={`Used ${words}`} />
              </dd>
            </div>
          )
        })}
        <dt>tasks</dt>
        <dd>
          {numberText(budget.open_tasks)} open
          {budget.waiting_tasks > 0 ? `, ${numberText(budget.waiting_tasks)} wait` : ''}
        </dd>
      </dl>
    </li>
  )
}
