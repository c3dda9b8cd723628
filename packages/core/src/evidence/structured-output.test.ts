import { describe, expect, it } from 'vitest'
import { valueFaults } from './check-schema.ts'
import { schemaFault } from './output-schema.ts'
import { judgeOutput, outputSchema } from './structured-output.ts'
import { repairMessage } from './output-text.ts'

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const paths = (schema: Record<string, unknown>, value: unknown): string[] =>
  valueFaults(schema, value).map(({ path }) => path)

describe('judgeOutput', () => {
  const schema = object(
    { n: { type: 'integer', minimum: 0 } },
    { required: ['n'], additionalProperties: false },
  )

  it.each([
    ['{"n": 1}', '{"n":1}'],
    ['\n```json\n{"n": 1}\n```\n', '{"n":1}'],
  ])('accepts %j', (said, text) =>
    expect(judgeOutput(schema, said)).toEqual({ kind: 'fits', value: { n: 1 }, text }),
  )

  it.each([
    ['Here: {"n": 1}', ''],
    ['{"n": 1} {"n": 2}', ''],
    ['{"n": 1.5}', '/n'],
    ['{"n": -1}', '/n'],
    ['{}', '/n'],
    ['{"n": 1, "a/b~c": 2}', '/a~1b~0c'],
    ['['.repeat(100_000), ''],
  ])('refuses %j at %j', (said, path) =>
    expect(judgeOutput(schema, said)).toMatchObject({ kind: 'faulty', faults: [{ path }] }),
  )

  it('refuses what is nested deeper than JSON that can be written, and does not throw', () => {
    expect(judgeOutput({}, '['.repeat(5_000) + ']'.repeat(5_000)).kind).toBe('faulty')
  })
})

describe('valueFaults', () => {
  it.each<[Record<string, unknown>, unknown, string[]]>([
    [{ type: 'array', items: { type: 'string' }, minItems: 2, uniqueItems: true }, ['a', 1], ['/1']],
    [
      { type: 'array', items: {}, uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [''],
    ],
    [{ type: 'array', prefixItems: [{ type: 'string' }], items: false }, ['a', 'b'], ['/1']],
    [{ type: ['object', 'null'], properties: { a: { type: 'string' } } }, null, []],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 3, ['']],
    [{ oneOf: [{ type: 'number' }, { type: 'integer' }] }, 3, ['']],
    [
      {
        allOf: [
          { type: 'number', minimum: 2 },
          { type: 'number', maximum: 4 },
        ],
      },
      5,
      [''],
    ],
    [{ enum: ['a', 1, null] }, 'b', ['']],
    [{ const: true }, true, []],
    [{ type: 'string', pattern: '^[a-z]+$' }, 'A', ['']],
    [{ type: 'string', format: 'date' }, '2026-02-30', ['']],
    [{ type: 'string', maxLength: 1 }, '🙂', []],
    [{ type: 'number', multipleOf: 0.1 }, 0.3, []],
    [{ type: 'number', multipleOf: 0.1 }, 0.35, ['']],
    [
      object(
        {},
        { additionalProperties: { type: 'number' }, propertyNames: { type: 'string', maxLength: 1 } },
      ),
      { a: 1, bb: 'x' },
      ['/bb', '/bb'],
    ],
    [
      {
        $ref: '#/$defs/tree',
        $defs: { tree: object({ next: { $ref: '#/$defs/tree' } }, { additionalProperties: false }) },
      },
      { next: { odd: 1 } },
      ['/next/odd'],
    ],
    [object({ toString: { type: 'string' } }, { required: ['toString'] }), {}, ['/toString']],
    [object({ n: { type: 'number' } }), { n: Infinity }, ['/n']],
    [{}, -Infinity, ['']],
    [object({}, { additionalProperties: false }), { ['x'.repeat(50_000)]: 1 }, [`/${'x'.repeat(200)}…`]],
  ])('%j of %j: %j', (schema, value, faults) => expect(paths(schema, value)).toEqual(faults))

  it('ends within its steps, although alternatives that refer to each other would take exponential time', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [
        `a${i}`,
        i === 59
          ? { type: 'string' }
          : { anyOf: [{ $ref: `#/$defs/a${i + 1}` }, { $ref: `#/$defs/a${i + 1}` }] },
      ]),
    )
    const schema = { $ref: '#/$defs/a0', $defs }
    expect(schemaFault(schema)).toBeNull()
    expect(judgeOutput(schema, '3')).toMatchObject({
      kind: 'faulty',
      faults: [{ message: expect.stringContaining('steps') as string }],
    })
  })

  it('reports at most 20 faults', () =>
    expect(
      paths(
        { type: 'array', items: { type: 'string' } },
        Array.from({ length: 100 }, () => 1),
      ),
    ).toHaveLength(20))
})

it('refuses a schema that cannot be checked, with the place in it', () => {
  expect(outputSchema.safeParse(object({ a: { not: {} } })).error?.issues).toMatchObject([
    { path: ['properties', 'a', 'not'] },
  ])
  expect(outputSchema.safeParse({ $ref: 'https://example.com/schema' }).success).toBe(false)
})

it('says to the model where the faults are', () => {
  expect(repairMessage([{ path: '/n', message: 'Invalid input: is missing' }])).toContain(
    '- /n: Invalid input: is missing.',
  )
})
