import { applyPatch } from 'diff'
import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { lineDiff } from './write-file.ts'

test.each([
  ['', '', ''],
  ['', 'a\nb\n', '@@ -0,0 +1,2 @@\n+a\n+b'],
  ['a\nb\n', '', '@@ -1,2 +0,0 @@\n-a\n-b'],
  ['a\n', 'a', '@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file'],
  ['a\nb\nc\n', 'a\nX\nc\n', '@@ -1,3 +1,3 @@\n a\n-b\n+X\n c'],
  ['1\n2\n3\n4\n5\n6\n', '1\n2\n3\n4\n5\n6\n7\n', '@@ -4,3 +4,4 @@\n 4\n 5\n 6\n+7'],
])('%j to %j', async (before, after, text) => {
  expect(await lineDiff(before, after)).toEqual({ text, linesLeftOut: 0 })
})

it('of a large change is bounded, and says how much is left out', async () => {
  const { text, linesLeftOut } = await lineDiff('', 'x'.repeat(1_000).concat('\n').repeat(5_000))
  expect(text.split('\n')).toHaveLength(120)
  expect(linesLeftOut).toBe(5_001 - 120)
  expect(text.length).toBeLessThan(60_000)
})

it('of 20,000 lines that all differ takes bounded time, and begins where they differ', async () => {
  const file = (name: string): string =>
    `same\n${Array.from({ length: 20_000 }, (_, i) => `${name} ${i}\n`).join('')}`
  const begun = process.cpuUsage()
  const { text, linesLeftOut } = await lineDiff(file('old'), file('new'))
  const { user, system } = process.cpuUsage(begun)
  expect(text).toMatch(/^@@ -2,20000 \+2,20000 @@\n-old 0\n/)
  expect(linesLeftOut).toBe(40_001 - 120)
  expect((user + system) / 1_000).toBeLessThan(2_000)
})

it('gives the new text when it is applied to the old one', async () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 })
    .map((lines) => lines.map((line) => `${line}\n`).join(''))
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      expect(applyPatch(before, `--- \n+++ \n${(await lineDiff(before, after)).text}\n`)).toBe(after)
    }),
  )
})
