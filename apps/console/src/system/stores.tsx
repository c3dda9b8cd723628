// Where everything is kept on the System page: the projector with its read model, the gateway with its server, and
// the streams.
import type { SystemState } from '@beaver/contracts'
import type { ReactNode } from 'react'
import { Status } from '../parts/status.tsx'
import { Line } from '../parts/text.tsx'
import { numberText } from '../parts/time.ts'
import { visible } from '../parts/visible.ts'
import { When } from '../parts/when.tsx'
import { bytesText, counted } from './look.ts'

const known = (value: number | null): string => (value === null ? 'not known' : numberText(value))

export function Projector({ projector }: { readonly projector: SystemState['projector'] }): ReactNode {
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
export function Places({ state: { gateway, nats, journal } }: { readonly state: SystemState }): ReactNode {
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

export function Streams({ state: { streams } }: { readonly state: SystemState }): ReactNode {
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
