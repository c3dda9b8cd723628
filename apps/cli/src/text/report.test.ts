import { expect, test } from 'vitest'
import { shownOutput } from './report.ts'
import { styleOf } from './style.ts'

const shown = (text: string, interactive = false): string =>
  shownOutput(text, { interactive, style: styleOf(interactive) })

test('a structured answer is indented, and nothing of it is painted', () => {
  expect(shown('{"a":[1,{"b":"**x**"}],"c":null}', true)).toBe(
    '{\n  "a": [\n    1,\n    {\n      "b": "**x**"\n    }\n  ],\n  "c": null\n}',
  )
  expect(shown('[1,2]')).toBe('[\n  1,\n  2\n]')
})

test.each([
  '# A report\n\n**bold**',
  '{"b":1,"a":2}',
  '{ "a": 1 }',
  '{"a":1} and more',
  '[1,2',
  '"text"',
  '12',
  '',
])('another text stays as it is: %j', (text) => {
  expect(shown(text)).toBe(text)
})

test('a report in a terminal is painted', () => expect(shown('# A', true)).toContain('\u001B['))
