import type { MachineRequirement, RunFacts } from '@beaver/core/evidence'
import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { call, factsWith as facts, passes, verdict } from '../test/evidence.ts'

describe('output_cites', () => {
  const cites = (over: Omit<MachineRequirement & { kind: 'output_cites' }, 'kind'>): MachineRequirement => ({
    kind: 'output_cites',
    ...over,
  })
  const found =
    '{"results": [{"url": "https://a.example/1", "title": "One"}, {"url": "https:\\u002f\\u002fb.example/2?q=x&y=1"}]}'
  const searched = (text: string) =>
    facts(text, {
      tools: [
        call(5, 'web_search', found, { query: 'x' }),
        call(8, 'web_search', 'https://c.example', {}, false),
      ],
    })

  describe('with sources', () => {
    it('passes if the output names each source as a whole', () => {
      expect(
        verdict(
          cites({ sources: ['doc-1', 'https://a.example/1'] }),
          facts('See [doc-1](https://a.example/1/).'),
        ),
      ).toMatchObject({
        passed: true,
        rests_on: [20],
      })
      expect(verdict(cites({ sources: ['doc-1'] }), facts('See doc-12 and xdoc-1.'))).toEqual({
        passed: false,
        detail: 'The output cites 0 of 1 sources; 1 required: it does not name "doc-1".',
        rests_on: [20],
      })
    })

    it('compares a URL without the text around it', () => {
      const text = '[x](https://a.example/x_(y)), <https://b.example/>; https://c.example/z.'
      const named = [
        'https://a.example/x_(y)',
        'http://B.example',
        'https://c.example/z',
        'https://a.example/x_',
        'https://c.example',
      ]
      expect(named.map((source) => passes(cites({ sources: [source] }), facts(text)))).toEqual([
        true,
        true,
        true,
        false,
        false,
      ])
    })

    it('needs only times_min of the sources', () => {
      const sources = ['a.md', 'b.md', 'c.md']
      expect(
        [1, 2, 3].map((times_min) => passes(cites({ sources, times_min }), facts('From a.md and c.md.'))),
      ).toEqual([true, true, false])
    })

    it('finds a name in a script without spaces, where no spaces surround it', () =>
      expect(passes(cites({ sources: ['年报'] }), facts('公司年报显示'))).toBe(true))
  })

  describe('with sources and from_tool', () => {
    const read = facts('From a.md, b.md and c.md.', {
      tools: [
        call(5, 'read_file', 'text', { path: 'a.md' }),
        call(7, 'read_file', 'see also b.md', { path: 'x.md' }),
        call(9, 'read_file', '', { path: 'c.md' }, false),
      ],
    })

    it('counts a source that a successful call received or returned', () => {
      expect(verdict(cites({ sources: ['a.md', 'b.md'], from_tool: 'read_file' }), read)).toMatchObject({
        passed: true,
        rests_on: [5, 7, 20],
      })
      expect(verdict(cites({ sources: ['a.md', 'c.md'], from_tool: 'read_file' }), read)).toEqual({
        passed: false,
        detail:
          'The output cites 1 of 2 sources of read_file; 2 required: read_file neither received nor returned "c.md".',
        rests_on: [5, 7, 20],
      })
      expect(passes(cites({ sources: ['a.md'], from_tool: 'list_files' }), read)).toBe(false)
    })

    it('with only, fails for a URL that the tool did not give', () => {
      const only = cites({ sources: ['a.md'], from_tool: 'read_file', only: true })
      expect([
        passes(only, read),
        passes(only, { ...read, outputText: 'From a.md and https://made.up.' }),
      ]).toEqual([true, false])
    })

    it('does not count a source that the output does not name', () => {
      expect(
        passes(cites({ sources: ['a.md'], from_tool: 'read_file' }), { ...read, outputText: 'From a file.' }),
      ).toBe(false)
    })
  })

  describe('with from_tool', () => {
    it('passes if the output names a URL that the tool returned, with or without JSON escapes', () => {
      expect(
        verdict(cites({ from_tool: 'web_search' }), searched('As **https://A.example/1#top** says.')),
      ).toMatchObject({ passed: true, rests_on: [5, 20] })
      expect(
        passes(
          cites({ from_tool: 'web_search', times_min: 2 }),
          searched('(https://a.example/1), http://b.example/2?q=x&y=1.'),
        ),
      ).toBe(true)
    })

    it('counts a page that was fetched as a source', () => {
      const fetched = facts('https://a.example/9', {
        tools: [call(5, 'web_fetch', 'A page.', { url: 'https://a.example/9' })],
      })
      expect(passes(cites({ from_tool: 'web_fetch' }), fetched)).toBe(true)
    })

    it('counts different URLs, not how often they are named', () => {
      expect(
        passes(
          cites({ from_tool: 'web_search', times_min: 2 }),
          searched('https://a.example/1 https://a.example/1/'),
        ),
      ).toBe(false)
    })

    it('fails for a URL that only a failed call returned, and for a part of a URL', () => {
      expect(
        verdict(cites({ from_tool: 'web_search' }), searched('https://c.example https://a.example')),
      ).toEqual({
        passed: false,
        detail: 'The output cites 0 different URLs of web_search, which gave 2; 1 required.',
        rests_on: [5, 20],
      })
    })

    it('fails if the tool was not called', () =>
      expect(verdict(cites({ from_tool: 'web_search' }), facts('https://a.example/1'))).toMatchObject({
        passed: false,
        rests_on: [20],
      }))

    it('with only, fails for a URL that the tool did not give', () => {
      const only = cites({ from_tool: 'web_search', only: true })
      expect(passes(only, searched('https://a.example/1'))).toBe(true)
      expect(passes(only, searched('https://a.example/1 and https://made.up/x'))).toBe(false)
      expect(verdict(only, searched('https://a.example/1 and https://made.up/x')).detail).toContain(
        'It also cites what web_search did not give: "https://made.up/x".',
      )
    })
  })
})

const received = (outputText: string, ...outputs: string[]): RunFacts =>
  facts(outputText, { given: { outputs, texts: ['The task is about 2024.', 'Name 3 points.'] } })

describe('numbers_from_dependencies', () => {
  const wants = (over: { allow?: number[]; integers_below?: number } = {}): MachineRequirement => ({
    kind: 'numbers_from_dependencies',
    ...over,
  })

  it('passes if every figure is in an output that the node received, in the task or in its instruction', () => {
    expect(
      verdict(
        wants(),
        received('In 2024, 3 points: HK$1.2bn and 5%.', 'Revenue: HK$1,200 million', 'Growth: 5%'),
      ),
    ).toEqual({
      passed: true,
      detail: 'All 4 numbers of the output stand in what the node was given.',
      rests_on: [20],
    })
  })

  it('fails for a figure that is in none of them', () => {
    expect(verdict(wants(), received('HK$1.3bn', 'Revenue: HK$1,200 million'))).toEqual({
      passed: false,
      detail: 'A number of the output stands nowhere in what the node was given: HK$1.3bn.',
      rests_on: [20],
    })
    expect(passes(wants(), facts('12'))).toBe(false)
    expect([
      passes(wants({ allow: [12] }), facts('12')),
      passes(wants({ integers_below: 13 }), facts('12')),
    ]).toEqual([true, true])
  })
})

describe('quotes_from_dependencies', () => {
  const wants = (over: { times_min?: number; chars_min?: number } = {}): MachineRequirement => ({
    kind: 'quotes_from_dependencies',
    ...over,
  })
  const source =
    'The board met on Monday.\nIt *approved* the budget — without changes, as “planned”. 董事会批准了全年预算方案，没有修改。'

  test.each<[string, boolean]>([
    ['It says "The board met on Monday."', true],
    ['It says “It approved the budget - without changes”.', true],
    ['It says "The board … approved the budget".', true],
    ['它说「董事会批准了全年预算方案」。', true],
    ['> The board met on\n> Monday.\n\nSo it is.', true],
    ['It says "The board met on Tuesday."', false],
    ['It says "approved the budget … The board met".', false],
    ['It says "The board met on Monday." and "nobody was against it".', false],
    ['它说“董事会否决了全年预算方案”。', false],
    ['> The board resigned.', false],
    ['It says that the board met, a "good" thing.', false],
    ['```json\n{"a": "The board resigned today"}\n```\n"The board met on Monday."', true],
    ['No quotation.', false],
  ])('%j: %j', (text, expected) =>
    expect(passes(wants(), received(text, 'Another text.', source))).toBe(expected),
  )

  it('counts the quotations, and leaves out short ones', () => {
    const text = '"The board met" and "on Monday."'
    expect([1, 2].map((times_min) => passes(wants({ times_min }), received(text, source)))).toEqual([
      true,
      false,
    ])
    expect(passes(wants({ times_min: 2, chars_min: 4 }), received(text, source))).toBe(true)
    expect(verdict(wants(), received('"nobody was against it"', source))).toEqual({
      passed: false,
      detail:
        'A quotation of the output stands in no output that the node received: "nobody was against it".',
      rests_on: [20],
    })
  })

  it('reads a long text in little time', async () => {
    const work = (): void => {
      for (const unit of ['"', '“', '> a\n', '```\n', '```a\n', '"a" ', '…', '`', '_', '*'])
        passes(wants(), received(unit.repeat(100_000 / unit.length), source))
    }
    expect(await ownMs(work)).toBeLessThan(5_000)
  })
})

describe('numbers_from_tools', () => {
  const wants = (
    over: Partial<MachineRequirement & { kind: 'numbers_from_tools' }> = {},
  ): MachineRequirement => ({
    kind: 'numbers_from_tools',
    tools: ['file_stats'],
    ...over,
  })
  const counted = (text: string, ...results: string[]): RunFacts =>
    facts(text, { tools: results.map((result, i) => call(5 + 2 * i, 'file_stats', result)) })

  it('passes if every number is in a result, and rests on the results that were needed', () => {
    const of = counted('1,234 files, 12.5 % of them new', '{"files":1234}', '{"unused":1}', '{"share":0.125}')
    expect(verdict(wants(), of)).toEqual({
      passed: true,
      detail: 'All 2 numbers of the output stand in results of file_stats.',
      rests_on: [5, 9, 20],
    })
  })

  it('fails for a number that is in no result, names it, and rests on all results that were read', () => {
    expect(verdict(wants(), counted('12 files, 13 folders, 13 links', '{"files":12}', '{}'))).toEqual({
      passed: false,
      detail: 'A number of the output stands in no result of file_stats: 13.',
      rests_on: [5, 7, 20],
    })
  })

  test.each<[string, string, boolean]>([
    ['no number', '', true],
    ['4.20', '{"x":4.2}', true],
    ['4.2', '{"x":4.21}', false],
    ['12', '{"x":120}', false],
    ['12%', '{"x":12}', true],
    ['12%', '{"x":0.12}', true],
    ['0.12', '12%', true],
    ['12', '{"x":0.12}', false],
    ['fell by 5', '{"change":-5}', true],
    ['-5', '{"change":5}', false],
    ['-5', '{"change":-5}', true],
    ['１，２３４', '1234', true],
    ['[100,200]', '{"x":100,"y":200}', true],
    ['[100,300]', '{"x":100,"y":200}', false],
    ['1234', '1,234', true],
    ['12', '{"text":"total:\\n12 files"}', true],
    ['12', '{"text":"a total\\n13 files"}', false],
    ['2026年1月5日', '2026-01-05T10:00:00Z', true],
    ['UTF-8 and sha256', '', true],
    ['1. First\n2. Second', '', true],
    ['1) 7 files', '7', true],
    ['version 1.2.3', '"1.2.3"', true],
    ['version 1.2.4', '"1.2.3"', false],
  ])('with the output %j and the result %j, passes: %j', (text, result, expected) =>
    expect(passes(wants(), counted(text, result))).toBe(expected),
  )

  it('reads only successful calls of the named tools', () => {
    const tools = [call(5, 'file_stats', '12', {}, false), call(7, 'other', '12')]
    expect(passes(wants(), facts('12', { tools }))).toBe(false)
    expect(passes(wants({ tools: ['file_stats', 'other'] }), facts('12', { tools }))).toBe(true)
  })

  it('accepts the numbers in allow, and whole numbers below integers_below', () => {
    expect(passes(wants({ allow: [100, -1.5] }), counted('100 and -1.5', ''))).toBe(true)
    expect(passes(wants({ allow: [100] }), counted('101', ''))).toBe(false)
    expect(
      ['9', '10', '-9', '9.5', '9%'].map((text) => passes(wants({ integers_below: 10 }), counted(text, ''))),
    ).toEqual([true, false, false, false, false])
  })

  it('fails without a successful call of the tools, even for a text without a number', () => {
    const expected = {
      passed: false,
      detail: 'No call of file_stats succeeded, so no number of the output can come from one.',
      rests_on: [20],
    }
    expect(verdict(wants(), counted('All is well.'))).toEqual(expected)
    expect(
      verdict(wants(), facts('All is well.', { tools: [call(5, 'file_stats', '12', {}, false)] })),
    ).toEqual(expected)
    expect(passes(wants(), counted('All is well.', ''))).toBe(true)
  })

  test.each([
    'USD9999m',
    'EUR8888',
    'RMB7777',
    'No.9999',
    'FY2031',
    '٩٩٩٩',
    '९९९९',
    '９９９９',
    '𝟗𝟗𝟗𝟗',
    '九千万元',
    'ninety percent',
  ])('fails for %s, which no result has', (text) =>
    expect(passes(wants(), counted(`It is ${text}.`, '{"total":12}'))).toBe(false),
  )

  it('finds nothing in a result that was not kept', () => {
    expect(passes(wants(), facts('12', { tools: [{ taskseq: 5, tool: 'file_stats', success: true }] }))).toBe(
      false,
    )
  })

  it('passes for any numbers that were copied from a result, and fails for one more that is not in it', () => {
    const numbers = fc.array(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(numbers, (list) => {
        const of = counted(list.join(' and '), JSON.stringify({ list }))
        expect(passes(wants(), of)).toBe(true)
        expect(passes(wants(), { ...of, outputText: `${of.outputText} and 2000000000.5` })).toBe(false)
      }),
    )
  })
})
