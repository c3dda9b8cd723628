import type { QueryOutput } from '@beaver/contracts'
import { type DataOf, event, type JsonObject } from '@beaver/core'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  answer as said,
  newStream,
  result,
  runStarted,
  singleTask,
  submitted,
  teamTask,
  toolResult,
  userMessage,
  workflowTask,
} from '../../test/journal-fixture.ts'
import { answer } from '../../test/checked-answer.ts'
import { openReadModel, type ReadModel } from '../read-model.ts'

type Hit = QueryOutput<'session_search'>['hits'][number]

const stream = newStream()
const model: ReadModel = openReadModel(':memory:', { readBlob: stream.readBlob })
const find = (query: string, more: JsonObject = {}): Hit[] =>
  answer(model.sql, 'session_search', { query, tenant: 'local', ...more }).hits
const tasksOf = (hits: Hit[]): string[] => [...new Set(hits.map((hit) => hit.task_id))]

beforeAll(async () => {
  singleTask(stream.log('zh', { session: '会话' }), {
    text: '请统计季度销售额',
    final: '季度销售额共计四十二万元。',
    tool: '华东 12\n华南 30',
  })
  singleTask(stream.log('zh2', { session: '会话' }), { text: '销售额再算一次', final: '好的' })
  singleTask(stream.log('elsewhere', { session: 's', tenant: 'other' }), {
    text: '季度销售额 of another tenant',
  })
  teamTask(stream.log('team', { session: 'reports' }))
  const odd = stream.log('odd', { session: 'odd' })
  odd.write(
    submitted(odd.log),
    runStarted('r'),
    userMessage('r', 'a "quoted" 50% off_price \\path* AND NEAR(x) OR NOT'),
    toolResult('r', 'c', 'before\0after'),
  )
  odd.write(said('r', 'MiXeD Ünïcode 😀 emoji'))
  const long = stream.log('long', { session: 'long' })
  long.write(
    submitted(long.log),
    runStarted('l'),
    userMessage('l', 'needle'),
    said('l', `${'padding '.repeat(500)}needle${' padding'.repeat(500)}`),
  )
  for (let i = 0; i < 60; i++) {
    const many = stream.log(`many-${i}`, { session: 'many' })
    many.write(submitted(many.log), runStarted(`m${i}`), userMessage(`m${i}`, 'haystack'))
  }
  const searched = stream.log('searched', { session: 'searched' })
  searched.write(
    submitted(searched.log),
    runStarted('q'),
    toolResult('q', 'c', 'found: 四十二', { tool: 'session_search' }),
    toolResult('q', 'd', 'read: 四十九'),
  )
  model.begin('S@1')
  await model.apply(stream.messages)
})

afterAll(() => model.close())

describe('session_search finds', () => {
  test('what was asked and answered in other sessions, with its place, its time and the text around the match', () => {
    expect(find('四十二', { session_id: 'mine' })).toEqual([
      {
        session_id: '会话',
        task_id: 'zh',
        role: 'assistant',
        excerpt: '季度销售额共计四十二万元。',
        at: expect.stringMatching(/^2026-01-01T00:00:0\d\.\d00Z$/) as string,
      },
    ])
  })

  test.each(['销售额', '季度 元', '四十二万元', '华南', '元', '度'])('Chinese: %s, of any length', (query) =>
    expect(tasksOf(find(query))).toContain('zh'),
  )

  test.each([
    'mixed',
    'ÜNÏCODE',
    '😀',
    'after',
    '"quoted"',
    '50%',
    'off_price',
    '\\path*',
    'NEAR(x)',
    'OR NOT',
    '%',
    '*',
  ])('%s', (query) => expect(tasksOf(find(query))).toEqual(['odd']))

  test('the newest first, however often an older text has the word', () => {
    expect(find('needle').map((hit) => hit.role)).toEqual(['assistant', 'user'])
    const [drowned] = find('needle')
    expect(drowned?.excerpt.length).toBeLessThan(330)
    expect(drowned?.excerpt).toMatch(/^….*needle.*…$/)
  })

  test('the newest of many', () =>
    expect(find('haystack', { limit: 2 }).map((hit) => hit.task_id)).toEqual(['many-59', 'many-58']))
})

test.each(['Zurich', 'ZÜRICH', 'Zu\u0308rich', 'un', 'ca va', 'Ça'])(
  'session_search finds %s with and without accents',
  async (query) => {
    const accents = newStream()
    using own = openReadModel(':memory:', { readBlob: accents.readBlob })
    const writer = accents.log('wrote')
    writer.write(submitted(writer.log), runStarted('z'), said('z', 'Ça va à Zürich? Cün.'))
    own.begin('S@1')
    await own.apply(accents.messages)
    expect(
      answer(own.sql, 'session_search', { query, tenant: 'local' }).hits.map(({ excerpt }) => excerpt),
    ).toEqual(['Ça va à Zürich? Cün.'])
    expect(answer(own.sql, 'search', { query }).hits.map(({ snippet }) => snippet)).toEqual([
      'Ça va à Zürich? Cün.',
    ])
  },
)

test('session_search and search find what was asked of a workflow and what it answered; why a task failed, only search finds', async () => {
  const made = newStream()
  using own = openReadModel(':memory:', { readBlob: made.readBlob })
  workflowTask(made.log('flow', { session: 'flows' }))
  const failed = made.log('failed', { session: 'failures' })
  const failure = { class: 'provider_refused', message: 'The key was refused.' } as const
  failed.write(
    submitted(failed.log),
    runStarted('f'),
    userMessage('f', 'try'),
    event('task_failed', result({ final_output: '', failure })),
  )
  own.begin('S@1')
  await own.apply(made.messages)
  const hits = (query: string): Hit[] => answer(own.sql, 'session_search', { query, tenant: 'local' }).hits
  expect(hits('Map the list').map(({ task_id, role }) => [task_id, role])).toEqual([['flow', 'user']])
  expect(hits('item-2 done').map(({ task_id, role }) => [task_id, role])).toEqual([['flow', 'assistant']])
  expect(hits('key refused')).toEqual([])
  expect(
    answer(own.sql, 'search', { query: 'key refused' }).hits.map(({ task_id, role }) => [task_id, role]),
  ).toEqual([['failed', 'failure']])
  expect(answer(own.sql, 'search', { query: 'Map the list' }).hits.map(({ task_id }) => task_id)).toEqual([
    'flow',
  ])
})

test('session_search finds only the sessions of a user, or those of nobody (D-67)', async () => {
  const made = newStream()
  using own = openReadModel(':memory:', { readBlob: made.readBlob })
  for (const user_id of ['Ada', 'Bob', undefined]) {
    const writer = made.log(`of-${user_id}`, { session: `of-${user_id}` })
    const given = submitted(writer.log).data as DataOf<'task_submitted'>
    writer.write(
      event('task_submitted', {
        ...given,
        request: { ...given.request, ...(user_id === undefined ? {} : { user_id }) },
      }),
    )
    writer.write(runStarted('u'), userMessage('u', 'a secret'))
  }
  own.begin('S@1')
  await own.apply(made.messages)
  const found = (more: object): string[] =>
    tasksOf(answer(own.sql, 'session_search', { query: 'secret', tenant: 'local', ...more }).hits)
  expect([found({ user_id: 'Ada' }), found({ user_id: 'ada' }), found({ user_id: null })]).toEqual([
    ['of-Ada'],
    [],
    ['of-undefined'],
  ])
  expect(found({})).toEqual(['of-undefined', 'of-Bob', 'of-Ada'])
})

describe('session_search leaves out', () => {
  test('the session that asks, unless it asks for itself too', () => {
    expect(find('销售额', { session_id: '会话' })).toEqual([])
    expect(tasksOf(find('销售额', { session_id: '会话', include_current: true })).toSorted()).toEqual([
      'zh',
      'zh2',
    ])
    expect(tasksOf(find('元', { session_id: '会话' }))).toEqual([])
  })

  test('the results of earlier searches, not those of other tools', () => {
    expect(tasksOf(find('四十二'))).toEqual(['zh'])
    expect(tasksOf(find('四十九'))).toEqual(['searched'])
  })

  test('other tenants', () => {
    expect(tasksOf(find('another tenant'))).toEqual([])
    expect(tasksOf(find('季度销售额', { tenant: 'other' }))).toEqual(['elsewhere'])
  })

  test('what workers of a team said and heard', () => {
    expect(find('Write the report').map((hit) => hit.role)).toEqual(['user'])
    expect(find('Do check')).toEqual([])
    expect(answer(model.sql, 'search', { query: 'Do check' })).not.toMatchObject({ hits: [] })
  })

  test.each(['hidden', 'hidden prompt', 'hidden skill body', 'a.txt', 'SequentialWorkflow'])(
    'prompts, skills and arguments: %s',
    (query) => expect(find(query)).toEqual([]),
  )
})

describe('any query', () => {
  test.each([
    [0, 1],
    [-3, 1],
    [1.5, 1],
    [50, 50],
    [51, 50],
    [1e9, 50],
  ])('with a limit of %d is answered with at most %d', (limit, count) =>
    expect(find('haystack', { limit })).toHaveLength(count),
  )

  test('without a limit is answered with at most ten', () => expect(find('haystack')).toHaveLength(10))

  test.each([
    '',
    ' \n\t',
    '\0',
    '""',
    'qu*ted',
    'quoted AND missing',
    '"a" NEAR/2 "b"',
    '^abc',
    'text:quoted',
    "'; drop table tasks; --",
  ])('%j finds nothing and harms nothing', (query) => expect(find(query)).toEqual([]))

  test('has an answer', () => {
    const odd = fc.string({
      unit: fc.constantFrom(
        '"',
        "'",
        '*',
        '(',
        ')',
        ' ',
        'a',
        'AND',
        'NEAR',
        '报',
        '\ud800',
        '\0',
        '%',
        '\\',
        '^',
        '-',
        ':',
      ),
      maxLength: 30,
    })
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), odd), (query) =>
        Array.isArray(find(query)),
      ),
      { numRuns: 300 },
    )
  })
})
