import { expect, it } from 'vitest'
import { isDiff, jsonIn, tableOf } from './json-shape.ts'

it.each([
  ['{"a": 1}', { a: 1 }],
  [' [1, 2]\n', [1, 2]],
  ['{"a": 1', undefined],
  ['[a link](to)', undefined],
  ['17', undefined],
  ['"text"', undefined],
  ['', undefined],
])('reads %j as an object or a list, or as another text', (text, value) =>
  expect(jsonIn(text)).toEqual(value),
)

it.each([
  ['--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y', true],
  ['diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n', true],
  ['--- a heading\n\ntext', false],
  ['before\n--- a\n+++ b\n@@ -1 +1 @@', false],
])('sees whether %j is a diff', (text, is) => expect(isDiff(text)).toBe(is))

it('makes a table of objects with the same names, in the order of the first one', () =>
  expect(
    tableOf([
      { name: 'a', size: 1 },
      { size: null, name: 'b' },
    ]),
  ).toEqual({
    columns: ['name', 'size'],
    rows: [
      ['a', 1],
      ['b', null],
    ],
  }))

it.each([
  ['one object', [{ a: 1 }]],
  ['other names', [{ a: 1 }, { b: 1 }]],
  ['a name more', [{ a: 1 }, { a: 1, b: 1 }]],
  ['a name that every object has by itself', [{ toString: 1 }, { a: 1 }]],
  ['an object in a cell', [{ a: 1 }, { a: { b: 1 } }]],
  ['no names', [{}, {}]],
  ['a number', [{ a: 1 }, 2]],
  ['lists', [[1], [2]]],
  [
    'too many columns',
    [1, 2].map(() => Object.fromEntries(Array.from({ length: 13 }, (_, at) => [`c${at}`, at]))),
  ],
  ['an object', { a: { b: 1 }, c: { b: 2 } }],
])('makes no table of %s', (_, value) => expect(tableOf(value)).toBeNull())
