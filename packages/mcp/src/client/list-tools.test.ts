// What is plainly wrong in the schema of a tool.
import { rawHttpServer } from '@beaver/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bench } from '../../test/kit.ts'
import { offeredSchema } from './offered-schema.ts'
import { schemaDefect } from './list-tools.ts'

describe('the schema of a tool', () => {
  it.each([
    [{ properties: { a: { type: 'text' } } }, 'has the unknown type "text" at properties.a'],
    [
      { properties: { a: { type: ['string', 'nothing'] } } },
      'has the unknown type "nothing" at properties.a',
    ],
    [{ properties: { a: 'string' } }, 'has something that is no schema at properties.a'],
    [{ properties: [] }, 'has something that is no schema at properties'],
    [{ required: 'a' }, 'has a "required" that is no list of names'],
    [{ properties: { a: { enum: 'b' } } }, 'has an "enum" that is no list at properties.a'],
    [{ properties: { a: { items: 'string' } } }, 'has something that is no schema at properties.a.items'],
    [{ anyOf: {} }, 'has something that is no schema at anyOf'],
    [{ $defs: { a: { oneOf: [{ type: 1 }] } } }, 'has the unknown type 1 at $defs.a.oneOf.0'],
    [{ dependentSchemas: { a: 1 } }, 'has something that is no schema at dependentSchemas.a'],
    [{ properties: { a: { $ref: '#/$defs/a' } } }, 'has a $ref that leads nowhere: #/$defs/a'],
    [{ properties: { a: { $ref: '#gone' } } }, 'has a $ref that leads nowhere: #gone'],
    [
      { items: { $ref: 'https://example.test/schema.json' } },
      'has a $ref that leads nowhere: https://example.test/schema.json',
    ],
  ])('%j is defective', (schema, defect) => {
    expect(schemaDefect({ type: 'object', ...schema })).toBe(`its inputSchema ${defect}`)
  })

  it.each([
    [{ properties: { a: { type: 'array' } } }],
    [{ properties: { a: { required: true, type: ['string', 'null'] } } }],
    [{ properties: { type: { items: [{ type: 'string' }, true] } }, additionalProperties: false }],
    [{ properties: { a: { default: { type: 'text' }, const: { properties: 1 } } }, 'x-other': 3 }],
    [
      {
        properties: { a: { $ref: '#/$defs/b~1c' }, d: { $ref: '#' }, e: { $ref: '#here' } },
        $defs: { 'b/c': {}, f: { $anchor: 'here' } },
      },
    ],
    [{ properties: { a: { default: { $ref: '#/gone' } } } }],
    [
      {
        properties: { a: { $ref: '#/definitions/Record%3Cstring%2C100%25%3E' } },
        definitions: { 'Record<string,100%>': {} },
      },
    ],
    [
      {
        properties: { a: { $ref: 'https://example.test/a' } },
        $defs: { a: { $id: 'https://example.test/a' } },
      },
    ],
  ])('%j is left to the provider', (schema) => expect(schemaDefect({ type: 'object', ...schema })).toBeNull())

  const text = { type: 'string' }
  const empty = { type: 'object', properties: {} }
  it.each<[string, object, object]>([
    ['an object without properties', { type: 'object' }, empty],
    [
      'a nested one',
      { type: 'object', properties: { a: { type: ['object', 'null'] } } },
      { properties: { a: { type: ['object', 'null'], properties: {} } } },
    ],
    [
      'a list without items',
      { properties: { a: { type: 'array' } } },
      { properties: { a: { type: 'array', items: {} } } },
    ],
    [
      'one in a choice',
      { properties: { a: { anyOf: [{ type: 'array' }] } } },
      { properties: { a: { anyOf: [{ type: 'array', items: {} }] } } },
    ],
    [
      'one in a condition',
      { if: { type: 'array' }, else: { type: 'object' } },
      { properties: {}, if: { type: 'array', items: {} }, else: empty },
    ],
    [
      'one with items',
      { properties: { a: { type: 'array', prefixItems: [text] } } },
      { properties: { a: { type: 'array', prefixItems: [text] } } },
    ],
    [
      'a "required" among the properties',
      { properties: { a: text, required: ['a'] } },
      { properties: { a: text }, required: ['a'] },
    ],
    ['one that is true', { properties: { a: text, required: true } }, { properties: { a: text } }],
    [
      'an argument with this name',
      { properties: { required: text }, required: ['required'] },
      { properties: { required: text }, required: ['required'] },
    ],
    [
      'a property that is required',
      { properties: { a: { ...text, required: true }, b: { ...text, required: false } } },
      { properties: { a: text, b: text }, required: ['a'] },
    ],
    [
      '"required: false" of the whole',
      { properties: { a: text }, required: false },
      { properties: { a: text }, required: [] },
    ],
    [
      'a required name without a property',
      { properties: {}, required: ['a'] },
      { properties: { a: {} }, required: ['a'] },
    ],
    [
      'types of Python',
      { properties: { a: { type: 'None' }, b: { type: ['str', 'int'] } } },
      { properties: { a: { type: 'null' }, b: { type: ['string', 'integer'] } } },
    ],
    [
      'types of Google',
      { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
      { type: 'object', properties: { a: text } },
    ],
    [
      'what is no schema',
      { properties: {}, default: { type: 'array' }, 'x-a': { type: 'None' } },
      { properties: {}, default: { type: 'array' }, 'x-a': { type: 'None' } },
    ],
  ])('is offered with %s mended', (_, given, offered) => {
    expect(offeredSchema({ ...given })).toEqual({
      ...('type' in given ? { type: 'object' } : {}),
      ...offered,
    })
    expect(schemaDefect(offeredSchema({ ...given }))).toBeNull()
    expect(offeredSchema(offeredSchema({ ...given }))).toEqual(offeredSchema({ ...given }))
  })

  it('of a list of bad tools is mended, or leaves its tool out with the reason', async () => {
    const test = bench({ onTestFinished })
    const of = (name: string, schema: object, description = 'd') => ({
      name,
      description,
      inputSchema: { type: 'object', ...schema },
    })
    const list = [
      of('good', { properties: { a: text } }),
      of('misplaced', { properties: { a: text, required: ['a'] } }),
      of('none', { properties: { a: { type: 'None' } } }),
      of('no_items', { properties: { a: { type: 'array' } } }),
      of('not_required', { properties: { a: text }, required: false }),
      of('no_properties', {}),
      of('long', {}, 'word '.repeat(1_400)),
      of('dangling', { properties: { a: { $ref: '#/$defs/gone' } } }),
      of('unknown', { properties: { a: { type: 'text' } } }),
    ]
    await using server = await rawHttpServer({ tools: list })
    await using connections = await test.start({
      raw: { url: server.url, headers: {}, permission: 'allow', timeout_ms: 10_000, restarts_max: 0 },
    })
    await connections.settled
    expect(connections.tools.map(({ name, parameters }) => [name, parameters])).toEqual([
      ['raw_good', { type: 'object', properties: { a: text } }],
      ['raw_misplaced', { type: 'object', properties: { a: text }, required: ['a'] }],
      ['raw_none', { type: 'object', properties: { a: { type: 'null' } } }],
      ['raw_no_items', { type: 'object', properties: { a: { type: 'array', items: {} } } }],
      ['raw_not_required', { type: 'object', properties: { a: text }, required: [] }],
      ['raw_no_properties', { type: 'object', properties: {} }],
      ['raw_long', { type: 'object', properties: {} }],
    ])
    const long = connections.tools.at(-1)?.description ?? ''
    expect(long.length).toBeLessThanOrEqual(1_024)
    expect(long).toMatch(/^word .* \[cut: 6016 more characters\]$/)
    expect(connections.status[0]?.leftOut).toEqual([
      { tool: 'dangling', reason: 'its inputSchema has a $ref that leads nowhere: #/$defs/gone' },
      { tool: 'unknown', reason: 'its inputSchema has the unknown type "text" at properties.a' },
    ])
  })
})
