// The table of queries: what the projector answers, by name, at `beaver.<namespace>.query.<name>`.
import type { z } from 'zod'
import type { Contract } from '../contract.ts'
import { approvals } from './approvals.ts'
import { audit } from './audit.ts'
import { events } from './events.ts'
import { node } from './node.ts'
import { openTasks } from './open-tasks.ts'
import { proof } from './proof.ts'
import { quarantine } from './quarantine.ts'
import { questions } from './questions.ts'
import { search } from './search.ts'
import { sessionSearch } from './session-search.ts'
import { oneSession, sessions } from './sessions.ts'
import { status } from './status.ts'
import { task } from './task.ts'
import { tasks } from './tasks.ts'
import { timeline } from './timeline.ts'
import { usage } from './usage.ts'

const table = {
  tasks,
  task,
  node,
  approvals,
  questions,
  timeline,
  events,
  search,
  session_search: sessionSearch,
  sessions,
  session: oneSession,
  audit,
  status,
  open_tasks: openTasks,
  proof,
  quarantine,
  usage,
} as const

/** The name of a query. */
export type QueryName = keyof typeof table
type Asked = { [Name in QueryName]: z.input<(typeof table)[Name]['input']> }
type Read = { [Name in QueryName]: z.output<(typeof table)[Name]['input']> }
type Answers = { [Name in QueryName]: z.output<(typeof table)[Name]['output']> }
/** What the one who asks writes. */
export type QueryInput<Name extends QueryName> = Asked[Name]
/** What the one who answers reads: defaults are filled in. */
export type QueryRead<Name extends QueryName> = Read[Name]
/** The answer of a query. */
export type QueryOutput<Name extends QueryName> = Answers[Name]

/**
 * The contracts of all queries. Indexed by a type parameter, the input and the output belong to the same
 * query.
 */
export const queryContracts: {
  readonly [Name in QueryName]: Contract<QueryInput<Name>, QueryRead<Name>, QueryOutput<Name>>
} = table

export function isQueryName(name: string): name is QueryName {
  return Object.hasOwn(table, name)
}
