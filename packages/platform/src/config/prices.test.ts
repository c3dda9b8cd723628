import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { faulty, faultyEntries, priced, priceMap, unpriced } from '../../test/price-map.ts'
import { importedPrices, importPrices, mergedPrices } from './prices.ts'
import { readPrices } from './read-prices.ts'

let home = ''
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), 'beaver-prices-'))))
afterEach(() => rmSync(home, { recursive: true }))
const file = (): string => join(home, 'prices.json')

const read = (content: unknown, from = '2026-11-25') =>
  readPrices(JSON.stringify(content), { file: 'prices.json', from })
const from = '2026-11-25'

describe('the price map of LiteLLM', () => {
  it('gives USD per million tokens, and leaves out what has no price for text', () => {
    expect(read(priceMap)).toEqual({
      models: {
        'gpt-5-mini': [{ from, input: 0.2, output: 1.6, cached_input: 0.03 }],
        'claude-sonnet-4-5': [{ from, input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 }],
        thinker: [{ from, input: 1, output: 4, reasoning: 8 }],
        'voice/one': [{ from, input: 1, output: 4, audio_input: 10, audio_output: 20 }],
      },
      leftOut: Object.keys(unpriced).length,
      bad: [],
      tiered: 1,
    })
  })

  it('has a bad entry told with its fault, and the others count', () => {
    const { models, bad } = read({ ...priceMap, ...faultyEntries })
    expect(Object.keys(models)).toEqual(Object.keys(priced))
    expect(Object.fromEntries(bad.map(({ model, why }) => [model, why]))).toEqual(
      Object.fromEntries(Object.entries(faulty).map(([model, [, why]]) => [model, why])),
    )
  })

  it('with only bad entries is refused with the first fault', () => {
    expect(() => read(faultyEntries)).toThrow(
      'no model with a price that can be used (below: input_cost_per_token: must not be below 0)',
    )
  })

  it('takes names that mean something to JavaScript, and a mark of the byte order', () => {
    const text = `\uFEFF{"__proto__":{"input_cost_per_token":1e-6,"output_cost_per_token":2e-6},"constructor":{"input_cost_per_token":1e-6,"output_cost_per_token":2e-6}}`
    const { models } = readPrices(text, { file: 'prices.json', from })
    // No model is called `__proto__`.
    expect(Object.keys(models)).toEqual(['constructor'])
    expect(mergedPrices({}, models).models).toEqual({ constructor: [{ from, input: 1, output: 2 }] })
  })

  it('of 17 MB is read within seconds', () => {
    const entries = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, i) => [
        `model-${i}`,
        { ...priced['gpt-5-mini'], notes: 'x'.repeat(500) },
      ]),
    )
    const text = JSON.stringify(entries)
    expect(text.length).toBeGreaterThan(17_000_000)
    const { models } = readPrices(text, { file: 'prices.json', from })
    expect(Object.keys(models)).toHaveLength(20_000)
  })

  it.each([
    ['text', 'not JSON', 'it is not JSON'],
    ['a list', '[]', 'not imported'],
    ['a map without a price', '{"m":{}}', 'no model with a price'],
    [
      'our format with a wrong day',
      '{"as_of":"2026-11-25","models":{"m":[{"from":"soon","input":1,"output":1}]}}',
      'models.m.0.from',
    ],
    [
      'our format with a price below zero',
      '{"as_of":"2026-11-25","models":{"m":[{"from":"2026-01-01","input":-1,"output":1}]}}',
      'models.m.0.input',
    ],
  ])('%s is refused as a whole', (_, text, why) => {
    expect(() => readPrices(text, { file: 'prices.json', from: '2026-11-25' })).toThrow(why)
  })
})

describe('an import', () => {
  const at = (from: string, input: number) => ({ m: [{ from, input, output: 1 }] })

  it('adds a price from its day on, and keeps those of earlier days', () => {
    const first = mergedPrices({}, at('2026-01-01', 1))
    const second = mergedPrices(first.models, at('2026-11-01', 2))
    expect(second.models['m']?.map(({ from, input }) => [from, input])).toEqual([
      ['2026-01-01', 1],
      ['2026-11-01', 2],
    ])
    expect(second.changes).toEqual([
      {
        model: 'm',
        before: { from: '2026-01-01', input: 1, output: 1 },
        after: { from: '2026-11-01', input: 2, output: 1 },
      },
    ])
  })

  it('of the same price is no change, and another price of the same day is refused', () => {
    const { models } = mergedPrices({}, at('2026-01-01', 1))
    expect(mergedPrices(models, at('2026-11-01', 1)).changes).toEqual([])
    expect(() => mergedPrices(models, at('2026-01-01', 2))).toThrow('another price from 2026-01-01')
  })

  it('is read again as it was written, only by the owner, and a broken file is told', async () => {
    const { models } = mergedPrices({}, read(priceMap).models)
    await importPrices(file(), models, '2026-11-25')
    expect(importedPrices(file())).toEqual(models)
    expect(readFileSync(file(), 'utf8')).toContain('"as_of": "2026-11-25"')
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    writeFileSync(file(), '{')
    expect(() => importedPrices(file())).toThrow('cannot be read: it is not JSON')
  })

  it('that would make the file larger than one that is read changes nothing', async () => {
    await importPrices(file(), at('2026-01-01', 1), '2026-11-25')
    const many = Object.fromEntries(
      Array.from({ length: 20_001 }, (_, i) => [`m${i}`, at('2026-01-01', 1).m]),
    )
    await expect(importPrices(file(), many, '2026-11-26')).rejects.toThrow('must have at most 20000 models')
    expect(Object.keys(importedPrices(file()))).toEqual(['m'])
  })

  it('into a place that takes no file says so', async () => {
    writeFileSync(file(), '{}')
    await expect(
      importPrices(join(file(), 'prices.json'), at('2026-01-01', 1), '2026-11-25'),
    ).rejects.toThrow(/cannot be written: .*Nothing was imported/)
    expect(() => importedPrices(home)).toThrow('cannot be read: it is a folder')
  })

  it('at the same time as others loses none of them', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `m${i}`)
    await Promise.all(
      names.map((name) => importPrices(file(), { [name]: at('2026-01-01', 1).m }, '2026-11-25')),
    )
    expect(Object.keys(importedPrices(file()))).toEqual(names)
  })
})
