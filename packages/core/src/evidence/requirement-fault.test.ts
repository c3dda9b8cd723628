import { describe, expect, it, test } from 'vitest'
import { plannedRequirement, requirementFault } from './requirement-fault.ts'
import { type EvidenceRequirement, evidenceRequirement } from './requirement.ts'

const ofSchema = (schema: Record<string, unknown>): EvidenceRequirement => ({ kind: 'output_schema', schema })
const object = (properties: Record<string, unknown>, more: object = {}): Record<string, unknown> => ({
  type: 'object',
  properties,
  ...more,
})

describe('a requirement that can be checked has no fault', () => {
  test.each<[EvidenceRequirement]>([
    ['two sources'],
    [{ kind: 'tool_succeeded', tool: 't', times_min: 3, arguments_match: { a: [1] } }],
    [{ kind: 'output_length', min: 3, max: 3 }],
    [{ kind: 'output_matches', pattern: '^\\p{Script=Han}+(?<n>\\d)$' }],
    [{ kind: 'output_contains', texts: ['a'] }],
    [{ kind: 'output_length', max: 10 }],
    [{ kind: 'output_matches', pattern: '[^z]' }],
    [{ kind: 'output_matches', pattern: '^[^#]*$' }],
    [{ kind: 'output_matches', pattern: '^.*$' }],
    [{ kind: 'output_matches', pattern: '\\w' }],
    [{ kind: 'output_cites', sources: ['a'] }],
    [{ kind: 'output_cites', from_tool: 't', times_min: 9, only: true }],
    [{ kind: 'numbers_from_tools', tools: ['t'], allow: [1.5], integers_below: 10 }],
    [{ kind: 'files_exist', paths: ['a', './b/c..d'] }],
    [ofSchema({})],
    [
      ofSchema(
        object(
          {
            a: { type: ['string', 'null'], minLength: 1 },
            b: { enum: ['x', 1, null] },
            c: true,
            d: { const: 1 },
          },
          { required: ['a', 'c'], additionalProperties: false },
        ),
      ),
    ],
    [
      ofSchema({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        title: 't',
        $ref: '#/$defs/n',
        $defs: { n: object({ next: { $ref: '#/$defs/n' } }) },
      }),
    ],
    [
      ofSchema({
        type: 'array',
        prefixItems: [{ type: 'integer', minimum: 0 }],
        items: { type: 'string', format: 'date' },
        uniqueItems: true,
        contains: { type: 'string' },
      }),
    ],
    [ofSchema({ oneOf: [{ type: 'string' }, { allOf: [object({ a: {} }), object({ b: {} })] }] })],
  ])('%j', (requirement) => {
    expect(requirementFault(requirement)).toBeNull()
    expect(plannedRequirement.parse(requirement)).toEqual(requirement)
  })
})

describe('a requirement that cannot be checked has a fault at its place', () => {
  test.each<[EvidenceRequirement, string, string]>([
    [{ kind: 'output_length', min: 9, max: 3 }, 'min', '9, but max is 3'],
    [{ kind: 'output_matches', pattern: '(' }, 'pattern', '"(", which is not a regular expression'],
    [{ kind: 'output_matches', pattern: 'a(?=b)' }, 'pattern', 'no lookaround'],
    [{ kind: 'output_matches', pattern: '(?<!a)b' }, 'pattern', 'no lookaround'],
    [{ kind: 'output_matches', pattern: '(a)\\1' }, 'pattern', 'no back reference'],
    [{ kind: 'output_matches', pattern: 'a{5000}' }, 'pattern', 'invalid repeat count'],
    [{ kind: 'output_length' }, '', 'every output passes'],
    [{ kind: 'output_length', min: 0 }, '', 'every output passes'],
    [{ kind: 'output_matches', pattern: '.' }, 'pattern', 'every output matches'],
    [{ kind: 'output_matches', pattern: '^' }, 'pattern', 'every output matches'],
    [{ kind: 'output_matches', pattern: 'x*' }, 'pattern', 'every output matches'],
    [{ kind: 'output_matches', pattern: '(?s)^.*$' }, 'pattern', 'every output matches'],
    [{ kind: 'output_matches', pattern: '\\S|x' }, 'pattern', 'every output matches'],
    [{ kind: 'output_contains', texts: ['a', ' \n'] }, 'texts.1', 'is blank'],
    [{ kind: 'output_cites' }, '', 'neither sources nor from_tool'],
    [{ kind: 'output_cites', sources: ['a'], times_min: 2 }, 'times_min', 'fewer sources'],
    [{ kind: 'output_cites', sources: ['a'], only: true }, 'only', 'needs from_tool'],
    [{ kind: 'files_exist', paths: ['a', '/etc/passwd'] }, 'paths.1', 'relative to the workspace'],
    [{ kind: 'files_exist', paths: ['a/../../b'] }, 'paths.0', 'without ".."'],
    [{ kind: 'files_exist', paths: ['C:\\x'] }, 'paths.0', 'relative'],
    [ofSchema({ type: 'string', minLength: 5, maxLength: 2 }), 'schema.minLength', 'no output can pass'],
    [
      ofSchema({ type: 'number', exclusiveMinimum: 2, exclusiveMaximum: 2 }),
      'schema.exclusiveMinimum',
      'no output can pass',
    ],
    [ofSchema({ type: 'text' }), 'schema.type', 'not a type of JSON Schema'],
    [
      ofSchema(object({ a: { type: 'string', pattern: '^(?=a)' } })),
      'schema.properties.a.pattern',
      'bounded in time',
    ],
    [
      ofSchema(object({ a: { type: 'object', patternProperties: {} } })),
      'schema.properties.a.patternProperties',
      'Leave it out',
    ],
    [
      ofSchema(JSON.parse(`${'{"items":'.repeat(70)}{}${'}'.repeat(70)}`) as Record<string, unknown>),
      'schema',
      'deeper than 64 levels',
    ],
    [
      ofSchema(object({ a: { type: 'string', format: 'colour' } })),
      'schema.properties.a.format',
      'use one of email',
    ],
    [ofSchema(object({ a: { items: {} } })), 'schema.properties.a.items', 'beside "type": "array"'],
    [ofSchema({ type: 'string', minimum: 1 }), 'schema.minimum', 'beside "type": "number"'],
    [
      ofSchema(object({}, { required: ['a'] })),
      'schema.required',
      '"a", which "properties" does not contain',
    ],
    [ofSchema({ type: 'array', items: { not: { type: 'string' } } }), 'schema.items.not', 'Leave it out'],
    [ofSchema({ if: {}, else: {} }), 'schema.if', 'Leave it out'],
    [ofSchema(object({ a: {} }, { dependentRequired: {} })), 'schema.dependentRequired', 'Leave it out'],
    [ofSchema(object({ a: {} }, { requird: ['a'] })), 'schema.requird', 'Leave it out'],
    [
      ofSchema({ anyOf: [{ type: 'string' }, { type: 'array', items: [{}] }] }),
      'schema.anyOf.1.items',
      'is not a JSON Schema',
    ],
    [ofSchema({ anyOf: [{}], allOf: [{}] }), 'schema.anyOf', 'beside another'],
    [ofSchema({ enum: ['a'], type: 'string', minLength: 1 }), 'schema.minLength', 'beside enum'],
    [ofSchema({ const: { a: 1 } }), 'schema.const', 'texts, numbers'],
    [ofSchema({ const: [1] }), 'schema.const', 'texts, numbers'],
    [ofSchema({ $ref: '#/$defs/a', type: 'object', $defs: { a: {} } }), 'schema.type', 'beside $ref'],
    [ofSchema({ $ref: '#/$defs/gone' }), 'schema', 'Reference not found'],
    [ofSchema({ $ref: 'https://example.com/schema' }), 'schema', 'External $ref'],
    [ofSchema({ description: 'x'.repeat(20_000) }), 'schema', 'at most 20000'],
  ])('%j', (requirement, path, words) => {
    const fault = requirementFault(requirement)
    expect([fault?.path.join('.'), fault?.message]).toEqual([path, expect.stringContaining(words)])
    expect(plannedRequirement.safeParse(requirement).error?.issues).toMatchObject([
      { path: path === '' ? [] : path.split('.'), message: fault?.message },
    ])
  })

  it('keeps an uncheckable requirement readable in the journal, because it was once accepted', () => {
    expect(evidenceRequirement.safeParse({ kind: 'output_matches', pattern: '(?=a)' }).success).toBe(true)
  })
})

describe('a requirement that looks at a place', () => {
  const at = (path: string, more: object = {}): EvidenceRequirement => ({
    kind: 'output_value',
    path,
    ...more,
  })

  test.each(['total', 'figures.0', '/a~', '/a~2', '/~', '#/total', '$.total'])(
    'is refused at %j, which is no JSON Pointer',
    (path) => {
      expect(requirementFault(at(path))).toMatchObject({
        path: ['path'],
        message: expect.stringContaining('no JSON Pointer'),
      })
      expect(requirementFault({ kind: 'output_contains', texts: ['a'], path })).toMatchObject({
        path: ['path'],
      })
    },
  )

  test.each<[object, string, string]>([
    [{ equals: 1, min: 0 }, 'equals', 'is given beside a bound'],
    [{ min: 2, max: 1 }, 'min', 'no output can pass'],
  ])('is refused with %j', (more, place, message) => {
    expect(requirementFault(at('/a', more))).toMatchObject({
      path: [place],
      message: expect.stringContaining(message),
    })
  })

  it.each([[{}], [{ equals: null }], [{ equals: 0 }], [{ min: 1, max: 1 }]])('has no fault with %j', (more) =>
    expect(requirementFault(at('/a', more))).toBeNull(),
  )
})
