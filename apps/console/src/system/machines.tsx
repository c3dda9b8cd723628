// Who does the work on the System page: the daemons, and the endpoints of models that they ask.
import type { SystemState } from '@beaver/contracts'
import type { ReactNode } from 'react'
import { Status } from '../parts/status.tsx'
import { Line } from '../parts/text.tsx'
import { durationText, numberText } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import { When } from '../parts/when.tsx'
import { counted, endpointsOf, type SharedEndpoint } from './look.ts'

export function Daemons({ daemons }: { readonly daemons: SystemState['daemons'] }): ReactNode {
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

export function Endpoints({ state }: { readonly state: SystemState }): ReactNode {
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
