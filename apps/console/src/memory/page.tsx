// What agents keep for later runs: the list about the work, which all users share, and the list about one user.
// The entries are texts that agents wrote. A run that replaced or removed an entry left nothing of it here; its
// task has the call.
import type { MemoryReport } from '@beaver/contracts'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import { request } from '../data/api.ts'
import { meQuery } from '../data/me.ts'
import { pathOf } from '../data/paths.ts'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { visible } from '../parts/visible.ts'
import { readMemorySearch } from './search.ts'
import './memory.css'

export function Memory(): ReactNode {
  const { user } = useSearch({ from: '/memory' })
  const { data: me } = useQuery(meQuery)
  const read = useQuery({
    queryKey: ['memory', user ?? null],
    queryFn: ({ signal }) => request<MemoryReport>(pathOf('/api/v1/memory', { user_id: user }), { signal }),
  })
  const ofMe = me !== undefined && 'name' in me ? me.user_id : null
  const whose = user ?? ofMe
  return (
    <section className="page memory">
      <header className="page-head">
        <h1>Memory</h1>
        {/* A token with a user reads the list of this user alone. */}
        {ofMe === null ? <ChooseUser key={user ?? ''} user={user ?? ''} /> : null}
      </header>
      {read.error !== null ? (
        <Problem error={read.error} again={() => void read.refetch()} />
      ) : read.data === undefined ? (
        <Loading />
      ) : (
        <>
          {read.data.memory.entries.length + read.data.user.entries.length === 0 ? <Nothing /> : null}
          <Entries
            title="About the work"
            says="Every agent of every user reads it when its run begins."
            list={read.data.memory}
          />
          <Entries
            title={whose === null ? 'About the person, of tasks without a user' : `About ${visible(whose)}`}
            says={
              whose === null
                ? 'The agents of tasks that name no user read it.'
                : 'The agents of the tasks of this user read it.'
            }
            list={read.data.user}
          />
        </>
      )}
    </section>
  )
}

function ChooseUser({ user }: { readonly user: string }): ReactNode {
  const navigate = useNavigate({ from: '/memory' })
  const [typed, setTyped] = useState(user)
  const show = (event: FormEvent): void => {
    event.preventDefault()
    void navigate({ search: readMemorySearch({ user: typed }) })
  }
  return (
    <form className="memory-user" onSubmit={show}>
      <label htmlFor="memory-user">User</label>
      <input
        id="memory-user"
        value={typed}
        maxLength={128}
        placeholder="none"
        onChange={({ target }) => setTyped(target.value)}
      />
      <button type="submit">Show</button>
    </form>
  )
}

const Nothing = (): ReactNode => (
  <Empty title="Agents keep nothing here yet.">
    <p>
      Memory is two short lists of what agents want to know in later tasks. An agent writes them with the tool{' '}
      <code>memory</code>, which it has unless its profile lists its tools without <code>system:memory</code>.
    </p>
    <p>
      Ask an agent to remember something: <code>beaver run "Remember that we ship on Fridays."</code>{' '}
      <Link to="/" search={{}}>
        See the tasks
      </Link>
    </p>
  </Empty>
)

function Entries({
  title,
  says,
  list: { entries, chars, chars_max: max },
}: {
  readonly title: string
  readonly says: string
  readonly list: MemoryReport['memory']
}): ReactNode {
  return (
    <section className="memory-list" aria-label={title}>
      <h2>{title}</h2>
      <p className="quiet">
        {says}{' '}
        <span>
          {chars.toLocaleString()} of {max.toLocaleString()} characters are used.
        </span>
      </p>
      {entries.length === 0 ? (
        <p className="quiet">The list is empty.</p>
      ) : (
        <ol>
          {entries.map((entry) => (
            <li key={entry}>{visible(entry)}</li>
          ))}
        </ol>
      )}
    </section>
  )
}
