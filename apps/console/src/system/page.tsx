// The system as it is now: what is wrong first, then the daemons, the endpoints of models, the projector, the
// tasks, the budgets and the streams. It is asked every few seconds while somebody looks. Numbers of the whole
// system are for logins that reach the tasks of all users.
import type { SystemState } from '@beaver/contracts'
import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { ApiProblem, request } from '../data/api.ts'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { Budgets } from './budgets.tsx'
import { type Sample, withSample } from './look.ts'
import { Daemons, Endpoints } from './machines.tsx'
import { Figures, Tasks, Troubles } from './overview.tsx'
import { SystemPlaces } from './places.tsx'
import { Places, Projector, Streams } from './stores.tsx'
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
