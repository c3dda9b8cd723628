// Amounts of what budgets bound: their arithmetic, and how a person reads them. The schemas are in budget.ts,
// so a screen can use this file without them.
// B2. Money is a whole number of 1e-12 USD, as in core's costs, so sums are exact.
import { usdOf } from '../cost/cost.ts'
import type { BudgetLimits, BudgetName } from './budget.ts'

/** What a budget may bound. */
export const budgetMeasures = ['usd', 'tokens', 'model_calls', 'tool_calls', 'wall_ms'] as const

/** The name of a measure. */
export type BudgetMeasure = (typeof budgetMeasures)[number]

/**
 * The budget in words, for people.
 *
 * @example
 * budgetText({ of: 'task', per: 'run' }) // => 'the budget of the task'
 * budgetText({ of: 'user', name: 'alice', per: 'day' }) // => 'the budget of the user alice for a day'
 */
export function budgetText({ of, name, per }: BudgetName): string {
  const whose = name === undefined ? of : `${of} ${name}`
  return `the budget of the ${whose}${per === 'run' ? '' : ` for a ${per}`}`
}

/** Amounts of each measure. `usd` is in units of 1e-12 USD. */
export interface Amounts {
  readonly usd: bigint
  readonly tokens: number
  readonly model_calls: number
  readonly tool_calls: number
  readonly wall_ms: number
}

/** Nothing. */
export const noAmounts: Amounts = { usd: 0n, tokens: 0, model_calls: 0, tool_calls: 0, wall_ms: 0 }

/**
 * The sum of two amounts.
 *
 * @example
 * addAmounts(noAmounts, { ...noAmounts, tokens: 3 }).tokens // => 3
 */
export const addAmounts = (a: Amounts, b: Amounts): Amounts => ({
  usd: a.usd + b.usd,
  tokens: a.tokens + b.tokens,
  model_calls: a.model_calls + b.model_calls,
  tool_calls: a.tool_calls + b.tool_calls,
  wall_ms: a.wall_ms + b.wall_ms,
})

/**
 * The difference of two amounts.
 *
 * @example
 * takeAmounts({ ...noAmounts, tokens: 3 }, { ...noAmounts, tokens: 1 }).tokens // => 2
 */
export const takeAmounts = (a: Amounts, b: Amounts): Amounts => ({
  usd: a.usd - b.usd,
  tokens: a.tokens - b.tokens,
  model_calls: a.model_calls - b.model_calls,
  tool_calls: a.tool_calls - b.tool_calls,
  wall_ms: a.wall_ms - b.wall_ms,
})

/**
 * An amount as events have it: US dollars, tokens, calls or milliseconds.
 *
 * @example
 * numberOf({ ...noAmounts, tokens: 3 }, 'tokens') // => 3
 */
export const numberOf = (amounts: Amounts, measure: BudgetMeasure): number =>
  measure === 'usd' ? usdOf(amounts.usd) : amounts[measure]

const unitsPerUsd = 1e12

/**
 * US dollars as a whole number of 1e-12 USD. A finer amount is rounded.
 *
 * @example
 * usdUnits(0.25) // => 250_000_000_000n
 */
export function usdUnits(usd: number): bigint {
  const whole = Math.trunc(usd)
  return BigInt(whole) * BigInt(unitsPerUsd) + BigInt(Math.round((usd - whole) * unitsPerUsd))
}

/**
 * An amount of a measure as a person reads it.
 *
 * @example
 * amountText('usd', 0.1234) // => '0.1234 USD'
 * amountText('tokens', 5_000_000) // => '5,000,000 tokens'
 * amountText('wall_ms', 90_000) // => '90 s'
 */
export function amountText(measure: BudgetMeasure, amount: number): string {
  switch (measure) {
    case 'usd':
      return `${usdNumber(amount)} USD`
    case 'tokens':
      return `${grouped(amount)} ${amount === 1 ? 'token' : 'tokens'}`
    case 'model_calls':
      return `${grouped(amount)} model ${amount === 1 ? 'call' : 'calls'}`
    case 'tool_calls':
      return `${grouped(amount)} tool ${amount === 1 ? 'call' : 'calls'}`
    case 'wall_ms':
      return `${grouped(Math.round(amount / 100) / 10)} s`
    default:
      return measure satisfies never
  }
}

/**
 * Amounts of several measures as a person reads them. Empty if there are none.
 *
 * @example
 * limitsText({ usd: 10, tokens: 5_000_000 }) // => '10.00 USD and 5,000,000 tokens'
 */
export const limitsText = (limits: BudgetLimits): string =>
  budgetMeasures
    .flatMap((measure) => {
      const limit = limits[measure]
      return limit === undefined ? [] : [amountText(measure, limit)]
    })
    .join(' and ')

/**
 * What is used of a limit.
 *
 * @example
 * usedText('usd', 0.12, 0.5) // => '0.12 of 0.50 USD'
 */
export function usedText(measure: BudgetMeasure, used: number, limit: number): string {
  const [amount = ''] = amountText(measure, used).split(' ')
  return `${amount} of ${amountText(measure, limit)}`
}

/**
 * Why a call has no place in a budget, without a capital and without a full stop.
 *
 * @example
 * const budget = { of: 'task', per: 'run' } as const
 * noPlaceText({ budget, measure: 'usd', limit: 0.5, used: 0.49, needed: 0.02 }) // => 'the budget of the task has no place for the next call (used 0.49 of 0.50 USD, needed up to 0.02 USD)'
 */
export function noPlaceText({
  budget: of,
  measure,
  limit,
  used,
  needed,
}: {
  readonly budget: BudgetName
  readonly measure: BudgetMeasure
  readonly limit: number
  readonly used: number
  readonly needed: number
}): string {
  const needs = measure === 'wall_ms' ? '' : `, needed up to ${amountText(measure, needed)}`
  return `${budgetText(of)} has no place for the next call (used ${usedText(measure, used, limit)}${needs})`
}

/**
 * US dollars with at least two decimals, and with as many as show the amount. A rounded amount never shows less
 * than was used.
 *
 * @example
 * usdNumber(0.3625) // => '0.3625'
 * usdNumber(2) // => '2.00'
 */
export function usdNumber(amount: number): string {
  if (amount >= 1 || amount === 0) return (Math.ceil(amount * 100 - 1e-7) / 100).toFixed(2)
  if (amount < 0.0001) return '0.0001'
  return (Math.ceil(amount * 10_000 - 1e-7) / 10_000).toFixed(4).replace(/0{1,2}$/, '')
}

const grouped = (amount: number): string => amount.toLocaleString('en-US')

/**
 * Limits with more of some measures. A measure that is not bounded stays so.
 *
 * @example
 * raisedLimits({ usd: 1 }, { usd: 0.5, tokens: 9 }) // => { usd: 1.5 }
 */
export function raisedLimits(limits: BudgetLimits, more: BudgetLimits): BudgetLimits {
  const raised: Record<string, number> = {}
  for (const measure of budgetMeasures) {
    const limit = limits[measure]
    if (limit !== undefined) raised[measure] = limit + (more[measure] ?? 0)
  }
  return raised
}

/**
 * The lower limit of each measure.
 *
 * @example
 * lowerLimits({ usd: 10, tokens: 100 }, { usd: 2, tool_calls: 3 }) // => { usd: 2, tokens: 100, tool_calls: 3 }
 */
export function lowerLimits(a: BudgetLimits, b: BudgetLimits): BudgetLimits {
  const lower: Record<string, number> = {}
  for (const measure of budgetMeasures) {
    const limit = Math.min(a[measure] ?? Infinity, b[measure] ?? Infinity)
    if (limit !== Infinity) lower[measure] = limit
  }
  return lower
}

/**
 * The sum of what two raises give.
 *
 * @example
 * sumOfLimits({ usd: 1 }, { usd: 0.5, tokens: 9 }) // => { usd: 1.5, tokens: 9 }
 */
export function sumOfLimits(a: BudgetLimits, b: BudgetLimits): BudgetLimits {
  const sum: Record<string, number> = {}
  for (const measure of budgetMeasures) {
    const amount = (a[measure] ?? 0) + (b[measure] ?? 0)
    if (amount > 0) sum[measure] = amount
  }
  return sum
}
