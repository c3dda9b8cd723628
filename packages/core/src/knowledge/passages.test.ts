import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { documentPassages, passageCharsMax } from './passages.ts'

const passages = (text: string, headings = true) => [...documentPassages(text, { headings })]
const ranges = (text: string, headings = true): string[] =>
  passages(text, headings).map(({ firstLine, lastLine, heading }) => `${firstLine}-${lastLine} ${heading}`)

describe('a document', () => {
  test.each<[string, string, readonly string[]]>([
    ['that is empty has no passage', '', []],
    ['with only white space has no passage', ' \n\t\n\r\n\n', []],
    ['without headings is one passage', 'one\ntwo\n', ['1-2 null']],
    [
      'is split at its headings, each with those above it',
      'top\n# A\na\n## B\nb\n# C #\nc',
      ['1-1 null', '2-3 A', '4-5 A > B', '6-7 C'],
    ],
    ['keeps the lines of another system', '# A\r\n\r\na\r\n', ['1-3 A']],
    ['has no heading within a fence', '# A\n```sh\n# not\n```\n# B', ['1-4 A', '5-5 B']],
    ['has no heading without a space or with seven signs', '#tag\n####### seven', ['1-2 null']],
    ['may skip a level', '### deep\nx\n# top', ['1-2 deep', '3-3 top']],
  ])('%s', (_, text, expected) => expect(ranges(text)).toEqual(expected))

  it('has headings only if it may have some', () =>
    expect(ranges('# A\na\n# B', false)).toEqual(['1-3 null']))

  it('is split between paragraphs', () => {
    const paragraph = `${'word '.repeat(180)}\n`
    expect(ranges(`${paragraph}\n${paragraph}\n${paragraph}`)).toEqual(['1-1 null', '3-3 null', '5-5 null'])
  })

  it('of one long line is split within it, and every piece has its number', () => {
    const found = passages(`short\n${'a'.repeat(passageCharsMax * 2 + 10)}\nend`)
    expect(found.map(({ firstLine, lastLine, text }) => [firstLine, lastLine, text.length])).toEqual([
      [1, 1, 5],
      [2, 2, passageCharsMax],
      [2, 2, passageCharsMax],
      [2, 2, 10],
      [3, 3, 3],
    ])
  })
})

it('every passage has the text of its lines, no passage is too long, and no line with text is lost', () => {
  const line = fc.oneof(
    fc.string(),
    fc.constant(''),
    fc.constant('# h'),
    fc.constant('```'),
    fc.constant('😀'.repeat(1_000)),
    fc.constant('word '.repeat(200)),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
      const text = lines.join('\n')
      const all = text.split('\n').map((each) => each.replace(/\r$/, ''))
      const covered = new Set<number>()
      for (const { firstLine, lastLine, text: shown } of passages(text)) {
        expect(shown.length).toBeLessThanOrEqual(passageCharsMax)
        expect(shown.isWellFormed() || !text.isWellFormed()).toBe(true)
        const whole = all.slice(firstLine - 1, lastLine).join('\n')
        if (firstLine === lastLine) expect(whole).toContain(shown)
        else expect(shown).toBe(whole)
        for (let at = firstLine; at <= lastLine; at++) covered.add(at)
      }
      for (const [at, each] of all.entries()) if (each.trim() !== '') expect(covered.has(at + 1)).toBe(true)
    }),
  )
})

it('megabytes of empty lines, of one line and of headings take little time', async () => {
  const size = 2_000_000
  const work = (): void => {
    expect(passages('\n'.repeat(size))).toHaveLength(0)
    expect(passages('a'.repeat(size))).toHaveLength(Math.ceil(size / passageCharsMax))
    expect(passages('# a\n'.repeat(size / 40))).toHaveLength(size / 40)
  }
  expect(await ownMs(work)).toBeLessThan(10_000)
})
