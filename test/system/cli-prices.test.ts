// The real command: it imports prices from files of a person and lists them, without a system.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import type { CommandHost, Ran } from '../support/cli.ts'
import { keptCommands } from '../support/kept-system.ts'

/** A price map in the form of LiteLLM. */
const tokens = (input: unknown, output: unknown, more: object = {}): object => ({
  mode: 'chat',
  input_cost_per_token: input,
  output_cost_per_token: output,
  ...more,
})
const map = {
  sample_spec: { mode: 'one of: chat, embedding', input_cost_per_token: 0 },
  'gpt-5-mini': tokens(2e-7, 1.6e-6, { cache_read_input_token_cost: 3e-8 }),
  'claude-sonnet-4-5': tokens(3e-6, 1.5e-5, {
    cache_read_input_token_cost: 3e-7,
    input_cost_per_token_above_200k_tokens: 6e-6,
  }),
  thinker: tokens(1e-6, 4e-6, { output_cost_per_reasoning_token: 8e-6 }),
  'image/one': { mode: 'image_generation', output_cost_per_image: 0.04 },
}
const bad = { below: tokens(-1e-6, 1e-6), huge: tokens(1e-6, 1e300), prose: tokens('2e-7', 1e-6), none: null }

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-cli-prices-'))
  put('map.json', { ...map, ...bad })
})
afterEach(() => rmSync(folder, { recursive: true }))

let host: CommandHost
beforeAll(async () => void (host = await keptCommands()))
const prices = (...args: readonly string[]): Promise<Ran> =>
  host.run(['--trust', 'prices', ...args], { cwd: folder, env: { HOME: folder } })
const put = (name: string, content: unknown): void =>
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
const kept = (file = '.beaver/prices.json'): unknown =>
  existsSync(join(folder, file)) ? JSON.parse(readFileSync(join(folder, file), 'utf8')) : null

describe('beaver prices import', () => {
  it('imports what has a price, and tells what changes, what is left out and what is bad', async () => {
    const { out, err, exit } = await prices('import', 'map.json', '--from', '2026-11-25')
    expect(exit).toBe(0)
    expect(out).toContain(
      'gpt-5-mini: $0.25 in ($0.025 cached), $2 out → $0.2 in ($0.03 cached), $1.6 out from 2026-11-25',
    )
    expect(out).toContain(
      'Imported 3 prices: 2 changed, 1 new. 1 without a price for tokens of text was left out.',
    )
    expect(out).toContain('1 model has another price for long prompts.')
    expect(err).toContain('4 bad prices were left out:')
    expect(err).toContain('  below: input_cost_per_token: must not be below 0')
    expect(kept()).toMatchObject({
      models: { thinker: [{ from: '2026-11-25', input: 1, output: 4, reasoning: 8 }] },
    })
    expect(readdirSync(join(folder, '.beaver'))).toEqual(['prices.json'])
  })

  it('gives all of it as JSON, and a trial changes nothing', async () => {
    const { out } = await prices(
      'import',
      'map.json',
      '--dry-run',
      '--json',
      '--source',
      'https://example.com',
    )
    expect(JSON.parse(out)).toMatchObject({
      imported: false,
      left_out: 1,
      tiered: 1,
      bad: Object.keys(bad).map((model) => ({ model })),
    })
    expect(kept()).toBeNull()
  })

  it('a second time is no change, and another price of the same day is refused as a whole', async () => {
    await prices('import', 'map.json', '--from', '2026-11-25')
    const before = kept()
    expect((await prices('import', 'map.json', '--from', '2026-11-26')).out).toContain('Imported 0 prices')
    put('other.json', {
      added: { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 },
      thinker: { input_cost_per_token: 9e-6, output_cost_per_token: 9e-6 },
    })
    const { err, exit } = await prices('import', 'other.json', '--from', '2026-11-25')
    expect([exit, err]).toEqual([
      2,
      expect.stringContaining('The model thinker has another price from 2026-11-25 already'),
    ])
    expect(kept()).toEqual(before)
  })

  test.each<[string, unknown, string]>([
    ['no JSON', '{"m": {', 'it is not JSON'],
    ['an empty file', '', 'it is not JSON'],
    ['a list', [1, 2], 'must be an object'],
    ['a web page', '<!doctype html><p>Not found</p>', 'it is not JSON'],
    ['only bad prices', bad, 'no model with a price that can be used'],
    [
      'our format with a fault',
      { as_of: '2026-11-25', models: { good: [{ from: '2026-01-01', input: 1, output: 1 }], m: [] } },
      'models.m',
    ],
    ['more than 32 MB', `{"a":"${'x'.repeat(33 * 1024 * 1024)}"}`, 'is larger than 33554432 bytes'],
  ])('refuses %s, in one line, and writes nothing', async (_, content, why) => {
    put('bad.json', content)
    const { out, err, exit } = await prices('import', 'bad.json')
    expect([exit, out]).toEqual([2, ''])
    expect(err).toContain(why)
    expect(err).not.toContain('    at ')
    expect(kept()).toBeNull()
  })

  test.each<[readonly string[], number, string]>([
    [['import'], 2, 'Name the file'],
    [['import', 'gone.json'], 2, 'The file gone.json cannot be read: there is no such file.'],
    [['import', 'map.json', '--from', 'soon'], 2, '--from must be a day such as 2026-11-01'],
    [['import', 'map.json', '--from', '2026-13-45'], 2, '--from must be a day such as 2026-11-01'],
    [['export', 'map.json'], 2, 'Allowed choices are list, import'],
  ])('%j is refused', async (args, exit, message) => {
    const ran = await prices(...args)
    expect([ran.exit, ran.err]).toEqual([exit, expect.stringContaining(message)])
  })

  it('keeps the prices where the configuration says, and says if that is no place for a file', async () => {
    put('beaver.config.json', { prices_file: 'team/prices.json' })
    await prices('import', 'map.json')
    expect([kept(), kept('team/prices.json')]).toEqual([
      null,
      expect.objectContaining({ models: expect.objectContaining({ thinker: expect.anything() }) }),
    ])
    expect((await prices('list', 'thinker')).out).toMatch(/thinker .* 1 .* 4 .* 8/)
    mkdirSync(join(folder, 'shut'))
    put('beaver.config.json', { prices_file: 'shut' })
    expect(await prices('import', 'map.json')).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/The file of prices \S+shut cannot be read: it is a folder/),
    })
  })

  it('does not write where the folder of a stranger says', async () => {
    put('beaver.config.json', { prices_file: 'elsewhere.json' })
    const { err } = await host.run(['prices', 'import', 'map.json'], { cwd: folder, env: { HOME: folder } })
    expect(err).toContain('Beaver leaves out prices_file')
    expect([existsSync(join(folder, 'elsewhere.json')), kept()]).toEqual([false, expect.anything()])
  })
})

describe('beaver prices list', () => {
  it('lists prices of models that the configuration names, of its prices, of imports and of Beaver', async () => {
    put('beaver.config.json', {
      ...{ prices: { 'my-model': { input: 7, output: 8 } } },
      models: {
        deep: { name: 'my-deep', price: { input: 5, output: 6 } },
        other: { name: 'o', endpoint: 'router' },
      },
      endpoints: {
        router: { base_url: 'https://example.com/v1', models: ['qwen'], price: { input: 3, output: 4 } },
      },
    })
    await prices('import', 'map.json', '--source', 'https://example.com/prices')
    const { out } = await prices('list', '--json', '--limit', '1000')
    const { prices: rows, more } = JSON.parse(out) as { prices: Record<string, unknown>[]; more: boolean }
    expect(more).toBe(false)
    const of = (model: string) => rows.filter((row) => row['model'] === model)
    const named = 'configuration of the model'
    expect(of('deep')).toEqual([{ model: 'deep', from: null, input: 5, output: 6, source: named }])
    expect([of('other'), of('router/qwen')]).toMatchObject([
      [{ input: 3, source: named }],
      [{ input: 3, source: named }],
    ])
    expect(of('my-model')).toMatchObject([{ input: 7, source: 'configuration' }])
    expect(of('gpt-5-mini').map(({ source }) => source)).toEqual(['https://example.com/prices', 'Beaver'])
  })

  it('says that a price is not known, and that its own file is broken', async () => {
    expect((await prices('list', 'no-such')).out).toContain(
      'No model with a price has "no-such" in its name.',
    )
    mkdirSync(join(folder, '.beaver'))
    put('.beaver/prices.json', '{"as_of":')
    chmodSync(join(folder, '.beaver/prices.json'), 0o600)
    expect(await prices('list')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('cannot be read: it is not JSON. Remove it, and import the prices again.'),
    })
  })
})
