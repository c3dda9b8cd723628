// The table of queries that the query service serves, by name. Every answer is plain JSON with snake_case
// keys. An input is validated before a query runs. Unknown fields are refused. A query changes nothing.
// Answers are bounded. An answer is not validated here, because a check would cost more than most queries.
// The compiler and the tests hold each query to its contract, and the client validates each answer.
import { isQueryName, queryContracts, type QueryName, type QueryOutput } from '@beaver/contracts'
import { BeaverError, problemsOf, problemsText, systemClock } from '@beaver/core'
import type { Around, Query } from './query.ts'
import { approvals } from './query-approvals.ts'
import { questions } from './query-questions.ts'
import { audit } from './query-audit.ts'
import { events } from './query-events.ts'
import { node } from './query-node.ts'
import { openTasks } from './query-open-tasks.ts'
import { proof } from './query-proof.ts'
import { quarantine } from './query-quarantine.ts'
import { search } from './query-search.ts'
import { sessionSearch } from './query-session-search.ts'
import { session, sessions } from './query-sessions.ts'
import { status } from './query-status.ts'
import { task } from './query-task.ts'
import { tasks } from './query-tasks.ts'
import { timeline } from './query-timeline.ts'
import { usage } from './query-usage.ts'
import type { Sql } from '../store/sql.ts'

const queries: { readonly [Name in QueryName]: Query<Name> } = {
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
  session,
  audit,
  status,
  open_tasks: openTasks,
  proof,
  quarantine,
  usage,
}

/**
 * Answers a query.
 *
 * @throws {BeaverError} `invalid_arguments` for an unknown query or an input of another shape, with the path
 * of each problem;
 *   `not_found` if the task does not exist
 * @example answer(model.sql, 'tasks', { status: 'failed', limit: 5 })
 */
export function answer(
  sql: Sql,
  name: string,
  input: unknown,
  around: Partial<Around> = {},
): QueryOutput<QueryName> {
  if (!isQueryName(name)) {
    throw new BeaverError(
      'invalid_arguments',
      `There is no query ${JSON.stringify(name)}. Queries: ${Object.keys(queries).join(', ')}.`,
    )
  }
  return answerTo(sql, name, input, {
    now: () => systemClock.now(),
    following: null,
    verified: null,
    notes: null,
    anchoring: null,
    ...around,
  })
}

function answerTo<Name extends QueryName>(
  sql: Sql,
  name: Name,
  input: unknown,
  around: Around,
): QueryOutput<Name> {
  const parsed = queryContracts[name].input.safeParse(input ?? {})
  if (!parsed.success) {
    const problems = problemsOf(parsed.error.issues, input ?? {})
    throw new BeaverError(
      'invalid_arguments',
      `The input of the query ${name} is not valid: ${problemsText(problems)}`,
      { problems },
    )
  }
  return queries[name](sql, parsed.data, around)
}
