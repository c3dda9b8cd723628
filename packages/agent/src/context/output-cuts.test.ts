import { framed, framedOutputs, withOutputsCut } from '@beaver/core'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { outputCuts } from './output-cuts.ts'

const mark = 'bcdfghjk'
const messageOf = (lengths: readonly number[]): string =>
  lengths.map((length, i) => framed('x'.repeat(length), { name: 'dependency_output', mark, attributes: { from: `n${i}` } })).join('\n\n')
const kept = (lengths: readonly number[], charsMax: number): number[] => {
  const cuts = new Map(outputCuts(messageOf(lengths), mark, charsMax).map((cut) => [cut.index, cut.kept_chars]))
  return lengths.map((length, i) => cuts.get(i) ?? length)
}

it('keeps short outputs whole and cuts the longest to the same length', () => {
  expect(kept([10, 20, 30], 100)).toEqual([10, 20, 30])
  expect(kept([10, 500, 1_000], 110)).toEqual([10, 50, 50])
  expect(kept([1_000], 0)).toEqual([0])
  expect(kept([], 0)).toEqual([])
})

it('never keeps more than the bound, nor less of an output than of a shorter one', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(300), { maxLength: 20 }), fc.nat(2_000), (lengths, charsMax) => {
      const all = kept(lengths, charsMax)
      expect(all.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(charsMax)
      const byLength = lengths.map((length, i) => [length, all[i] ?? 0] as const).toSorted(([a], [b]) => a - b)
      for (const [i, [, chars]] of byLength.entries()) expect(chars).toBeGreaterThanOrEqual(byLength[i - 1]?.[1] ?? 0)
      // What is cut leaves nothing over but what cannot be shared.
      if (all.some((chars, i) => chars < (lengths[i] ?? 0)))
        expect(charsMax - all.reduce((sum, each) => sum + each, 0)).toBeLessThan(Math.max(1, lengths.length))
    }),
  )
})

it('and the message with the cuts has the same frames', () => {
  const message = messageOf([10, 5_000, 9_000])
  const cut = withOutputsCut(message, mark, outputCuts(message, mark, 1_010))
  expect(framedOutputs(cut, mark).map(({ node_id }) => node_id)).toEqual(['n0', 'n1', 'n2'])
  expect(cut.length).toBeLessThan(1_800)
})
