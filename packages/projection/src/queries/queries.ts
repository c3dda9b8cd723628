// The table of queries that the query service serves, by name. Every answer is plain JSON with snake_case
// keys. An input is validated before a query runs. Unknown fields are refused. A query changes nothing.
// Answers are bounded. An answer is not validated here, because a check would cost more than most queries.
// The compiler and the tests hold each query to its contract, and the client validates each answer.
import { isQueryName, queryContracts, type QueryName, type QueryOutput } from '@beaver/contracts'
import { BeaverError, problemsOf, problemsText, systemClock } from '@beaver/core'
import { priceTable } from '@beaver/core/cost'
import type { Sql } from '../store/sql.ts'
import { argumentsCharsMax, callView, waitingCalls } from './approvals.ts'
import { questionView, waitingQuestions } from './asked-questions.ts'
import { findTask } from './find-task.ts'
import { page } from './page.ts'
import { audit } from './query-audit.ts'
import { events, image } from './query-events.ts'
import { failures } from './query-failures.ts'
import { graph } from './query-graph.ts'
import { inbox } from './query-inbox.ts'
import { node, run } from './query-node.ts'
import { openTasks } from './query-open-tasks.ts'
import { prompt } from './query-prompt.ts'
import { proof } from './query-proof.ts'
import { search } from './query-search.ts'
import { sessionSearch } from './query-session-search.ts'
import { session, sessions } from './query-sessions.ts'
import { spans } from './query-spans.ts'
import { status } from './query-status.ts'
import { task } from './query-task.ts'
import { taskCount, tasks } from './query-tasks.ts'
import { timeline } from './query-timeline.ts'
import { usage } from './query-usage.ts'
import type { Around, Query } from './query.ts'

// `quarantine`: the messages of the journal that are no records, oldest first.

type Row = QueryOutput<'quarantine'>['messages'][number]

const quarantine: Query<'quarantine'> = (sql, { sequence, after, limit }) => {
  const { where, values } =
    sequence === undefined
      ? { where: 'sequence > ?', values: [after] }
      : { where: 'sequence = ?', values: [sequence] }
  const rows = sql.each<Row>(`select * from quarantine where ${where} order by sequence limit ?`, [
    ...values,
    limit + 1,
  ])
  const { items, more, next } = page(rows, limit, {
    item: (row) => ({ ...row }),
    cursor: (row) => row.sequence,
  })
  return {
    total: sql.one<{ n: number }>('select count(*) as n from quarantine').n,
    messages: items,
    more,
    next,
  }
}

// `approvals`: the calls that wait for a person, oldest first, of one task or of all.

const approvals: Query<'approvals'> = (sql, input) => {
  const found = input.task_id === undefined ? null : findTask(sql, { ...input, task_id: input.task_id })
  const rows = waitingCalls(
    sql,
    {
      taskKey: found?.task_key ?? null,
      tenant: input.tenant ?? null,
      session: input.session_id ?? null,
      user: input.user_id,
    },
    input.limit,
  )
  const { items, more } = page(rows, input.limit, {
    item: (row) => callView(row, argumentsCharsMax),
    cursor: (row) => row.approval_requested_taskseq,
  })
  return { task_id: found?.task_id ?? null, calls: items, more }
}

// `questions`: the questions that wait for an answer, oldest first, of one task or of all.

const questions: Query<'questions'> = (sql, input) => {
  const found = input.task_id === undefined ? null : findTask(sql, { ...input, task_id: input.task_id })
  const rows = waitingQuestions(
    sql,
    {
      taskKey: found?.task_key ?? null,
      tenant: input.tenant ?? null,
      session: input.session_id ?? null,
      user: input.user_id,
    },
    input.limit,
  )
  const { items, more } = page(rows, input.limit, { item: questionView, cursor: (row) => row.taskseq })
  return { task_id: found?.task_id ?? null, questions: items, more }
}

/** Those that every Beaver knows. */
const listPrices = priceTable({})

const queries: { readonly [Name in QueryName]: Query<Name> } = {
  tasks,
  task_count: taskCount,
  task,
  run,
  graph,
  node,
  prompt,
  spans,
  approvals,
  questions,
  inbox,
  timeline,
  events,
  image,
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
  failures,
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
    prices: listPrices,
    following: null,
    verified: null,
    notes: null,
    anchoring: null,
    tracing: null,
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
