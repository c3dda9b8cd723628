import { describe, expect, it } from 'vitest'
import { schemaClash } from './schema-clash.ts'

const object = (properties: object, more: object = { required: Object.keys(properties) }): object => ({
  type: 'object',
  properties,
  ...more,
})
const text = { type: 'string' }

describe('two schemas that no value fits', () => {
  it.each([
    ['in their types', text, { type: ['number', 'null'] }, '', 'string'],
    [
      'in a field that one requires',
      object({ a: text }),
      object({ a: { type: 'integer' } }, {}),
      '/a',
      'number',
    ],
    [
      'in a field of a field',
      object({ a: object({ 'b/c': text }) }),
      object({ a: object({ 'b/c': { type: 'boolean' } }) }),
      '/a/b~1c',
      'boolean',
    ],
    [
      'in a field that the other forbids',
      object({ a: text }),
      object({ b: text }, { additionalProperties: false }),
      '/a',
      'does not allow it',
    ],
    [
      'in a field that the first forbids',
      object({}, { additionalProperties: false }),
      object({ a: text }),
      '/a',
      'does not allow it',
    ],
    ['in their literals', { enum: ['a', 'b'] }, { const: 'c' }, '', '"c"'],
    ['in a field that is never there', object({ a: false }), object({ a: text }), '/a', 'nothing'],
  ])('contradict each other %s', (_, one, other, path, message) => {
    expect(schemaClash(one, other)).toEqual({ path, message: expect.stringContaining(message) })
    expect(schemaClash(other, one)).toMatchObject({ path })
  })
})

describe('two schemas that a value may fit', () => {
  it.each([
    ['with equal types', text, text],
    ['with a type in common', { type: ['string', 'null'] }, { type: ['null', 'number'] }],
    ['with a whole number', { type: 'integer' }, { type: 'number' }],
    ['with a field that may be absent', object({ a: text }, {}), object({ a: { type: 'number' } }, {})],
    ['with further fields', object({ a: text }), object({ b: text })],
    ['with an object as literal', { const: { a: 1, b: [2] } }, { enum: [{ b: [2], a: 1 }, 'x'] }],
    ['with a literal in common', { enum: ['a', 'b'] }, { enum: ['b', 'c'] }],
    ['without types', {}, object({ a: text })],
    ['with alternatives', { anyOf: [text] }, { type: 'number' }],
  ])('%s do not contradict each other', (_, one, other) =>
    expect([schemaClash(one, other), schemaClash(other, one)]).toEqual([null, null]),
  )
})
