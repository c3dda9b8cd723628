import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { budgetDefault } from '@beaver/core/budget'
import { configuredBudgets, isLooser } from './budgets.ts'
import { type ConfigFlags, loadConfig } from './config.ts'
import { importPrices } from './prices.ts'

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'beaver-budgets-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const configOf = (set: ConfigFlags['set']) => loadConfig({ set }, {}, folder)
const problemsOf = (budgets: unknown): string => {
  try {
    configOf({ budgets: budgets as never })
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('the budgets of a configuration', () => {
  it('bound each task by default, and not if one without limits is there', () => {
    expect(configOf({}).budgets).toEqual([budgetDefault])
    expect(configOf({ budgets: [{ of: 'task' }] }).budgets).toEqual([
      { of: 'task', per: 'run', exceeded: 'wait' },
    ])
    expect(configOf({ budgets: [{ of: 'node', usd: 1 }] }).budgets).toEqual([
      budgetDefault,
      { of: 'node', per: 'run', exceeded: 'wait', usd: 1 },
    ])
  })

  it('are one of each kind, name and period, and only tasks and nodes have a time', () => {
    expect(problemsOf([{ of: 'task', usd: 1 }, { of: 'task' }])).toContain(
      'budgets.1.of: there is a budget of each task already. Join both',
    )
    expect(problemsOf([{ of: 'node', wall_ms: 5 }])).toBe('')
    expect(problemsOf([{ of: 'task', usd: -1 }])).toContain('budgets.0.usd')
    expect(problemsOf([{ of: 'house', usd: 1 }])).toContain('budgets.0.of')
    const ofUser = { of: 'user', per: 'day', usd: 1 }
    expect(problemsOf([ofUser, { ...ofUser, name: 'ann' }, { ...ofUser, per: 'month' }])).toBe('')
    expect(problemsOf([ofUser, ofUser])).toContain(
      'budgets.1.of: there is a budget of each user for a day already. Join both',
    )
    expect(problemsOf([{ of: 'user', per: 'run', wall_ms: 5 }])).toBe('')
    expect(problemsOf([{ ...ofUser, wall_ms: 5 }])).toContain('budgets.0.wall_ms: is for budgets of single')
    expect(problemsOf([{ of: 'task', per: 'day', usd: 1 }])).toContain('budgets.0.per: must be "run"')
    expect(problemsOf([{ of: 'tenant', name: 'x', usd: 1 }])).toContain('budgets.0.name')
  })

  it('need consent if a task may use more than by default', () => {
    expect(isLooser([{ of: 'task', usd: 2, tokens: 100_000, exceeded: 'end' }])).toBe(false)
    expect(isLooser([{ of: 'node', usd: 20 }])).toBe(false)
    expect(isLooser([{ of: 'task', usd: 2 }])).toBe(true)
    expect(isLooser([{ of: 'task', usd: 11, tokens: 1 }])).toBe(true)
    expect(isLooser([{ of: 'task' }])).toBe(true)
    expect(isLooser('none')).toBe(true)
  })
})

describe('the price that a budget counts', () => {
  const call = { provider: 'openai-compatible', model: 'my-model', day: '2026-11-25' }

  it('is 3 and 15 USD per million tokens if nobody knows it, or what the configuration says', () => {
    const rules = configuredBudgets(configOf({}))
    expect(rules.priceFor(call)).toEqual({ input: 3, output: 15 })
    expect(rules.refuses(call)).toBe(false)
    const other = configuredBudgets(configOf({ prices: { unknown: { input: 1, output: 2 } } }))
    expect(other.priceFor(call)).toEqual({ input: 1, output: 2 })
  })

  it('is zero for the simulated model', () => {
    const rules = configuredBudgets(configOf({ prices: { unknown: 'refuse' } }))
    const simulated = { ...call, provider: 'simulated', model: 'beaver-simulated-1' }
    expect(rules.priceFor(simulated)).toEqual({ input: 0, output: 0 })
    expect(rules.refuses(simulated)).toBe(false)
  })

  it('is that of the named model, of the configuration, of the imports or of Beaver', async () => {
    const config = configOf({
      models: { deep: { name: 'my-model', price: { input: 5, output: 6 } } },
      prices: { other: { input: 7, output: 8 } },
    })
    await importPrices(
      config.pricesFile,
      { bought: [{ from: '2026-11-20', input: 9, output: 9 }] },
      '2026-11-25',
    )
    const { priceFor } = configuredBudgets(config)
    expect(priceFor({ ...call, provider: 'openai-compatible:deep' })).toEqual({ input: 5, output: 6 })
    expect(priceFor({ ...call, model: 'other' })).toEqual({ input: 7, output: 8 })
    expect(priceFor({ ...call, model: 'bought' }).input).toBe(9)
    expect(priceFor({ ...call, model: 'bought', day: '2026-11-19' })).toEqual({ input: 3, output: 15 })
    expect(priceFor({ ...call, model: 'gpt-5-mini' }).output).toBe(2)
  })

  it('refuses models whose price nobody knows, if the configuration says so', () => {
    const config = configOf({ prices: { unknown: 'refuse', mine: { input: 1, output: 1 } } })
    expect(config.prices).toEqual({ unknown: 'refuse', models: { mine: { input: 1, output: 1 } } })
    const { refuses } = configuredBudgets(config)
    expect([
      refuses(call),
      refuses({ ...call, model: 'mine' }),
      refuses({ ...call, model: 'gpt-5' }),
    ]).toEqual([true, false, false])
  })

  it('is not known if the file of prices is broken', () => {
    const config = configOf({ prices_file: 'prices.json' })
    writeFileSync(join(folder, 'prices.json'), '{', { mode: 0o600 })
    expect(() => configuredBudgets(config)).toThrow('cannot be read: it is not JSON')
  })

  it.each([
    [{ unknown: 'free' }, 'prices.unknown: must be a price'],
    [{ m: 'refuse' }, 'prices.m'],
  ])('is refused if it is none: %j', (prices, why) =>
    expect(() => configOf({ prices: prices as never })).toThrow(why),
  )
})
