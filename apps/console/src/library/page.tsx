// What a daemon has loaded for its agents: skills, profiles, tools, workflows and MCP servers, where each comes
// from, and what is wrong with its files. What is selected is in the address.
import type { LoadedAnswer, LoadedEntry, LoadedKind } from '@beaver/contracts'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type ReactNode, useMemo, useState } from 'react'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { Rows } from '../parts/rows.tsx'
import { Line } from '../parts/text.tsx'
import { EntryDetails } from './entry.tsx'
import { Findings } from './findings.tsx'
import type { LibrarySearch } from './library-search.ts'
import { loadedQuery } from './loaded.ts'
import '../pages/tasks.css'
import '../parts/beside.css'
import './library.css'

const kinds: readonly (readonly [LoadedKind, string])[] = [
  ['skill', 'Skills'],
  ['profile', 'Profiles'],
  ['tool', 'Tools'],
  ['workflow', 'Workflows'],
  ['mcp_server', 'MCP servers'],
]

export function Library(): ReactNode {
  const { kind = 'skill', name } = useSearch({ from: '/library' })
  const navigate = useNavigate({ from: '/library' })
  const show = (search: LibrarySearch): void => void navigate({ search })
  const [words, setWords] = useState('')
  const read = useQuery(loadedQuery(kind))
  const rows = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/)
    return (read.data?.entries ?? []).filter((entry) => {
      const text = `${entry.name} ${'description' in entry ? entry.description : ''}`.toLowerCase()
      return wanted.every((word) => text.includes(word))
    })
  }, [read.data, words])
  return (
    <section className="page list beside library">
      <h1 className="hidden">Library</h1>
      <div className="filters">
        <div className="states" role="group" aria-label="Kind">
          {kinds.map(([each, title]) => (
            <button
              key={each}
              type="button"
              className="choice"
              aria-pressed={each === kind}
              onClick={() => show({ kind: each })}
            >
              {title}
            </button>
          ))}
        </div>
        <label className="search">
          <span className="hidden">Search</span>
          <input
            value={words}
            placeholder="Search in names and descriptions"
            onChange={({ target }) => setWords(target.value)}
          />
        </label>
        {name === undefined || read.data === undefined || read.data.findings.length === 0 ? null : (
          <button type="button" onClick={() => show({ kind })}>
            {read.data.findings.length === 1 ? 'A finding' : `${read.data.findings.length} findings`}
          </button>
        )}
        <button type="button" onClick={() => void read.refetch()} disabled={read.isFetching}>
          Read again
        </button>
      </div>
      {read.error !== null ? (
        <Problem error={read.error} again={() => void read.refetch()} />
      ) : read.data === undefined ? (
        <Loading />
      ) : (
        <div className="panes">
          {rows.length === 0 ? (
            <NoEntries kind={kind} isFiltered={words !== ''} />
          ) : (
            <Rows
              label={kinds.find(([each]) => each === kind)?.[1] ?? ''}
              kind="library-row"
              rows={rows}
              keyOf={nameOf}
              open={(entry) => show({ kind, name: entry.name })}
              selected={name ?? null}
              more={false}
              loadMore={nothingMore}
              columns={columnsOf[kind]}
              cells={(entry) => <Cells entry={entry} />}
            />
          )}
          <aside className="details" aria-label="Details">
            {name === undefined ? (
              <Overview answer={read.data} />
            ) : (
              <EntryDetails key={`${kind} ${name}`} kind={kind} name={name} />
            )}
          </aside>
        </div>
      )}
    </section>
  )
}

const fromColumns = [['Name'], ['From']] as const
const columnsOf = {
  skill: fromColumns,
  profile: fromColumns,
  tool: [['Name'], ['A call']],
  workflow: fromColumns,
  mcp_server: [['Name'], ['Reached by']],
} as const
const nameOf = ({ name }: LoadedEntry): string => name
const nothingMore = (): void => {}

const Cells = ({ entry }: { readonly entry: LoadedEntry }): ReactNode => (
  <>
    <span role="gridcell">
      <strong>
        <Line text={entry.name} />
      </strong>
      <span className="quiet small">
        <Line text={entry.kind === 'mcp_server' ? (entry.reason ?? entry.state ?? '') : entry.description} />
      </span>
    </span>
    <span role="gridcell" className="quiet">
      <Line text={fromOf(entry)} />
    </span>
  </>
)

/** Where an entry comes from, in a word or two. */
function fromOf(entry: LoadedEntry): string {
  switch (entry.kind) {
    case 'skill':
      return { configured: 'configuration', workspace: 'workspace', built_in: 'Beaver' }[entry.from]
    case 'profile':
      return entry.is_default ? 'the default' : 'a file'
    case 'tool':
      return { allow: 'allowed', ask: 'asks', deny: 'denied' }[entry.permission]
    case 'workflow':
      return entry.file === null ? 'Beaver' : 'a file'
    case 'mcp_server':
      return entry.transport
    default:
      return entry satisfies never
  }
}

/** The key of the configuration that names them, and what names nothing is called. */
const ofKind: Readonly<Record<LoadedKind, readonly [key: string, plural: string]>> = {
  skill: ['skills', 'skills'],
  profile: ['profiles', 'profiles'],
  tool: ['tools', 'tools'],
  workflow: ['workflows', 'workflows'],
  mcp_server: ['mcp', 'MCP servers'],
}

function NoEntries({
  kind,
  isFiltered,
}: {
  readonly kind: LoadedKind
  readonly isFiltered: boolean
}): ReactNode {
  const [key, plural] = ofKind[kind]
  return isFiltered ? (
    <Empty title="Nothing has these words.">Search for fewer words.</Empty>
  ) : (
    <Empty title={`The daemon has loaded no ${plural}.`}>
      Name them under <code>{key}</code> in the configuration file, and start Beaver again.
    </Empty>
  )
}

/** What there is to say of a kind, while nothing is selected. */
function Overview({
  answer: { daemon, entries, total, findings },
}: {
  readonly answer: LoadedAnswer
}): ReactNode {
  return (
    <>
      {total === 0 ? null : (
        <p className="quiet">
          {total > entries.length
            ? `The first ${entries.length} of ${total} are listed.`
            : `${total} ${total === 1 ? 'entry' : 'entries'} of the daemon ${daemon}.`}
        </p>
      )}
      {findings.length === 0 ? (
        <Empty title="Nothing is wrong with the files.">
          Select an entry to see what an agent reads of it.
        </Empty>
      ) : (
        <Findings findings={findings} />
      )}
    </>
  )
}
