import type { QueryInput, QueryOutput } from '@beaver/contracts'
import { type DataOf, event, type TeamRunId } from '@beaver/core'
import { priceTable } from '@beaver/core/cost'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answer } from '../../test/checked-answer.ts'
import {
  answer as said,
  graphOf,
  newStream,
  result,
  runStarted,
  submitted,
} from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import { openReadModel, type ReadModel } from '../read-model.ts'
import type { Sql } from '../store/sql.ts'

type Filter = Omit<QueryInput<'task_count'>, 'before'>

const pick = <Value>(values: readonly Value[], i: number): Value => values[i % values.length] as Value

/** The attributes of a task, which follow from its number. */
const madeOf = (i: number) => {
  const failed = i % 4 === 1
  return {
    id: `task-${i}`,
    session: pick(['s1', 's2'], i),
    user: pick(['ann', 'bob', undefined], i),
    profile: pick([undefined, 'analyst', 'writer'], i >> 1),
    skill: pick([null, 'report', null, 'table'], i),
    activated: i % 5 === 0 ? 'sheet' : null,
    workflow: i % 7 === 0 ? 'workflow:map' : null,
    team: i % 3 === 0 ? 'GraphWorkflow' : null,
    model: pick(['small', 'gpt-5-mini'], i >> 2),
    tokens: i % 6 === 5 ? 0 : 15,
    failure: failed ? pick(['tool_crash', 'output_invalid'] as const, i >> 2) : null,
    status: pick(['completed', 'failed', 'running', 'submitted'] as const, i),
    isSuspended: i % 8 === 2,
    text: pick(['Count the words of Élan', 'Draw a table', '统计文件 xy'], i),
    title: i % 8 === 0 ? 'Quarterly' : undefined,
  }
}
type Made = ReturnType<typeof madeOf>

const tasksMade = 48
const stream = newStream()
const made: Made[] = []
const submittedAt = new Map<string, string>()
let model: ReadModel

beforeAll(async () => {
  for (let i = 0; i < tasksMade; i++) {
    const of = madeOf(i)
    stream.pass(17 * 60_000)
    const log = stream.log(of.id, { session: of.session })
    const given = submitted(log.log, of.text, of.skill).data as DataOf<'task_submitted'>
    const request = {
      ...given.request,
      ...(of.user === undefined ? {} : { user_id: of.user }),
      ...(of.profile === undefined ? {} : { profile: of.profile }),
      ...(of.title === undefined ? {} : { title: of.title }),
      ...(of.workflow === null ? {} : { workflow: { name: of.workflow, arguments: {} } }),
    }
    made.push(of)
    log.write(event('task_submitted', { ...given, request }))
    if (of.status === 'submitted') continue
    log.epoch = 1
    log.write(event('task_claimed', { daemon: 'd1' }), runStarted('r'))
    if (of.activated !== null)
      log.write(
        event(
          'skill_activation_snapshotted',
          { skills: [{ name: of.activated, sha256: 'x', content: 'x' }] },
          'r',
        ),
      )
    if (of.tokens > 0) {
      const { data } = said('r', 'x')
      log.write(
        event(
          'assistant_message_added',
          { ...(data as DataOf<'assistant_message_added'>), model: of.model },
          'r',
        ),
      )
    }
    if (of.team !== null)
      log.write(
        event('task_team_run_started', {
          ...{ team_run_id: 'team' as TeamRunId, run_id: null, call_id: null, concurrent_nodes_max: 1 },
          graph: { ...graphOf([{ id: 'a' }]), workflow: of.team },
        }),
      )
    if (of.status === 'completed') log.write(event('task_completed', result()))
    if (of.isSuspended)
      log.write(
        event('task_suspended', {
          ...{ daemon: 'd1', waits_for: 'limit', wait_ms: 1, until: '2026-01-02T00:00:00.000Z', reason: 'x' },
        }),
      )
    if (of.failure !== null)
      log.write(
        event('task_failed', result({ failure: { class: of.failure, message: 'It broke at Zürich' } })),
      )
  }
  model = openReadModel(':memory:', { readBlob: stream.readBlob })
  model.begin('S@1')
  await model.apply(stream.messages)
  for (const { id, at } of model.sql.all<{ id: string; at: string }>(
    'select task_id as id, submitted_at as at from tasks',
  ))
    submittedAt.set(id, at)
})
afterAll(() => model.close())

const prices = priceTable({})
const listed = (sql: Sql, filter: Filter, limit = 7) => {
  const ids: string[] = []
  let answers = 0
  for (let before: number | undefined; ;) {
    const page = answer(sql, 'tasks', { ...filter, limit, before }, { prices })
    answers++
    ids.push(...page.tasks.map(({ task_id: id }) => id))
    if (page.next === null) return { ids, answers }
    before = page.next
  }
}

const msOf = (id: string): number => Date.parse(submittedAt.get(id) ?? '')
const started = ({ status }: Made): boolean => status !== 'submitted'
const tokensOf = (task: Made): number => (started(task) ? task.tokens : 0)
const wordsIn = (task: Made): string =>
  `${task.id}\n${task.title}\n${task.text}\n${task.failure === null ? '' : 'It broke at Zürich'}`
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()

/** Each filter with what it means, in words of its own. */
const meanings: {
  readonly [Name in keyof Filter]-?: (task: Made, value: NonNullable<Filter[Name]>) => boolean
} = {
  tenant: (_, tenant) => tenant === 'local',
  session_id: ({ session }, id) => session === id,
  user_id: ({ user }, id) => user === id,
  task_ids: ({ id }, ids) => ids.includes(id),
  status: ({ status, isSuspended }, wanted) =>
    [wanted].flat().some((each) => {
      if (each === 'open') return ['running', 'submitted'].includes(status)
      if (each === 'waiting') return isSuspended
      return each === status && (each !== 'running' || !isSuspended)
    }),
  workflow: ({ workflow }, name) => workflow === name,
  uses_workflow: (task, name) => task.workflow === name || (started(task) && task.team === name),
  skill: (task, name) => task.skill === name || (started(task) && task.activated === name),
  profile: ({ profile }, name) => profile === name,
  model: (task, name) => tokensOf(task) > 0 && task.model === name,
  failure_class: ({ failure }, name) => failure === name,
  failure_pattern: ({ failure }, pattern) => failure !== null && pattern === 'It broke at Zürich',
  text: (task, text) => text.split(' ').every((word) => wordsIn(task).includes(word.toLowerCase())),
  submitted_since: ({ id }, time) => msOf(id) >= Date.parse(time),
  submitted_before: ({ id }, time) => msOf(id) < Date.parse(time),
  ended_since: ({ status, id }, time) =>
    ['completed', 'failed'].includes(status) && msOf(id) >= Date.parse(time) - 5_000,
  retried: (_, is) => !is,
  tokens_min: (task, min) => tokensOf(task) >= min,
  cost_usd_min: (task, min) => min === 0 || (tokensOf(task) > 0 && task.model === 'gpt-5-mini'),
}

const times = fc.integer({ min: -1, max: tasksMade + 1 }).map((n) => {
  const start = Date.parse('2026-01-01T00:00:00.000Z')
  return new Date(start + n * 17 * 60_000 + 8 * 60_000).toISOString().replace('.000Z', 'Z')
})
const values: { readonly [Name in keyof Filter]-?: fc.Arbitrary<Filter[Name]> } = {
  tenant: fc.constantFrom('local', 'other'),
  session_id: fc.constantFrom('s1', 's2', 'none'),
  user_id: fc.constantFrom('ann', 'bob', 'nobody'),
  task_ids: fc.array(
    fc.nat(tasksMade).map((n) => `task-${n}`),
    { minLength: 1, maxLength: 9 },
  ),
  status: fc.oneof(
    fc.constantFrom('open', 'failed', 'running', 'completed', 'waiting'),
    fc.array(fc.constantFrom('open', 'failed', 'running', 'completed', 'submitted', 'waiting'), {
      minLength: 1,
      maxLength: 4,
    }),
  ),
  workflow: fc.constantFrom('workflow:map', 'none'),
  uses_workflow: fc.constantFrom('workflow:map', 'GraphWorkflow', 'none'),
  skill: fc.constantFrom('report', 'table', 'sheet'),
  profile: fc.constantFrom('analyst', 'writer'),
  model: fc.constantFrom('small', 'gpt-5-mini'),
  failure_class: fc.constantFrom('tool_crash', 'output_invalid', 'cancelled'),
  failure_pattern: fc.constantFrom('It broke at Zürich', 'It broke'),
  text: fc.constantFrom(
    'words',
    'elan count',
    'table',
    '统计文',
    '文件',
    'xy',
    'draw xy',
    'draw a',
    'zurich',
    'quarterly',
    'task-1',
    '"x" or -',
  ),
  submitted_since: times,
  submitted_before: times,
  ended_since: times,
  retried: fc.boolean(),
  tokens_min: fc.constantFrom(0, 1, 15, 16),
  cost_usd_min: fc.constantFrom(0, 0.000001),
}
/** Few filters at once, so that some tasks are left. */
const anyFilter = fc
  .shuffledSubarray(Object.keys(values) as (keyof Filter)[], { maxLength: 3 })
  .chain((names) =>
    fc.record(Object.fromEntries(names.map((name) => [name, values[name]]))),
  ) as fc.Arbitrary<Filter>

const meant = (filter: Filter): string[] =>
  made
    .filter((task) =>
      Object.entries(filter).every(([name, value]) =>
        (meanings[name as keyof Filter] as (task: Made, value: unknown) => boolean)(task, value),
      ),
    )
    .map(({ id }) => id)
    .toReversed()

describe.each([
  ['the index has the words of all tasks', false],
  ['the index lacks a task', true],
])('when %s', (_, lacks) => {
  beforeAll(() => {
    if (lacks) model.sql.run('insert into unindexed_tasks (task_key) values (1)')
  })

  test('a list has the tasks that are meant, newest first, and a count counts them', () => {
    fc.assert(
      fc.property(anyFilter, (filter) => {
        const ids = meant(filter)
        expect(listed(model.sql, filter).ids).toEqual(ids)
        expect(answer(model.sql, 'task_count', filter, { prices })).toMatchObject({
          tasks: ids.length,
          at_least: false,
        })
      }),
      { numRuns: 500 },
    )
  })
})

test('a list is of tasks without a user or a workflow, too', () => {
  const ids = (filter: Filter): string[] => listed(model.sql, filter).ids
  const newest = made.toReversed()
  expect(ids({ user_id: null })).toEqual(newest.flatMap(({ user, id }) => (user === undefined ? id : [])))
  for (const user_id of [undefined, null, 'ann'])
    expect(ids({ workflow: null, user_id })).toEqual(
      newest.flatMap(({ workflow, user, id }) =>
        workflow === null && (user_id === undefined || (user ?? null) === user_id) ? id : [],
      ),
    )
})

test('a task in a list has what a list needs', () => {
  const [task] = answer(model.sql, 'tasks', { task_ids: ['task-21'] }).tasks
  expect(task).toMatchObject({
    workflow: 'workflow:map',
    workflows: ['GraphWorkflow', 'workflow:map'],
    profile: 'analyst',
    model: 'small',
    previous_task_id: null,
    cost_usd: 0.0000125,
    usage_by_model: [{ model: 'gpt-5-mini', cost_usd: 0.0000125 }],
  })
  expect(task?.last_taskseq).toBeGreaterThan(4)
})

const many = 12_000
const keyed = `with recursive keys (key) as (select 1 union all select key + 1 from keys where key < ${many})`

/** Only the rows of a list. Every second task is Ann's; only the first one used tokens. */
async function manyTasks(): Promise<ReadModel> {
  const large = await modelOf(() => {})
  large.sql.transaction(() => {
    large.sql
      .run(`${keyed} insert into tasks (task_key, tenant, session_id, task_id, status, text, user_id, input_tokens, submitted_at, head_hash)
      select key, 'local', 's', 't' || key, iif(key % 3 = 0, 'failed', 'completed'), 'xy', iif(key % 2 = 0, 'ann', 'ben'), iif(key = 1, 9, 0), '2026-01-01T00:00:00.000Z', '' from keys`)
    large.sql.run(
      `${keyed} insert into task_names (task_key, kind, name, user_id) select key, 'model', 'm', iif(key % 2 = 0, 'ann', 'ben') from keys`,
    )
  })
  return large
}

test('a filter that goes past many tasks gives empty pages that lead on, and a count says that it is a part', async () => {
  using large = await manyTasks()
  expect(answer(large.sql, 'tasks', { tokens_min: 9 })).toEqual({ tasks: [], more: true, next: many - 4_999 })
  expect(listed(large.sql, { tokens_min: 9 })).toEqual({ ids: ['t1'], answers: 3 })
  expect(listed(large.sql, { tokens_min: 9, status: 'failed', user_id: 'ann' })).toEqual({
    ids: [],
    answers: 1,
  })
  expect(answer(large.sql, 'task_count', { tokens_min: 9 })).toEqual({
    ...{ tasks: 1, at_least: false },
    before: many + 1,
  })
  expect(answer(large.sql, 'task_count', { text: 'xy' })).toMatchObject({ tasks: 5_000, at_least: true })
})

test('a count gives a place, before which there is no task that came later', async () => {
  using large = await manyTasks()
  const filters: readonly Filter[] = [{}, { user_id: 'ann' }, { status: 'failed', user_id: 'ann' }]
  const counted = filters.map((filter) => answer(large.sql, 'task_count', filter))
  expect(counted.map(({ tasks, before }) => [tasks, before])).toEqual([
    [many, many + 1],
    [many / 2, many + 1],
    [many / 6, many + 1],
  ])
  large.sql.run(
    `insert into tasks (task_key, tenant, session_id, task_id, status, user_id, submitted_at, head_hash)
     values (?, 'local', 's', 'later', 'failed', 'ann', '2026-01-02T00:00:00.000Z', '')`,
    [many + 6],
  )
  for (const [at, filter] of filters.entries()) {
    const { tasks = 0, before = 0 } = counted[at] ?? {}
    expect(answer(large.sql, 'task_count', filter).tasks).toBe(tasks + 1)
    expect(answer(large.sql, 'task_count', { ...filter, before }).tasks).toBe(tasks)
    expect(answer(large.sql, 'tasks', { ...filter, before, limit: 1 }).tasks).not.toMatchObject([
      { task_id: 'later' },
    ])
  }
  expect(answer(large.sql, 'task_count', { user_id: 'nobody' }).before).toBe(0)
})

/** How SQLite finds the keys of the tasks that are looked at. */
function plansOf(sql: Sql, filter: Filter): string[] {
  const plans: string[] = []
  const observed: Sql = {
    ...sql,
    each<Row>(text: string, values = []) {
      plans.push(
        ...sql.all<{ detail: string }>(`explain query plan ${text}`, values).map(({ detail }) => detail),
      )
      return sql.each<Row>(text, values)
    },
  }
  answer(observed, 'tasks', filter)
  return plans
}

const indexedFilters: readonly Filter[] = [
  { session_id: 's' },
  { user_id: 'ann' },
  { status: 'failed' },
  { status: ['failed', 'incomplete', 'open'] },
  { status: 'running' },
  { status: 'open' },
  { status: 'waiting' },
  { status: 'waiting_for_person' },
  { status: 'waiting_for_approval' },
  { status: 'waiting_for_provider' },
  { status: ['waiting_for_provider', 'waiting_for_limit'] },
  { workflow: 'w' },
  { workflow: null },
  { uses_workflow: 'w' },
  { skill: 's' },
  { profile: 'p' },
  { model: 'm' },
  { failure_class: 'internal' },
  { failure_pattern: 'It broke' },
  { text: 'words' },
  { submitted_since: '2026-01-01T00:00:00Z' },
  {},
]

test.each(indexedFilters)(
  '%j is answered in order from an index, so it is fast however many tasks there are',
  (filter) => {
    const plans = plansOf(model.sql, filter)
    expect(plans.join('\n')).not.toMatch(/TEMP B-TREE/)
    expect(plans.filter((each) => each.startsWith('SCAN') && !/looked|VIRTUAL TABLE/.test(each))).toEqual([])
  },
)

test.each(indexedFilters.filter((each) => !('user_id' in each) && !('session_id' in each)))(
  '%j of a user reads nothing of others',
  (filter) => {
    model.sql.run('delete from unindexed_tasks')
    const [, ...steps] = plansOf(model.sql, { ...filter, user_id: 'ann' })
    const sources = steps.slice(0, steps.indexOf('SCAN looked')).filter((each) => /^(SCAN|SEARCH)/.test(each))
    expect(sources.length).toBeGreaterThan(0)
    for (const source of sources) expect(source).toMatch(/user_id=\?|VIRTUAL TABLE/)
  },
)

test('the status counts each task in the state that the list shows, and each state is a filter', () => {
  const { by_status: counts, tasks } = answer(model.sql, 'status', {}) as QueryOutput<'status'>
  expect(counts['waiting_for_limit']).toBeGreaterThan(0)
  expect(Object.values(counts).reduce((sum, n) => sum + n, 0)).toBe(tasks)
  for (const [status, n] of Object.entries(counts))
    expect([status, listed(model.sql, { status } as Filter, 100).ids.length]).toEqual([status, n])
})
