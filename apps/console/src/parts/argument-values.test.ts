import { expect, it } from 'vitest'
import { argumentFields, readArguments } from './argument-values.ts'

const fieldsOf = (value: unknown) => argumentFields(JSON.stringify(value)) ?? []

it('shows a text with its line breaks, and everything else as JSON', () => {
  expect(fieldsOf({ path: 'a.md', content: 'a\n\n"b"', lines: 3, tags: ['x'], cr: 'a\r\nb' })).toEqual([
    { name: 'path', kind: 'text', initial: 'a.md' },
    { name: 'content', kind: 'text', initial: 'a\n\n"b"' },
    { name: 'lines', kind: 'json', initial: '3' },
    { name: 'tags', kind: 'json', initial: '[\n  "x"\n]' },
    // A field would make one line break of the two characters.
    { name: 'cr', kind: 'json', initial: '"a\\r\\nb"' },
  ])
})

it.each(['[]', '"a"', 'null', '{', '{}'])('shows %s in no fields', (text) =>
  expect(argumentFields(text)).toBeNull(),
)

it.each([
  [{ content: 'new\nlines' }, { content: 'new\nlines', lines: 3, __proto__x: 1 }],
  [{ lines: '4' }, { content: 'old', lines: 4, __proto__x: 1 }],
  [{}, { content: 'old', lines: 3, __proto__x: 1 }],
])('with %j in its fields the call is %j', (texts, expected) => {
  const read = readArguments(fieldsOf({ content: 'old', lines: 3, __proto__x: 1 }), texts)
  expect('text' in read && JSON.parse(read.text)).toEqual(expected)
})

it('keeps names that every object has', () => {
  const fields = argumentFields('{"__proto__": "a", "constructor": "b"}') ?? []
  const read = readArguments(fields, {})
  expect('text' in read && JSON.parse(read.text)).toEqual(
    JSON.parse('{"__proto__": "a", "constructor": "b"}'),
  )
})

it('names the field that is no JSON', () =>
  expect(readArguments(fieldsOf({ a: 1, b: 2 }), { b: 'two' })).toEqual({ fault: 'b' }))
