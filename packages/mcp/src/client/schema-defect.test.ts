// What is plainly wrong in the schema of a tool.
import { describe, expect, it, onTestFinished } from 'vitest'
import { bench } from '../../test/kit.ts'
import { offeredSchema } from './offered-schema.ts'
import { schemaDefect } from './schema-defect.ts'

describe('the schema of a tool', () => {
  it.each([
    [{ properties: { a: { type: 'text' } } }, 'has the unknown type "text" at properties.a'],
    [{ properties: { a: { type: ['string', 'none'] } } }, 'has the unknown type "none" at properties.a'],
    [{ properties: { a: 'string' } }, 'has something that is no schema at properties.a'],
    [{ properties: [] }, 'has something that is no schema at properties'],
    [{ required: 'a' }, 'has a "required" that is no list of names'],
    [{ properties: { a: { enum: 'b' } } }, 'has an "enum" that is no list at properties.a'],
    [{ properties: { a: { items: 'string' } } }, 'has something that is no schema at properties.a.items'],
    [{ anyOf: {} }, 'has something that is no schema at anyOf'],
    [{ $defs: { a: { oneOf: [{ type: 1 }] } } }, 'has the unknown type 1 at $defs.a.oneOf.0'],
  ])('%j is defective', (schema, defect) => {
    expect(schemaDefect({ type: 'object', ...schema })).toBe(`its inputSchema ${defect}`)
  })

  it.each([
    [{ properties: { a: { type: 'array' } } }],
    [{ properties: { a: { required: true, type: ['string', 'null'] } } }],
    [{ properties: { type: { items: [{ type: 'string' }, true] } }, additionalProperties: false }],
    [{ properties: { a: { default: { type: 'text' }, const: { properties: 1 } } }, 'x-other': 3 }],
  ])('%j is left to the provider', (schema) => expect(schemaDefect({ type: 'object', ...schema })).toBeNull())

  it('gets the properties and the items that providers demand, and is else as it was', () => {
    expect(offeredSchema({ type: 'object' })).toEqual({ type: 'object', properties: {} })
    const list = { type: 'array' }
    const given = {
      type: 'object',
      properties: { a: list, b: { type: ['array', 'null'] }, c: { anyOf: [list, { type: 'array', items: list }] }, default: list },
      default: list,
    }
    const whole = { ...list, items: {} }
    expect(offeredSchema(given)).toEqual({
      type: 'object',
      properties: { a: whole, b: { type: ['array', 'null'], items: {} }, c: { anyOf: [whole, { type: 'array', items: whole }] }, default: whole },
      default: list,
    })
  })

  it('that is defective leaves its tool out, and no other', async () => {
    const test = bench({ onTestFinished })
    const list = [
      { name: 'good', inputSchema: { type: 'object' } },
      { name: 'bad', inputSchema: { type: 'object', properties: { a: { type: 'text' } } } },
    ]
    await using connections = await test.start({ raw: test.raw({ RAW_LIST: JSON.stringify(list) }) })
    await connections.settled
    expect(connections.tools.map(({ name }) => name)).toEqual(['raw_good'])
    expect(connections.status[0]?.leftOut).toEqual([{ tool: 'bad', reason: 'its inputSchema has the unknown type "text" at properties.a' }])
  })
})
