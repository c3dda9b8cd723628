import { framed, framedOutputs, withOutputsCut } from '@beaver/core/fold'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { outputCuts } from './output-cuts.ts'

const mark = 'bcdfghjk'
const messageOf = (lengths: readonly number[]): string =>
  lengths
    .map((length, i) =>
      framed('x'.repeat(length), { name: 'dependency_output', mark, attributes: { from: `n${i}` } }),
    )
    .join('\n\n')
const kept = (lengths: readonly number[], charsMax: number): number[] => {
  const cuts = new Map(
    outputCuts(messageOf(lengths), mark, charsMax).map((cut) => [cut.index, cut.kept_chars]),
  )
  return lengths.map((length, i) => cuts.get(i) ?? length)
}

it('keeps short outputs whole and cuts the longest to the same length', () => {
  expect(kept([10, 20, 30], 100)).toEqual([10, 20, 30])
  expect(kept([10, 500, 1_000], 110)).toEqual([10, 50, 50])
  expect(kept([1_000], 0)).toEqual([0])
  expect(kept([], 0)).toEqual([])
})

it('keeps the bound, except for outputs that a note about the cut would not make shorter, and keeps as much of each that it cuts', () => {
  const noteCharsMax = 130
  fc.assert(
    fc.property(fc.array(fc.nat(900), { maxLength: 20 }), fc.nat(6_000), (lengths, charsMax) => {
      const all = kept(lengths, charsMax)
      const isCut = (i: number): boolean => (all[i] ?? 0) < (lengths[i] ?? 0)
      const saved = all.reduce((sum, each) => sum + each, 0) - charsMax
      expect(saved).toBeLessThanOrEqual(noteCharsMax * lengths.filter((_, i) => !isCut(i)).length)
      const cut = lengths.map((length, i) => [length, all[i] ?? 0] as const).filter((_, i) => isCut(i))
      const byLength = cut.toSorted(([one], [other]) => one - other)
      for (const [length, chars] of byLength) {
        expect(chars).toBe(byLength[0]?.[1])
        expect(length - chars).toBeGreaterThan(90)
      }
    }),
  )
})

it('leaves an output whole that a cut would not make shorter', () => {
  expect(kept([200], 150)).toEqual([200])
  expect(withOutputsCut(messageOf([400]), mark, outputCuts(messageOf([400]), mark, 150)).length).toBeLessThan(
    messageOf([400]).length,
  )
})

it('and the message with the cuts has the same frames', () => {
  const message = messageOf([10, 5_000, 9_000])
  const cut = withOutputsCut(message, mark, outputCuts(message, mark, 1_010))
  expect(framedOutputs(cut, mark).map(({ node_id }) => node_id)).toEqual(['n0', 'n1', 'n2'])
  expect(cut.length).toBeLessThan(1_800)
})
