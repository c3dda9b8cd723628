// One entry of the library: what is known of it, the text that an agent reads, its schema, and of a workflow
// the graph before it runs.
import type { LoadedEntry, LoadedKind } from '@beaver/contracts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useMemo } from 'react'
import { ApiProblem } from '../data/api.ts'
import { useMay } from '../data/me.ts'
import { exampleOf, type FieldSchema, fieldsOf } from '../parts/form-values.ts'
import { Json } from '../parts/json.tsx'
import { Markdown } from '../parts/lazy-markdown.tsx'
import { Empty, Loading, Problem } from '../parts/problem.tsx'
import { Block, Line } from '../parts/text.tsx'
import { visible } from '../parts/visible.ts'
import { askPlan, PlanView } from '../start/plan.tsx'
import { AddWorkflow } from './add-workflow.tsx'
import { Findings } from './findings.tsx'
import { entryQuery, type Workflow } from './loaded.ts'

export function EntryDetails({
  kind,
  name,
}: {
  readonly kind: LoadedKind
  readonly name: string
}): ReactNode {
  const read = useQuery(entryQuery(kind, name))
  const entry = read.data?.entries.find((each) => each.kind === kind)
  const isMissing = read.error instanceof ApiProblem && read.error.status === 404
  if (isMissing || (read.data !== undefined && entry === undefined))
    return (
      <Empty title={`The daemon has loaded nothing here that is named ${visible(name)}.`}>
        Its file may have been removed, renamed or refused. Select another entry, or read the findings.
      </Empty>
    )
  if (read.error !== null) return <Problem error={read.error} again={() => void read.refetch()} />
  if (read.data === undefined || entry === undefined) return <Loading />
  const { findings } = read.data
  return (
    <>
      <header className="page-head">
        <h2>
          <Line text={entry.name} />
        </h2>
        <Actions entry={entry} />
      </header>
      {'description' in entry && entry.description !== '' ? <p>{visible(entry.description)}</p> : null}
      {findings.length === 0 ? null : <Findings findings={findings} />}
      <section className="card" aria-label="Facts">
        <dl>
          {factsOf(entry).map(([fact, value]) => (
            <div key={fact} className="pair">
              <dt>{fact}</dt>
              <dd>{visible(value)}</dd>
            </div>
          ))}
        </dl>
      </section>
      {entry.kind === 'workflow' ? <ExampleGraph entry={entry} /> : null}
      {entry.kind === 'profile' ? <AddWorkflow key={entry.name} profile={entry.name} /> : null}
      <Texts entry={entry} />
    </>
  )
}

/** What one can do with an entry. */
function Actions({ entry }: { readonly entry: LoadedEntry }): ReactNode {
  const maySubmit = useMay('submit')
  const { kind, name } = entry
  if (kind === 'tool' || kind === 'mcp_server') return null
  return (
    <nav className="links" aria-label="What to do with it">
      {maySubmit ? (
        <Link to="/start" search={{ [kind]: name }}>
          Start a task with it
        </Link>
      ) : null}
      <Link to="/" search={{ [kind]: name }}>
        Its tasks
      </Link>
    </nav>
  )
}

/** The graph of a workflow with made-up arguments. Many workflows take the agents as arguments. */
function ExampleGraph({ entry }: { readonly entry: Workflow }): ReactNode {
  const { name, schema } = entry
  const given = useMemo(() => exampleOf((schema ?? { type: 'object' }) as FieldSchema, 'example'), [schema])
  const read = useQuery({
    queryKey: ['plan', name, given],
    queryFn: ({ signal }) => askPlan(name, given as Readonly<Record<string, unknown>>, signal),
  })
  if (read.error !== null) return <Problem error={read.error} again={() => void read.refetch()} />
  if (read.data === undefined) return <Loading />
  return read.data.ok ? (
    <PlanView
      plan={read.data}
      note={
        entry.file === null
          ? 'Its agents are made up: a task brings its own.'
          : 'Its inputs are made up. Nothing has run.'
      }
    />
  ) : (
    <p className="quiet">
      Its graph depends on its arguments. Start a task with it, write the arguments, and draw the graph there.
    </p>
  )
}

const listText = (all: readonly string[] | null, none: string): string =>
  all === null ? none : all.length === 0 ? 'none' : all.join(', ')

type Facts = readonly (readonly [string, string])[]
type Of<Kind extends LoadedKind> = Extract<LoadedEntry, { kind: Kind }>

const broughtBy = {
  configured: 'the configuration',
  workspace: 'the workspace of the daemon',
  built_in: 'Beaver',
} as const

const skillFacts = (entry: Of<'skill'>): Facts => [
  ['Folder', entry.folder],
  ['Brought by', broughtBy[entry.from]],
  ['A model may choose it', entry.model_invocable ? 'yes' : 'no, somebody has to name it'],
  ['Tools that it needs', listText(entry.allowed_tools, 'it names none')],
  ['Proposes the workflow', entry.guides ?? 'none'],
  ...(entry.compatibility === null ? [] : [['Needs', entry.compatibility] as const]),
  ['License', entry.license ?? 'it names none'],
  ['SHA-256', entry.sha256],
]

const profileFacts = (entry: Of<'profile'>): Facts => [
  ['File', entry.file ?? 'not known'],
  ['Is the default', entry.is_default ? 'yes' : 'no'],
  ['Model', entry.model ?? 'the main model'],
  ['Tools', listText(entry.tool_ids, 'those of an agent without a profile')],
  [
    'Turns with tools',
    entry.max_tool_iterations === null ? 'as configured' : String(entry.max_tool_iterations),
  ],
  ['Budget', entry.budget === null ? 'as configured' : JSON.stringify(entry.budget)],
]

const permissions = { allow: 'is allowed', ask: 'asks a person', deny: 'is denied' } as const
const effects = { none: 'none', reads: 'it reads', writes: 'it writes' } as const

const toolFacts = (entry: Of<'tool'>): Facts => [
  ['Id', entry.id],
  ['A call', permissions[entry.permission]],
  [
    'Rules',
    entry.rules
      .map(({ decision, tool, pattern }) => `${decision} ${tool}${pattern === null ? '' : ` ${pattern}`}`)
      .join('; ') || 'none',
  ],
  ['Results are', entry.reads === 'depends' ? 'depending on the arguments' : entry.reads],
  ['Effects', effects[entry.effects]],
  ['Leaves the run', entry.sink ?? 'nothing'],
  ['Profiles that list it', listText(entry.profiles, 'none')],
  ...(entry.described_by === null ? [] : [['Described by', entry.described_by] as const]),
]

/** What is known of an entry, in the order in which a person wants to know it. */
function factsOf(entry: LoadedEntry): Facts {
  switch (entry.kind) {
    case 'skill':
      return skillFacts(entry)
    case 'profile':
      return profileFacts(entry)
    case 'tool':
      return toolFacts(entry)
    case 'workflow':
      return [
        ['File', entry.file ?? 'it is part of Beaver'],
        ['An agent may call it', entry.is_tool ? 'yes' : 'no, only a task may be one'],
        ['Profiles that list it', listText(entry.profiles, 'none')],
      ]
    case 'mcp_server':
      return [
        ['Transport', entry.transport],
        ['State', entry.state?.replace('_', ' ') ?? 'not known'],
        ['Tools', entry.tools === null ? 'not known' : String(entry.tools)],
        ['Tools that are left out', entry.left_out === null ? 'not known' : String(entry.left_out)],
        ...(entry.reason === null ? [] : [['Why it is not connected', entry.reason] as const]),
      ]
    default:
      return entry satisfies never
  }
}

function Texts({ entry }: { readonly entry: LoadedEntry }): ReactNode {
  const text = 'text' in entry ? entry.text : undefined
  const schema = 'schema' in entry ? entry.schema : 'output_schema' in entry ? entry.output_schema : undefined
  return (
    <>
      {text === undefined ? null : (
        <section className="card" aria-label="Text">
          <h2>What an agent reads</h2>
          {entry.kind === 'skill' ? <Markdown text={text} /> : <Block text={text} />}
          {'cut' in entry && entry.cut === true ? (
            <p className="quiet">The end of the text is not here.</p>
          ) : null}
        </section>
      )}
      {schema === undefined || schema === null ? null : (
        <section className="card" aria-label="Schema">
          <h2>{entry.kind === 'profile' ? 'Its answer' : 'Arguments'}</h2>
          <Fields schema={schema as FieldSchema} />
          <details>
            <summary>As JSON Schema</summary>
            <Json value={schema} open={2} />
          </details>
        </section>
      )}
    </>
  )
}

/** The fields of a schema, each with what it is for. */
const Fields = ({ schema }: { readonly schema: FieldSchema }): ReactNode => (
  <ul className="fields">
    {fieldsOf(schema).map(({ name, description, required }) => (
      <li key={name}>
        <code>{visible(name)}</code>
        {required ? null : <span className="quiet"> (may be absent)</span>}
        {description === null ? null : <p className="quiet">{visible(description)}</p>}
      </li>
    ))}
  </ul>
)
