// The table of queries: what the query service serves, by name. Every answer is plain JSON with snake_case keys.
// Q1. An input is validated before a query runs; unknown fields are refused. Q2. A query changes nothing. Q3. Answers are bounded.
import { BeaverError, type JsonValue, systemClock } from '@beaver/core'
import { z } from 'zod'
import type { Around, Query } from './query.ts'
import { approvals } from './query-approvals.ts'
import { audit } from './query-audit.ts'
import { events } from './query-events.ts'
import { openTasks } from './query-open-tasks.ts'
import { search } from './query-search.ts'
import { sessionSearch } from './query-session-search.ts'
import { status } from './query-status.ts'
import { task } from './query-task.ts'
import { tasks } from './query-tasks.ts'
import { timeline } from './query-timeline.ts'
import type { Sql } from './sql.ts'

export const queries = { tasks, task, approvals, timeline, events, search, session_search: sessionSearch, audit, status, open_tasks: openTasks } as const

export type QueryName = keyof typeof queries

export function isQueryName(name: string): name is QueryName {
  return Object.hasOwn(queries, name)
}

/**
 * The answer to a query.
 *
 * @throws {BeaverError} `invalid_arguments` for an unknown query or input of another shape, with the path of each problem;
 *   `not_found` when the task is not there
 * @example answer(model.sql, 'tasks', { status: 'failed', limit: 5 })
 */
export function answer(sql: Sql, name: string, input: unknown, around: Partial<Around> = {}): JsonValue {
  if (!isQueryName(name)) {
    throw new BeaverError('invalid_arguments', `There is no query ${JSON.stringify(name)}. Queries: ${Object.keys(queries).join(', ')}.`)
  }
  const asked: Query = queries[name] as unknown as Query
  const parsed = asked.input.safeParse(input ?? {})
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }))
    throw new BeaverError('invalid_arguments', `The input of the query ${name} is not valid: ${z.prettifyError(parsed.error)}`, { problems })
  }
  return asked.run(sql, parsed.data, { now: () => systemClock.now(), following: null, ...around })
}
