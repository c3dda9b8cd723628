import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { lineDiff } from './write-file.ts'

test.each([
  ['', '', ''],
  ['', 'a\nb\n', '@@ -1,0 +1,2 @@\n+a\n+b'],
  ['a\nb\n', '', '@@ -1,2 +1,0 @@\n-a\n-b'],
  ['a\nb\nc\n', 'a\nX\nc\n', '@@ -1,3 +1,3 @@\n a\n-b\n+X\n c'],
  ['1\n2\n3\n4\n5\n6\n', '1\n2\n3\n4\n5\n6\n7\n', '@@ -4,3 +4,4 @@\n 4\n 5\n 6\n+7'],
])('%j to %j', (before, after, text) => {
  expect(lineDiff(before, after)).toEqual({ text, linesLeftOut: 0 })
})

it('of a large change is bounded, and says how much is left out', () => {
  const { text, linesLeftOut } = lineDiff('', 'x'.repeat(1_000).concat('\n').repeat(5_000))
  expect(text.split('\n')).toHaveLength(120)
  expect(linesLeftOut).toBe(5_001 - 120)
  expect(text.length).toBeLessThan(60_000)
})

it('gives the new text when it is applied to the old one', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 })
    .map((lines) => lines.map((line) => `${line}\n`).join(''))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = lineDiff(before, after).text.split('\n')
      const from = Number(/^@@ -(\d+)/.exec(lines[0] ?? '')?.[1] ?? 1) - 1
      const old = before.split('\n').slice(0, -1)
      const kept = lines.slice(1)
      const used = kept.filter((line) => !line.startsWith('+')).length
      if (before === after) return
      const made = [
        ...old.slice(0, from),
        ...kept.filter((line) => !line.startsWith('-')).map((line) => line.slice(1)),
        ...old.slice(from + used),
      ]
      expect(made.map((line) => `${line}\n`).join('')).toBe(after)
    }),
  )
})
