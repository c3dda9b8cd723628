import type { QueryOutput } from '@beaver/contracts'
import type { JsonObject } from '@beaver/core'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answer as said, newStream, runStarted, singleTask, submitted, teamTask, toolResult, userMessage } from '../../test/journal-fixture.ts'
import { answer } from '../../test/checked-answer.ts'
import { openReadModel, type ReadModel } from '../read-model.ts'

type Hit = QueryOutput<'session_search'>['hits'][number]

const stream = newStream()
const model: ReadModel = openReadModel(':memory:', { readBlob: stream.readBlob })
const find = (query: string, more: JsonObject = {}): Hit[] => answer(model.sql, 'session_search', { query, tenant: 'local', ...more }).hits
const tasksOf = (hits: Hit[]): string[] => [...new Set(hits.map((hit) => hit.task_id))]

beforeAll(async () => {
  singleTask(stream.log('zh', { session: '会话' }), { text: '请统计季度销售额', final: '季度销售额共计四十二万元。', tool: '华东 12\n华南 30' })
  singleTask(stream.log('zh2', { session: '会话' }), { text: '销售额再算一次', final: '好的' })
  singleTask(stream.log('elsewhere', { session: 's', tenant: 'other' }), { text: '季度销售额 of another tenant' })
  teamTask(stream.log('team', { session: 'reports' }))
  const odd = stream.log('odd', { session: 'odd' })
  odd.write(submitted(odd.log), runStarted('r'), userMessage('r', 'a "quoted" 50% off_price \\path* AND NEAR(x) OR NOT'), toolResult('r', 'c', 'before\0after'))
  odd.write(said('r', 'MiXeD Ünïcode 😀 emoji'))
  const long = stream.log('long', { session: 'long' })
  long.write(submitted(long.log), runStarted('l'), userMessage('l', 'needle'), said('l', `${'padding '.repeat(500)}needle${' padding'.repeat(500)}`))
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

  test.each(['销售额', '季度 元', '四十二万元', '华南', '元', '度'])('Chinese: %s, of any length', (query) => expect(tasksOf(find(query))).toContain('zh'))

  test.each(['mixed', 'ÜNÏCODE', '😀', 'after', '"quoted"', '50%', 'off_price', '\\path*', 'NEAR(x)', 'OR NOT', '%', '*'])('%s', (query) =>
    expect(tasksOf(find(query))).toEqual(['odd']),
  )

  test('the best first: a text that is the word before one that drowns it', () => {
    expect(find('needle').map((hit) => hit.role)).toEqual(['user', 'assistant'])
    const [, drowned] = find('needle')
    expect(drowned?.excerpt.length).toBeLessThan(330)
    expect(drowned?.excerpt).toMatch(/^….*needle.*…$/)
  })

  test('of equals the newest first', () => expect(find('haystack', { limit: 2 }).map((hit) => hit.task_id)).toEqual(['many-59', 'many-58']))
})

describe('session_search leaves out', () => {
  test('the session that asks, unless it asks for itself too', () => {
    expect(find('销售额', { session_id: '会话' })).toEqual([])
    expect(tasksOf(find('销售额', { session_id: '会话', include_current: true })).toSorted()).toEqual(['zh', 'zh2'])
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

  test.each(['hidden', 'hidden prompt', 'hidden skill body', 'a.txt', 'SequentialWorkflow'])('prompts, skills and arguments: %s', (query) =>
    expect(find(query)).toEqual([]),
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
  ])('with a limit of %d is answered with at most %d', (limit, count) => expect(find('haystack', { limit })).toHaveLength(count))

  test('without a limit is answered with at most ten', () => expect(find('haystack')).toHaveLength(10))

  test.each(['', ' \n\t', '\0', '""', 'qu*ted', 'quoted AND missing', '"a" NEAR/2 "b"', '^abc', 'text:quoted', "'; drop table tasks; --"])(
    '%j finds nothing and harms nothing',
    (query) => expect(find(query)).toEqual([]),
  )

  test('has an answer', () => {
    const odd = fc.string({
      unit: fc.constantFrom('"', "'", '*', '(', ')', ' ', 'a', 'AND', 'NEAR', '报', '\ud800', '\0', '%', '\\', '^', '-', ':'),
      maxLength: 30,
    })
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), odd), (query) => Array.isArray(find(query))),
      { numRuns: 300 },
    )
  })
})
