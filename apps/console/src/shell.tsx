// The frame around every page: where one can go, who one is, and how to sign in.
import { useIsFetching, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useEffect, useState } from 'react'
import { whenSignedOut } from './data/api.ts'
import { forget, meQuery, type SignedOut, signInWith, signOut, whenLoginLinkOpens } from './data/me.ts'
import { followChanges, useConnection } from './data/live.ts'
import { applyTheme, may, type Me, readTheme, type Theme } from './data/session.ts'
import { Icon, type IconName } from './parts/icons.tsx'
import { actionsNow, listenToKeys, type PageAction, type SaidAction, useKeys } from './parts/keys.ts'
import { Empty, Loading, Problem } from './parts/problem.tsx'
import { Help } from './palette/help.tsx'
import { Palette } from './palette/palette.tsx'

export function Shell(): ReactNode {
  const client = useQueryClient()
  const me = useQuery(meQuery)
  useEffect(() => {
    whenSignedOut((why) => forget(client, why))
    whenLoginLinkOpens(() => void client.invalidateQueries(meQuery))
  }, [client])
  if (me.error !== null)
    return (
      <main className="alone">
        <Problem error={me.error} again={() => void me.refetch()} />
      </main>
    )
  if (me.data === undefined) return <Loading />
  return 'name' in me.data ? <Frame me={me.data} /> : <SignIn out={me.data} />
}

const places = [
  ['/', 'Tasks', 'tasks'],
  ['/inbox', 'Inbox', 'inbox'],
  ['/start', 'Start', 'start'],
  ['/sessions', 'Sessions', 'sessions'],
  ['/library', 'Library', 'library'],
  ['/memory', 'Memory', 'memory'],
  ['/system', 'System', 'system'],
] as const satisfies readonly (readonly [string, string, IconName])[]

const hasPlace = (wanted: string): boolean => places.some(([, name]: readonly string[]) => name === wanted)

/** A person who may not submit has no page for it. */
const placesOf = (me: Me): readonly (typeof places)[number][] =>
  places.filter(([, name]: readonly string[]) => name !== 'Start' || may(me, 'submit'))

/** The second key of `g t`, by the name of the page. */
const goKeys: Readonly<Record<string, string>> = {
  Tasks: 't',
  Inbox: 'i',
  Start: 'n',
  Library: 'l',
  Sessions: 's',
  System: 'y',
  Memory: 'm',
}

/** What lies over the page, with the actions of the moment at which it was opened. */
interface Over {
  readonly what: 'help' | 'palette'
  readonly actions: readonly SaidAction[]
}

function Frame({ me }: { readonly me: Me }): ReactNode {
  const isBusy = useIsFetching() > 0
  const client = useQueryClient()
  const [over, setOver] = useState<Over | null>(null)
  const show = (what: Over['what']): void => setOver({ what, actions: actionsNow() })
  const close = (): void => setOver(null)
  const { theme, next, change } = useTheme()
  useEffect(listenToKeys, [])
  useKeys(
    [...usePlaceKeys(me), ...frameKeys({ show, next, change, out: () => void signOut(client) })],
    'everywhere',
  )
  useEffect(() => {
    const stop = new AbortController()
    followChanges(client, stop.signal)
    return () => stop.abort()
  }, [client])
  return (
    <>
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <header className="bar">
        <Link to="/" className="brand" search={{}}>
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <rect width="32" height="32" rx="7" className="brand-box" />
            <path className="brand-lines" d="M16 9v6m0 0-7 6m7-6 7 6" />
            <path className="brand-dots" d="M16 8h0M8.500 22.500h0M23.500 22.500h0" />
          </svg>
          <span>Beaver</span>
        </Link>
        <nav aria-label="Pages">
          {placesOf(me).map(([to, name, icon]) => (
            <Link
              key={to}
              to={to}
              search={{}}
              title={name}
              activeOptions={{ exact: to === '/', includeSearch: false }}
            >
              <Icon name={icon} />
              <span>{name}</span>
            </Link>
          ))}
        </nav>
        <span className={isBusy ? 'busy on' : 'busy'} aria-hidden="true" />
        <button
          type="button"
          className="icon-button"
          onClick={() => show('palette')}
          title="Go to, or do (Ctrl+K)"
          aria-label="Go to, or do"
        >
          <Icon name="search" />
        </button>
        <button
          type="button"
          className="icon-button"
          onClick={() => show('help')}
          title="Keys (?)"
          aria-label="Keys"
        >
          <Icon name="keys" />
        </button>
        <ThemeButton theme={theme} next={next} change={change} />
        <Person me={me} />
      </header>
      <Lost />
      <main id="page" tabIndex={-1}>
        <Outlet />
      </main>
      {over === null ? null : over.what === 'help' ? (
        <Help actions={over.actions} close={close} />
      ) : (
        <Palette actions={over.actions} hasLibrary={hasPlace('Library')} close={close} />
      )}
    </>
  )
}

/** The keys that lead to pages. The focus goes along, so that the next Tab is in the page. */
function usePlaceKeys(me: Me): readonly PageAction[] {
  const navigate = useNavigate()
  return placesOf(me).map(([to, name]) => ({
    key: name in goKeys ? `g ${goKeys[name]}` : null,
    does: `Goes to ${name}`,
    run: () => void navigate({ to, search: {} }).then(() => document.getElementById('page')?.focus()),
  }))
}

interface FrameKeys {
  readonly show: (what: Over['what']) => void
  readonly next: Theme
  readonly change: () => void
  readonly out: () => void
}

const frameKeys = ({ show, next, change, out }: FrameKeys): readonly PageAction[] => [
  { key: '/', does: 'Goes to the search of the page, or opens the palette', run: () => toSearch(show) },
  { key: 'Ctrl+k', does: 'Opens the palette: go to a place, or do something', run: () => show('palette') },
  { key: '?', does: 'Shows the keys', run: () => show('help') },
  { key: null, does: `Changes the theme to ${next}`, run: change },
  { key: null, does: 'Signs out', run: out },
]

function toSearch(show: FrameKeys['show']): void {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]')
  if (field === null) show('palette')
  else field.focus()
}

/** Says that the page shows what was, and since when. */
function Lost(): ReactNode {
  const connection = useConnection()
  return (
    <p className="lost" role="status">
      {connection.is === 'lost'
        ? `The connection was lost at ${new Date(connection.since).toLocaleTimeString()}. The page shows what was then, and goes on by itself.`
        : null}
    </p>
  )
}

const nextTheme: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }
const themeIcons: Readonly<Record<Theme, IconName>> = { system: 'screen', light: 'sun', dark: 'moon' }

interface ThemeChoice {
  readonly theme: Theme
  readonly next: Theme
  readonly change: () => void
}

function useTheme(): ThemeChoice {
  const [theme, setTheme] = useState(readTheme)
  const next = nextTheme[theme]
  const change = (): void => {
    applyTheme(next)
    setTheme(next)
  }
  return { theme, next, change }
}

function ThemeButton({ theme, next, change }: ThemeChoice): ReactNode {
  const text = `Theme: ${theme}. Change to ${next}.`
  return (
    <button type="button" className="icon-button" onClick={change} title={text} aria-label={text}>
      <Icon name={themeIcons[theme]} />
    </button>
  )
}

function Person({ me }: { readonly me: Me }): ReactNode {
  const client = useQueryClient()
  return (
    <details className="person">
      <summary title={`Signed in as ${me.name}`}>
        <span className="initial">{(me.user_id ?? me.name).slice(0, 1).toUpperCase()}</span>
        <span className="name">{me.user_id ?? me.name}</span>
      </summary>
      <div className="panel">
        <dl>
          <dt>Token</dt>
          <dd>{me.name}</dd>
          <dt>User</dt>
          <dd>{me.user_id ?? 'any'}</dd>
          <dt>Roles</dt>
          <dd>{me.roles.join(', ')}</dd>
          <dt>Until</dt>
          <dd>{me.expires_at === null ? 'it is revoked' : new Date(me.expires_at).toLocaleString()}</dd>
        </dl>
        <button type="button" onClick={() => void signOut(client)}>
          Sign out
        </button>
      </div>
    </details>
  )
}

/** For somebody without a session: how to get one. */
function SignIn({ out }: { readonly out: SignedOut }): ReactNode {
  const client = useQueryClient()
  const [given, setGiven] = useState('')
  const send = (event: FormEvent): void => {
    event.preventDefault()
    if (given.trim() !== '') void signInWith(given.trim(), client)
  }
  return (
    <main className="alone">
      <h1>Sign in</h1>
      {out.reason === null ? null : (
        <p className="problem" role="alert">
          {out.reason}
        </p>
      )}
      <p>Run this in the folder in which you started Beaver, and open the link that it prints:</p>
      <pre className="command">./bin/beaver console</pre>
      <p className="quiet">
        If that folder is not the one of Beaver itself, <code>bin/beaver</code> is in the folder of Beaver.
        The link signs you in once, within 10 minutes.
      </p>
      <p className="quiet">
        On another machine, use a token of <code>./bin/beaver token create</code>:
      </p>
      <form onSubmit={send}>
        <label htmlFor="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          value={given}
          onChange={({ target }) => setGiven(target.value)}
        />
        <button type="submit" className="main">
          Sign in
        </button>
      </form>
    </main>
  )
}

export const NoPage = (): ReactNode => (
  <>
    <h1 className="hidden">No page</h1>
    <Empty title="There is no such page.">
      <Link to="/" search={{}}>
        Go to the tasks
      </Link>
    </Empty>
  </>
)
