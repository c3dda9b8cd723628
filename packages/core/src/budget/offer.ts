// What a person is offered, and what a person writes, to give more to a budget. Pure.
import { amountText, type BudgetMeasure } from './amounts.ts'
import type { BudgetLimits } from './budget.ts'

/**
 * The amounts that a person is offered, the smaller one first: about a tenth of the limit, and the limit once
 * more. Each is at least what the next call needs.
 *
 * @example
 * budgetOffers({ measure: 'usd', limit: 5, needed: 0.02 }) // => [0.5, 5]
 * budgetOffers({ measure: 'model_calls', limit: 1, needed: 1 }) // => [1]
 */
export function budgetOffers({
  measure,
  limit,
  needed,
}: {
  readonly measure: BudgetMeasure
  readonly limit: number
  readonly needed: number
}): number[] {
  const least = Math.max(roundUp(limit / 10), roundUp(needed))
  const offers = [least, Math.max(limit, least)].map((amount) =>
    measure === 'usd'
      ? Math.max(0.01, amount)
      : measure === 'wall_ms'
        ? Math.max(60_000, amount)
        : Math.max(1, Math.ceil(amount)),
  )
  return [...new Set(offers)]
}

/** The next 1, 2 or 5 times a power of ten. */
function roundUp(amount: number): number {
  if (amount <= 0) return 0
  const power = 10 ** Math.floor(Math.log10(amount))
  const factor = [1, 2, 5, 10].find((each) => amount <= each * power * (1 + 1e-9)) ?? 10
  return Number((factor * power).toPrecision(3))
}

/**
 * An amount as a person writes it after "more", without a unit for money.
 *
 * @example
 * typedAmount('usd', 0.5) // => '0.50'
 * typedAmount('tokens', 50_000) // => '50000 tokens'
 */
export function typedAmount(measure: BudgetMeasure, amount: number): string {
  const text = amountText(measure, amount).replaceAll(',', '')
  return measure === 'usd' ? text.replace(' USD', '') : text
}

/** The longest unit first, so that no unit is read as the start of another. */
const units: readonly (readonly [RegExp, BudgetMeasure, number])[] = [
  [/^(?:usd|us dollars?|dollars?|\$)$/, 'usd', 1],
  [/^tokens?$/, 'tokens', 1],
  [/^model[ _]calls?$/, 'model_calls', 1],
  [/^tool[ _]calls?$/, 'tool_calls', 1],
  [/^(?:ms|milliseconds?)$/, 'wall_ms', 1],
  [/^(?:s|sec|seconds?)$/, 'wall_ms', 1_000],
  [/^(?:m|min|minutes?)$/, 'wall_ms', 60_000],
  [/^(?:h|hours?)$/, 'wall_ms', 3_600_000],
]

/**
 * Reads an amount that a person wrote. A number without a unit is one of the measure that is used up; of time,
 * it is seconds.
 *
 * @returns what is given more. `null`: the text is no amount, or a number that may mean two amounts, as `0,50`
 * @example
 * amountIn('0.50', 'usd') // => { usd: 0.5 }
 * amountIn('50,000 tokens', 'usd') // => { tokens: 50000 }
 * amountIn('a lot', 'usd') // => null
 */
export function amountIn(text: string, measure: BudgetMeasure): BudgetLimits | null {
  const [, sign, digits = '', name = ''] =
    /^(\$)?\s*(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)\s*([a-z$][a-z _]*)?$/.exec(
      text.trim().toLowerCase(),
    ) ?? []
  if (digits === '' || (sign !== undefined && name !== '' && name !== 'usd')) return null
  const unit = sign === undefined ? name.trim().replaceAll(/\s+/g, ' ') : 'usd'
  const [, of, factor] =
    unit === ''
      ? ([null, measure, measure === 'wall_ms' ? 1_000 : 1] as const)
      : (units.find(([pattern]) => pattern.test(unit)) ?? [])
  if (of === undefined || factor === undefined) return null
  const amount = Number((Number(digits.replaceAll(',', '')) * factor).toPrecision(15))
  const isWhole = of === 'usd' || Number.isInteger(amount)
  return amount > 0 && isWhole ? { [of]: amount } : null
}
