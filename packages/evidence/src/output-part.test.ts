import { isPointer, type MachineRequirement, type RunFacts } from '@beaver/core/evidence'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { evaluateEvidence } from './evaluate.ts'
import { valueAt } from './output-part.ts'

const value = {
  total: 120,
  title: 'Tides',
  figures: [{ value: 4.1 }, { value: 'high' }],
  none: null,
  yes: true,
  '': 'nameless',
  'a/b': 1,
  'm~n': 2,
  '~1': 3,
  deep: { list: [1, [2]], of: { b: 1, a: 2 } },
}
const facts = (output: unknown, over: Partial<RunFacts> = {}): RunFacts => ({
  ...{ outputText: typeof output === 'string' ? output : JSON.stringify(output), outputSeq: 9, tools: [] },
  ...over,
})
const judged = (requirement: MachineRequirement, of: RunFacts = facts(value)) => {
  const { status, detail, rests_on } = evaluateEvidence([requirement], of).checks[0] ?? {
    status: 'none',
    detail: '',
    rests_on: [],
  }
  return { status, detail, rests_on }
}
const at = (path: string, more: object = {}): MachineRequirement => ({ kind: 'output_value', path, ...more })

describe('a JSON Pointer', () => {
  test.each<[string, unknown]>([
    ['', value],
    ['/total', 120],
    ['/figures/1/value', 'high'],
    ['/none', null],
    ['/', 'nameless'],
    ['/a~1b', 1],
    ['/m~0n', 2],
    ['/~01', 3],
    ['/deep/list/1/0', 2],
    ['/gone', undefined],
    ['/figures/2', undefined],
    ['/figures/-', undefined],
    ['/figures/00', undefined],
    ['/figures/1e0', undefined],
    ['/figures/length', undefined],
    ['/title/0', undefined],
    ['/title/length', undefined],
    ['/none/x', undefined],
    ['/toString', undefined],
    ['/__proto__', undefined],
    ['/constructor/name', undefined],
  ])('%j finds what the JSON itself has', (pointer, found) => expect(valueAt(value, pointer)).toEqual(found))

  it('finds a field that has the name of a prototype, if the JSON has it', () => {
    const odd = JSON.parse('{"__proto__":{"n":1},"constructor":2}') as typeof value
    expect([valueAt(odd, '/__proto__/n'), valueAt(odd, '/constructor')]).toEqual([1, 2])
  })

  test.each(['total', 'figures.0', '/a~', '/a~2', '/~', '#/total', '$.total'])('%j is none', (path) => {
    expect(isPointer(path)).toBe(false)
  })

  it('leads to each value of any JSON', () => {
    const walk = (inside: unknown, pointer: string): [string, unknown][] =>
      typeof inside !== 'object' || inside === null
        ? [[pointer, inside]]
        : [
            [pointer, inside],
            ...Object.entries(inside).flatMap(([name, each]) =>
              walk(each, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
            ),
          ]
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        const any = JSON.parse(text) as never
        for (const [pointer, found] of walk(any, '')) {
          expect(isPointer(pointer)).toBe(true)
          expect(valueAt(any, pointer)).toBe(found)
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('output_value', () => {
  test.each<[MachineRequirement, 'passed' | 'failed', string]>([
    [at('/total', { equals: 120 }), 'passed', 'The output has 120 at "/total".'],
    [at('/total', { equals: 119 }), 'failed', 'The output has 120 at "/total"; 119 is required.'],
    [at('/total', { equals: '120' }), 'failed', 'The output has 120 at "/total"; "120" is required.'],
    [at('/total', { min: 100, max: 120 }), 'passed', 'The output has 120 at "/total".'],
    [
      at('/total', { max: 119.5 }),
      'failed',
      'The output has 120 at "/total"; a number of at most 119.5 is required.',
    ],
    [
      at('/title', { min: 0 }),
      'failed',
      'The output has "Tides" at "/title"; a number of at least 0 is required.',
    ],
    [at('/none', { equals: null }), 'passed', 'The output has null at "/none".'],
    [at('/none', { equals: false }), 'failed', 'The output has null at "/none"; false is required.'],
    [
      at('/deep', { equals: { of: { a: 2, b: 1 }, list: [1, [2]] } }),
      'passed',
      'The output has {"list":[1,[2]],"of":{"b":1,"a":2}} at "/deep".',
    ],
    [
      at('/deep/list', { equals: { 0: 1, 1: [2] } }),
      'failed',
      'The output has [1,[2]] at "/deep/list"; {"0":1,"1":[2]} is required.',
    ],
    [
      at('/deep/of', { equals: { b: 1 } }),
      'failed',
      'The output has {"b":1,"a":2} at "/deep/of"; {"b":1} is required.',
    ],
    [at('/figures'), 'passed', 'The output has [{"value":4.1},{"value":"high"}] at "/figures".'],
    [at('/gone', { equals: 1 }), 'failed', 'The output has no value at "/gone".'],
    [at('/__proto__', { equals: {} }), 'failed', 'The output has no value at "/__proto__".'],
    [at('total', { equals: 120 }), 'failed', 'The output has no value at "total".'],
  ])('%j: %s', (requirement, status, detail) =>
    expect(judged(requirement)).toEqual({ status, detail, rests_on: [9] }),
  )

  it('reads JSON in one fence, and no other text', () => {
    expect(judged(at('/n', { equals: 3 }), facts('```json\n{"n": 3}\n```')).status).toBe('passed')
    expect(judged(at('/n', { equals: 3 }), facts('It is {"n": 3}')).detail).toMatch(/^The output is not JSON/)
    expect(judged(at(''), facts('')).status).toBe('failed')
    expect(judged(at('', { equals: 3 }), facts('3')).status).toBe('passed')
  })

  it('has a verdict of few characters, and no exception, whatever the output is', () => {
    const long = { a: 'x'.repeat(3_000_000), list: Array.from({ length: 100_000 }, (_, i) => i) }
    expect(judged(at('/list/99999', { equals: 99_999 }), facts(long)).status).toBe('passed')
    expect(judged(at('/a', { equals: 1 }), facts(long)).detail.length).toBeLessThan(300)
    const deep = `${'['.repeat(50_000)}1${']'.repeat(50_000)}`
    for (const text of [deep, '{"a":"\\ud800"}', '{"a":1e400}', '\u0000', '{"a":1}{"a":1}'])
      for (const requirement of [
        at(''),
        at('/a', { equals: {} }),
        at('/0/0', { equals: [[1]] }),
        at('/a', { max: 1 }),
      ])
        expect(['passed', 'failed']).toContain(judged(requirement, facts(text)).status)
  })
})

describe('a check with a path', () => {
  const report = {
    summary: 'Spring tide: 4.1 m (tide-table)',
    quotes: ['“the water rises twice”'],
    figures: { high: 4.1, low: 0.6 },
    note: 'In 1999 it was 9.9 m.',
  }
  const tools = [
    {
      taskseq: 4,
      tool: 'read_file',
      success: true,
      arguments: '{"path":"tide-table"}',
      result: 'high 4.1, low 0.6',
    },
  ]
  const given = { outputs: ['There the water rises twice a day.'], texts: [] }
  const of = facts(report, { tools, given })

  test.each<[MachineRequirement, 'passed' | 'failed', string]>([
    [
      { kind: 'output_length', path: '/summary', max: 40 },
      'passed',
      'At "/summary": The output has 31 characters; at most 40 required.',
    ],
    [
      { kind: 'output_contains', path: '/summary', texts: ['9.9'] },
      'failed',
      'At "/summary": The output does not contain 1 of 1 required text: "9.9".',
    ],
    [
      { kind: 'output_matches', path: '/summary', pattern: '^Spring' },
      'passed',
      'At "/summary": The output matches /^Spring/.',
    ],
    [
      { kind: 'output_cites', path: '/summary', from_tool: 'read_file', sources: ['tide-table'] },
      'passed',
      'At "/summary": ',
    ],
    [{ kind: 'numbers_from_tools', path: '/figures', tools: ['read_file'] }, 'passed', 'At "/figures": '],
    [{ kind: 'numbers_from_tools', path: '/note', tools: ['read_file'] }, 'failed', '9.9'],
    [{ kind: 'quotes_from_dependencies', path: '/quotes/0' }, 'passed', 'At "/quotes/0": '],
    [
      {
        kind: 'output_schema',
        path: '/figures',
        schema: { type: 'object', required: ['high'], properties: { high: { type: 'number' } } },
      },
      'passed',
      'fits',
    ],
    [
      { kind: 'output_schema', path: '/summary', schema: { type: 'string', maxLength: 3 } },
      'failed',
      'At "/summary": The output does not fit',
    ],
    [
      { kind: 'output_contains', path: '/gone', texts: ['a'] },
      'failed',
      'The output has no value at "/gone".',
    ],
  ])('%j: %s', (requirement, status, detail) =>
    expect(judged(requirement, of)).toMatchObject({ status, detail: expect.stringContaining(detail) }),
  )

  it('rests on what the check rests on, and the whole output fails where a part passes', () => {
    expect(
      judged({ kind: 'numbers_from_tools', path: '/figures', tools: ['read_file'] }, of).rests_on,
    ).toEqual([4, 9])
    expect(judged({ kind: 'numbers_from_tools', tools: ['read_file'] }, of).status).toBe('failed')
  })
})
