import type { QueryInput, QueryOutput } from '@beaver/contracts'
import { type DataOf, event } from '@beaver/core'
import type { FailureClass } from '@beaver/core/supervision'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answer } from '../../test/checked-answer.ts'
import { result, submitted } from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import type { ReadModel } from '../read-model.ts'
import type { Sql } from '../store/sql.ts'

interface Made {
  readonly id: string
  readonly user?: string
  readonly session?: string
  readonly workflow?: string
  readonly skill?: string
  readonly profile?: string
  /** `null`: it succeeds. */
  readonly failure: readonly [FailureClass, string] | null
}

const made: readonly Made[] = [
  { id: 'a1', user: 'ann', profile: 'clerk', failure: ['tool_timeout', 'read_file took 31 s.'] },
  { id: 'a2', user: 'ann', skill: 'report', failure: ['tool_timeout', 'read_file took 9 s.'] },
  {
    id: 'b1',
    user: 'bob',
    session: 's2',
    profile: 'clerk',
    failure: ['tool_timeout', 'read_file took 12 s.'],
  },
  { id: 'b2', user: 'bob', failure: ['tool_crash', 'read_file took 12 s.'] },
  { id: 'c1', workflow: 'workflow:map', failure: ['output_invalid', 'The field /total is missing.'] },
  { id: 'd1', user: 'ann', failure: null },
]

let model: ReadModel
beforeAll(async () => {
  model = await modelOf((stream) => {
    for (const { id, user, session = 's1', workflow, skill, profile, failure } of made) {
      stream.pass(60_000)
      const log = stream.log(id, { session })
      const given = submitted(log.log, 'Work', skill ?? null).data as DataOf<'task_submitted'>
      log.write(
        event('task_submitted', {
          ...given,
          request: {
            ...given.request,
            ...(user === undefined ? {} : { user_id: user }),
            ...(profile === undefined ? {} : { profile }),
            ...(workflow === undefined ? {} : { workflow: { name: workflow, arguments: {} } }),
          },
        }),
      )
      log.epoch = 1
      log.write(event('task_claimed', { daemon: 'd1' }))
      log.write(
        failure === null
          ? event('task_completed', result())
          : event('task_failed', result({ failure: { class: failure[0], message: failure[1] } })),
      )
    }
  })
})
afterAll(() => model.close())

const asked = (input: QueryInput<'failures'> = {}, sql: Sql = model.sql) => answer(sql, 'failures', input)
const groupsOf = (input: QueryInput<'failures'> = {}): unknown[] =>
  asked(input).groups.map(({ failure_class, pattern, task_ids }) => [failure_class, pattern, task_ids])

describe('given tasks of three users that failed in three ways, and one that did not', () => {
  test('when all are asked for, then there is a group for each class and message, the largest first', () => {
    expect(asked()).toMatchObject({ tasks: 5, looked_at: 5, at_least: false, more: false })
    expect(groupsOf()).toEqual([
      ['tool_timeout', 'read_file took <n> s.', ['b1', 'a2', 'a1']],
      ['output_invalid', 'The field <path> is missing.', ['c1']],
      ['tool_crash', 'read_file took <n> s.', ['b2']],
    ])
  })

  test('then a group has the message of its newest task, the time of its ends and where it is concentrated', () => {
    const [group] = asked().groups
    expect(group).toMatchObject({
      message: 'read_file took 12 s.',
      tasks: 3,
      mostly: [
        { kind: 'skill', name: 'report', tasks: 1 },
        { kind: 'profile', name: 'clerk', tasks: 2 },
        { kind: 'model', name: expect.any(String) as string, tasks: 3 },
      ],
    })
    const ended = (id: string): string | null =>
      answer(model.sql, 'tasks', { task_ids: [id] }).tasks[0]?.ended_at ?? null
    expect([group?.first_at, group?.last_at]).toEqual([ended('a1'), ended('b1')])
  })

  test.each([
    [{ user_id: 'ann' }, [['tool_timeout', 'read_file took <n> s.', ['a2', 'a1']]]],
    [{ user_id: 'nobody' }, []],
    [{ user_id: null }, [['output_invalid', 'The field <path> is missing.', ['c1']]]],
    [{ session_id: 's2' }, [['tool_timeout', 'read_file took <n> s.', ['b1']]]],
    [{ profile: 'clerk', user_id: 'ann' }, [['tool_timeout', 'read_file took <n> s.', ['a1']]]],
    [{ skill: 'report' }, [['tool_timeout', 'read_file took <n> s.', ['a2']]]],
    [{ uses_workflow: 'workflow:map' }, [['output_invalid', 'The field <path> is missing.', ['c1']]]],
    [{ failure_class: 'tool_crash' as const }, [['tool_crash', 'read_file took <n> s.', ['b2']]]],
    [
      { submitted_since: '2026-01-01T00:04:00Z', submitted_before: '2026-01-01T00:05:00Z' },
      [['tool_crash', 'read_file took <n> s.', ['b2']]],
    ],
    [{ tenant: 'other' }, []],
  ])('when %j is asked for, then only those tasks count', (input, groups) => {
    expect(groupsOf(input)).toEqual(groups)
  })

  test('when fewer groups are asked for, then the answer says that it leaves out some', () => {
    expect(asked({ limit: 1 })).toMatchObject({ tasks: 5, more: true, groups: [{ tasks: 3 }] })
  })
})

const many = 20_001

test('given more failed tasks than are looked at, then the numbers are those of the newest', async () => {
  using large = await modelOf(() => {})
  large.sql
    .run(`with recursive keys (key) as (select 1 union all select key + 1 from keys where key < ${many * 2})
    insert into tasks (task_key, tenant, session_id, task_id, status, user_id, failure_class, failure_message, head_hash)
    select key, 'local', 's', 't' || key, 'failed', iif(key % 2 = 0, 'ann', 'bob'), 'tool_crash', 'It took ' || key || ' s.', '' from keys`)
  expect(asked({}, large.sql)).toMatchObject({
    tasks: 20_000,
    looked_at: 20_000,
    at_least: true,
    groups: [{ tasks: 20_000, pattern: 'It took <n> s.', task_ids: { length: 5 } }],
  })
  // A user looks at own tasks only: those of others do not push them out.
  large.sql.run("update tasks set user_id = 'cid' where task_key = 1")
  expect(asked({ user_id: 'cid' }, large.sql)).toMatchObject({
    tasks: 1,
    looked_at: 1,
    at_least: false,
    groups: [{ task_ids: ['t1'] }],
  })
})

test.each([undefined, 'ann', 'bob'])(
  'each group leads to its tasks and to no others, also of one user (%s)',
  (user_id) => {
    const ofUser = user_id === undefined ? {} : { user_id }
    const { groups }: QueryOutput<'failures'> = answer(model.sql, 'failures', ofUser)
    expect(groups.length).toBeGreaterThan(0)
    for (const { failure_class, pattern, tasks } of groups) {
      const group = { ...ofUser, failure_class, failure_pattern: pattern }
      const found: QueryOutput<'tasks'> = answer(model.sql, 'tasks', group)
      expect([pattern, found.tasks.length]).toEqual([pattern, tasks])
      expect(answer(model.sql, 'task_count', group)).toMatchObject({ tasks, at_least: false })
    }
  },
)
