import type { EvidenceRequirement, MachineRequirement, RunFacts } from '@beaver/core/evidence'
import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { call, factsWith as facts, passes, verdict } from '../test/evidence.ts'
import { evaluateNode } from './evaluate.ts'

describe('tool_succeeded with arguments_match', () => {
  const wants = (arguments_match: Record<string, unknown>, times_min?: number): MachineRequirement => ({
    kind: 'tool_succeeded',
    tool: 'read_file',
    arguments_match,
    ...(times_min === undefined ? {} : { times_min }),
  })
  const read = facts('', {
    tools: [
      call(5, 'read_file', 'x', { path: 'a.txt', bytes_max: 10 }),
      call(9, 'read_file', '', { path: 'b.txt' }, false),
    ],
  })

  it('passes if a successful call has these arguments, and rests on the call and on the answer that asked for it', () => {
    expect(verdict(wants({ path: 'a.txt' }), read)).toEqual({
      passed: true,
      detail:
        'The tool read_file was called once with arguments that contain {"path":"a.txt"} and succeeded once; once required.',
      rests_on: [4, 5],
    })
  })

  it('fails if only a failed call has them', () => {
    expect(verdict(wants({ path: 'b.txt' }), read)).toMatchObject({ passed: false, rests_on: [8, 9] })
  })

  it('fails if the calls have other arguments, says so, and rests on all of them', () => {
    expect(verdict(wants({ path: 'c.txt' }), read)).toEqual({
      passed: false,
      detail:
        'The tool read_file was not called with arguments that contain {"path":"c.txt"} (2 times with others).',
      rests_on: [4, 5, 8, 9],
    })
  })

  it('counts only the calls that match', () => expect(passes(wants({ path: 'a.txt' }, 2), read)).toBe(false))

  it('is not satisfied by arguments that were not kept or are not JSON', () => {
    expect(passes(wants({}), facts('', { tools: [{ taskseq: 5, tool: 'read_file', success: true }] }))).toBe(
      false,
    )
    expect(passes(wants({}), facts('', { tools: [call(5, 'read_file', 'x', '{"path":')] }))).toBe(false)
  })

  test.each<[Record<string, unknown>, unknown, boolean]>([
    [{}, {}, true],
    [{}, '', true],
    [{}, [], false],
    [{ a: 1 }, { a: 1, b: 2 }, true],
    [{ a: 1 }, '{"a": 1.0}', true],
    [{ a: 1 }, { a: '1' }, false],
    [{ a: null }, {}, false],
    [{ a: null }, { a: null }, true],
    [{ a: { b: 'x' } }, { a: { b: 'x', c: 1 } }, true],
    [{ a: { b: 'x' } }, { a: { b: 'xy' } }, false],
    [{ a: { b: 'x' } }, { a: ['x'] }, false],
    [{ a: ['x'] }, { a: ['y', 'x'] }, true],
    [{ a: ['x', 'z'] }, { a: ['y', 'x'] }, false],
    [{ a: [] }, { a: ['x'] }, true],
    [{ a: [{ b: 1 }] }, { a: [{ b: 1, c: 2 }] }, true],
    [JSON.parse('{"__proto__": {}}') as Record<string, unknown>, {}, false],
  ])('%j is contained in %j: %j', (wanted, args, holds) => {
    expect(passes(wants(wanted), facts('', { tools: [call(5, 'read_file', 'x', args)] }))).toBe(holds)
  })
})

describe('output_matches', () => {
  const matches = (pattern: string, text: string): boolean =>
    passes({ kind: 'output_matches', pattern }, facts(text))

  it('has bounded time for a pattern with which a backtracking engine has none', async () => {
    const work = (): void => {
      expect(matches('^(a+)+$', `${'a'.repeat(100_000)}!`)).toBe(false)
      expect(matches('(x+x+)+y', 'x'.repeat(100_000))).toBe(false)
    }
    expect(await ownMs(work)).toBeLessThan(5_000)
  })

  test.each<[string, string, boolean]>([
    ['\\p{Script=Han}{2}', '净利', true],
    ['\\p{sc=Greek}', 'x', false],
    ['\\P{Script=Han}', '净', false],
    ['\\u51c0', '净', true],
    ['(?<year>\\d{4})', '2026', true],
    ['(?i)revenue', 'REVENUE', true],
    ['^b$', 'a\nb', false],
    ['(?m)^b$', 'a\nb', true],
    ['.', '😀', true],
    ['^.$', '😀', true],
  ])('/%s/ on %j: %j', (pattern, text, expected) => expect(matches(pattern, text)).toBe(expected))

  it('fails a pattern of an older journal that RE2 does not support, and says why', () => {
    expect(verdict({ kind: 'output_matches', pattern: '(?=a)' }, facts('a'))).toMatchObject({
      passed: false,
      detail: expect.stringContaining(
        'cannot be checked against /(?=a)/: invalid or unsupported Perl syntax',
      ),
    })
  })
})

describe('output_contains', () => {
  const wants = (...texts: string[]): MachineRequirement => ({ kind: 'output_contains', texts })

  it('passes if the output contains every text exactly', () => {
    expect(verdict(wants('Revenue', '净利'), facts('# Revenue\n净利润'))).toEqual({
      passed: true,
      detail: 'The output contains "Revenue", "净利".',
      rests_on: [20],
    })
    expect(passes(wants('revenue'), facts('Revenue'))).toBe(false)
  })

  it('names the missing texts, but only some of many', () => {
    expect(verdict(wants('a', 'b', 'c'), facts('b')).detail).toBe(
      'The output does not contain 2 of 3 required texts: "a", "c".',
    )
    expect(verdict(wants('1', '2', '3', '4', '5', '6', '7'), facts('')).detail).toContain('"5" and 2 more.')
    expect(verdict(wants('x'.repeat(500)), facts('')).detail.length).toBeLessThan(200)
  })
})

describe('output_schema', () => {
  const schema = {
    type: 'object',
    properties: {
      total: { type: 'integer', minimum: 0 },
      rows: { type: 'array', items: { type: 'string' } },
    },
    required: ['total'],
  }
  const wants: MachineRequirement = { kind: 'output_schema', schema }

  test.each([
    '{"total": 3}',
    ' {"total": 3, "rows": ["a"], "more": 1}\n',
    '```json\n{"total": 3}\n```',
    '~~~\n{"total": 3}\n~~~',
  ])('accepts %j', (text) => {
    expect(verdict(wants, facts(text))).toEqual({
      passed: true,
      detail: 'The output fits its JSON Schema.',
      rests_on: [20],
    })
  })

  test.each<[string, string]>([
    ['', 'is not JSON'],
    ['There are 3.', 'is not JSON'],
    ['Here it is:\n```json\n{"total": 3}\n```', 'is not JSON'],
    ['```json\n{"total": 3}\n```\n```json\n{}\n```', 'is not JSON'],
    ['```json\n{"total": 3}', 'is not JSON'],
    ['{}', 'total'],
    ['{"total": -1}', 'total'],
    ['{"total": 1.5}', 'total'],
    ['{"total": "3"}', 'total: Invalid input: expected integer'],
    ['{"total": 3, "rows": ["a", 1]}', 'rows.1'],
    ['[]', 'expected object'],
    ['null', 'expected object'],
  ])('refuses %j: %s', (text, words) => {
    const { passed, detail } = verdict(wants, facts(text))
    expect(passed).toBe(false)
    expect(detail).toContain(words)
  })

  it('does not fill in a default for a missing field', () => {
    const defaulted = { type: 'object', properties: { a: { type: 'string', default: 'x' } }, required: ['a'] }
    expect(passes({ kind: 'output_schema', schema: defaulted }, facts('{}'))).toBe(false)
  })

  it('accepts a property with the name default', () => {
    const named = { type: 'object', properties: { default: { type: 'string' } }, required: ['default'] }
    expect([
      passes({ kind: 'output_schema', schema: named }, facts('{}')),
      passes({ kind: 'output_schema', schema: named }, facts('{"default":"x"}')),
    ]).toEqual([false, true])
  })

  it('fails an output that is nested too deeply to read, and does not throw', () => {
    const list = { $ref: '#/$defs/list', $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } } }
    expect(passes({ kind: 'output_schema', schema: list }, facts('[[[]]]'))).toBe(true)
    expect(
      passes({ kind: 'output_schema', schema: list }, facts('['.repeat(50_000) + ']'.repeat(50_000))),
    ).toBe(false)
  })
})

describe('files_exist', () => {
  const wants: MachineRequirement = { kind: 'files_exist', paths: ['report.md', 'data/x.csv'] }
  const looked = (...found: NonNullable<RunFacts['files']>['found']): RunFacts =>
    facts('done', { files: { taskseq: 18, found } })

  it('passes if each path is a file, and rests on the check of the files', () => {
    const of = looked(
      { path: 'report.md', found: 'file', bytes: 12 },
      { path: 'data/x.csv', found: 'file', bytes: 0 },
    )
    expect(verdict(wants, of)).toEqual({
      passed: true,
      detail: '"report.md" (12 bytes), "data/x.csv" (0 bytes) exist in the workspace.',
      rests_on: [18],
    })
  })

  it('says for each missing file what was found at its path', () => {
    const of = looked(
      { path: 'report.md', found: 'folder', bytes: null },
      { path: 'data/x.csv', found: 'refused', bytes: null },
    )
    expect(verdict(wants, of)).toEqual({
      passed: false,
      detail:
        '2 of 2 required files missing: "report.md" is a folder, "data/x.csv" lies outside of the workspace.',
      rests_on: [18],
    })
  })

  it('fails if no paths were looked up, whatever the text claims', () => {
    expect(verdict(wants, facts('I wrote report.md.'))).toMatchObject({ passed: false, rests_on: [] })
    expect(passes(wants, looked({ path: 'report.md', found: 'file', bytes: 1 }))).toBe(false)
  })
})

describe('a node', () => {
  const rule: MachineRequirement = { kind: 'output_length', min: 5 }

  it('has no checks if it demands nothing', () =>
    expect(evaluateNode({ required_evidence: [] }, facts(''))).toEqual({ passed: true, checks: [] }))

  it('is checked against its evidence and its rules; its contract is recorded and not checked', () => {
    const { passed, checks } = evaluateNode(
      {
        required_evidence: ['two sources'],
        validation_rules: [rule, 'be brief'],
        evidence_contract: 'Name the file.',
      },
      facts('x'),
    )
    expect(passed).toBe(false)
    expect(checks.map(({ field, requirement, status }) => [field, requirement, status])).toEqual([
      [undefined, 'two sources', 'not_checked'],
      ['validation_rules', rule, 'failed'],
      ['validation_rules', 'be brief', 'not_checked'],
      ['evidence_contract', 'Name the file.', 'not_checked'],
    ])
  })

  it('passes exactly if no check of either field failed', () => {
    const requirement: fc.Arbitrary<EvidenceRequirement> = fc.oneof(
      fc.constant('in words'),
      fc.record({ kind: fc.constant('output_length' as const), min: fc.nat(6) }),
      fc.record({
        kind: fc.constant('output_contains' as const),
        texts: fc.constantFrom<string[]>(['a'], ['b'], ['a', 'c']),
      }),
      fc.record({
        kind: fc.constant('numbers_from_tools' as const),
        tools: fc.constant<string[]>(['t']),
        integers_below: fc.constantFrom(0, 5),
      }),
      fc.record({
        kind: fc.constant('files_exist' as const),
        paths: fc.constantFrom<string[]>(['x'], ['y']),
      }),
      fc.record({ kind: fc.constant('output_matches' as const), pattern: fc.constantFrom('^a', '\\d$') }),
    )
    const demands = fc.record({
      required_evidence: fc.array(requirement),
      validation_rules: fc.array(requirement),
    })
    const of = facts('a b 3', { files: { taskseq: 4, found: [{ path: 'x', found: 'file', bytes: 1 }] } })
    fc.assert(
      fc.property(demands, (node) => {
        const { passed, checks } = evaluateNode(node, of)
        expect(passed).toBe(checks.every((check) => check.status !== 'failed'))
        expect(checks.map((check) => check.requirement)).toEqual([
          ...node.required_evidence,
          ...node.validation_rules,
        ])
        for (const check of checks)
          expect(check.status === 'not_checked').toBe(typeof check.requirement === 'string')
      }),
    )
  })
})
