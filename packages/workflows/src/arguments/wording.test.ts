import { describe, expect, it } from 'vitest'
import { didYouMean, quote, quoteAll } from './wording.ts'

describe('quote', () => {
  it('is bounded, and says how much there was', () => {
    expect(quote('x'.repeat(10_000)).length).toBeLessThan(200)
    expect(quote('x'.repeat(10_000))).toContain('(10002 characters)')
  })

  it('shows a name of 64 characters of any script in full', () =>
    expect(quote('𠀀'.repeat(64))).toBe(`"${'𠀀'.repeat(64)}"`))

  it('has a text for what is not JSON', () => expect(quote(undefined)).toBe('nothing'))
})

describe('quoteAll', () => {
  it('lists up to 20 names and counts the rest', () => {
    expect(quoteAll(['a', 'b'])).toBe('"a", "b"')
    expect(quoteAll(Array.from({ length: 25 }, (_, index) => `n${index}`))).toMatch(/"n19" and 5 more$/)
  })
})

describe('didYouMean', () => {
  it.each([
    ['synthesiser', ' Did you mean "synthesizer"?'],
    ['Data-Collector', ' Did you mean "data_collector"?'],
    ['colector', ' Did you mean "collector"?'],
    ['analyst', ''],
    ['b', ''],
  ])('for %j says %j', (written, answer) => {
    expect(didYouMean(written, ['a', 'collector', 'data_collector', 'synthesizer'])).toBe(answer)
  })
})
