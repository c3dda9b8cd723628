import type { SearchAnswer } from '@beaver/contracts'
import type { JsonObject } from '@beaver/core'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  answer as said,
  newStream,
  runStarted,
  singleTask,
  submitted,
  teamTask,
  toolResult,
  userMessage,
} from '../../test/journal-fixture.ts'
import { answer } from '../../test/checked-answer.ts'
import { openReadModel, type ReadModel } from '../read-model.ts'

const stream = newStream()
const model: ReadModel = openReadModel(':memory:', { readBlob: stream.readBlob })
const find = (query: string, more: JsonObject = {}): SearchAnswer =>
  answer(model.sql, 'search', { query, ...more })
const tasksOf = (found: SearchAnswer): string[] => [...new Set(found.hits.map((hit) => hit.task_id))]

beforeAll(async () => {
  singleTask(stream.log('zh', { session: '会话' }), {
    text: '请统计季度销售额',
    final: '季度销售额共计四十二万元。',
    tool: '华东 12\n华南 30',
  })
  teamTask(stream.log('team'))
  const odd = stream.log('odd')
  odd.write(
    submitted(odd.log),
    runStarted('r'),
    userMessage('r', 'a "quoted" 50% off_price \\path* AND NEAR(x) OR NOT'),
    toolResult('r', 'c', 'before\0after'),
  )
  odd.write(said('r', 'MiXeD Ünïcode 😀 emoji'))
  model.begin('S@1')
  await model.apply(stream.messages)
})

afterAll(() => model.close())

describe('search finds', () => {
  test('parts of Chinese sentences, of three characters and more by the index', () => {
    expect(tasksOf(find('季度销售额'))).toEqual(['zh'])
    expect(find('销售额').hits.map((hit) => hit.role)).toEqual(['assistant', 'user'])
  })

  test('one and two Chinese characters', () => {
    expect(tasksOf(find('华南'))).toEqual(['zh'])
    expect(tasksOf(find('元'))).toEqual(['zh'])
    expect(find('华北').hits).toEqual([])
  })

  test('only texts that hold all words, long and short', () => {
    expect(find('季度 元').hits.map((hit) => hit.role)).toEqual(['assistant'])
    expect(find('四十二 销售额 共计').hits.map((hit) => hit.role)).toEqual(['assistant'])
    expect(find('销售额 nowhere').hits).toEqual([])
  })

  test('words whatever their case', () => {
    expect(tasksOf(find('mixed'))).toEqual(['odd'])
    expect(tasksOf(find('ÜNÏCODE'))).toEqual(['odd'])
    expect(tasksOf(find('😀'))).toEqual(['odd'])
  })

  test('text after a NUL', () => {
    expect(tasksOf(find('after'))).toEqual(['odd'])
    expect(tasksOf(find('er'))).toContain('odd')
  })

  test('nothing in hidden prompts, skills and arguments', () => {
    expect(find('hidden').hits).toEqual([])
    expect(find('a.txt').hits).toEqual([])
  })

  test('the newest first, page by page, in one session when asked', () => {
    const first = find('report', { limit: 2 })
    const rest = find('report', { limit: 2, before: first.next! })
    expect([first.hits.length, first.more, rest.hits.length, rest.more]).toEqual([2, true, 1, false])
    expect([...first.hits, ...rest.hits].map((hit) => hit.taskseq)).toEqual([32, 19, 5])
    expect(find('report', { session_id: '会话' }).hits).toEqual([])
  })
})

describe('a query is words, never a language:', () => {
  test.each([
    '"quoted"',
    '50%',
    'off_price',
    '\\path*',
    'AND',
    'NEAR(',
    'NEAR(x)',
    'OR NOT',
    '"',
    '%',
    '_p',
    '*',
  ])('%s stands for itself', (query) => {
    expect(tasksOf(find(query))).toEqual(['odd'])
  })

  test.each([
    'qu*ted',
    'off%price',
    'o_d',
    'quoted AND missing',
    '"a" NEAR/2 "b"',
    '""',
    '{a b}:c',
    '^abc',
    'text:quoted',
    "'; drop table tasks; --",
  ])('%s finds nothing', (query) => {
    expect(find(query).hits).toEqual([])
  })

  test.each(['', '   ', '\0', '\n\t'])('without words (%j) it finds nothing', (query) => {
    expect(find(query)).toEqual({ hits: [], more: false, next: null })
  })

  test('any string has an answer', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (query) => Array.isArray(find(query).hits)),
      { numRuns: 300 },
    )
    fc.assert(
      fc.property(
        fc.string({
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
        }),
        (query) => Array.isArray(find(query).hits),
      ),
      { numRuns: 300 },
    )
  })
})

describe('a search of more texts than one answer looks at', () => {
  const many = newStream()
  const large: ReadModel = openReadModel(':memory:', { readBlob: many.readBlob })
  /** Around where one answer ends and the next one begins, among others. */
  const rare = Array.from({ length: 2_400 }, (_, i) => i).filter(
    (i) => [3, 895, 2_399].includes(i) || Math.abs((i % 1_000) - 400) < 4,
  )

  beforeAll(async () => {
    const { log, write } = many.log('large', { session: 'one' })
    write(submitted(log), runStarted('r'))
    for (let i = 0; i < 2_400; i++) write(userMessage('r', `common words ${rare.includes(i) ? 'xy' : '..'}`))
    large.begin('S@1')
    await large.apply(many.messages)
  })

  afterAll(() => large.close())

  /** Follows `next` to the end; each answer is further back than the one before. */
  function followed(query: string, more: JsonObject = {}): { taskseqs: number[]; answers: number } {
    const taskseqs: number[] = []
    let before: number | null = null
    for (let answers = 1; ; answers++) {
      const found: SearchAnswer = answer(large.sql, 'search', {
        query,
        limit: 100,
        ...more,
        ...(before === null ? {} : { before }),
      })
      taskseqs.push(...found.hits.map((hit) => hit.taskseq))
      if (!found.more) return { taskseqs, answers }
      expect(found.next).toBeLessThan(before ?? Infinity)
      before = found.next
    }
  }

  const places = rare.map((i) => i + 3).toReversed() // after the submission and the start of the run

  describe.each([
    ['the index knows all texts', true],
    ['the index knows some of them', false],
  ])('when %s', (_, indexed) => {
    beforeAll(() => {
      if (indexed) while (large.indexTexts());
      else large.sql.run('update text_index set position = ?', [1_900])
    })

    test.each([
      ['a short word', 'xy', {}],
      ['a long word and a short one', 'common xy', {}],
      ['one session', 'common xy', { session_id: 'one' }],
    ])('%s is found in all of them, once each, answer by answer', (_what, query, more) => {
      const { taskseqs, answers } = followed(query, more)
      expect(taskseqs).toEqual(places)
      expect(answers).toBeGreaterThan(1)
    })

    test('a word the index answers for ends with the first answer', () => {
      expect(followed('nowhere common').answers).toBeLessThanOrEqual(2)
      expect(followed('common', { session_id: 'other' }).taskseqs).toEqual([])
    })
  })
})

describe('a failure', () => {
  test('is found by what it says and by its class, once for each thing that failed', async () => {
    const stream = newStream()
    teamTask(stream.log('task-1'))
    using model = openReadModel(':memory:', { readBlob: stream.readBlob })
    model.begin('S@1')
    await model.apply(stream.messages)
    const hits = answer(model.sql, 'search', { query: 'evidence_missing read_file was not called' }).hits
    expect(hits.map(({ role, name, snippet }) => [role, name, snippet])).toEqual([
      ['failure', null, 'evidence_missing: The tool read_file was not called.'],
      ['failure', 'check', 'evidence_missing: The tool read_file was not called.'],
    ])
    expect(answer(model.sql, 'session_search', { query: 'evidence_missing', tenant: 'local' }).hits).toEqual(
      [],
    )
  })
})
