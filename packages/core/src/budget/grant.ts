// Decides whether a call may be made, and how long its answer may be. Pure.
// G1. A grant reserves the largest amounts that the call can use: the most tokens of the request at the
// dearest price of input, and of an answer that is as long as the grant allows at the dearest price of output.
// G2. An answer that the call bounds itself may be as long, but at most a sixteenth of what is free, so that one
// call does not hold everything while others run; at least `answerTokensMin`. An answer that nobody bounds is
// left so while the longest one would fit: a server refuses a bound that is too high for its model. Then
// `answerTokensUsual` are reserved, and what is more counts when it comes. Near a limit it is bounded, too.
// G3. If the open reservations of other calls are the reason, the call waits until they are settled. Only if
// the call would not fit beside what is really used is the budget exceeded.
import { usdOf } from '../cost/cost.ts'
import type { Price } from '../cost/model-prices.ts'
import {
  addAmounts,
  type Amounts,
  type BudgetMeasure,
  budgetMeasures,
  noAmounts,
  usdUnits,
} from './amounts.ts'
import type { BudgetLimits } from './budget.ts'

/** A budget at a moment. */
export interface Standing {
  readonly limits: BudgetLimits
  readonly used: Amounts
  /** What the calls under way may use at most. */
  readonly reserved: Amounts
}

/** What a call of a model needs at most. */
export interface CallBound {
  readonly inputTokensMax: number
  /** The most tokens of the answer. `null`: nobody bounded it. */
  readonly outputTokensMax: number | null
}

/** Whether a call may be made. Money that is needed is in US dollars. */
export type Grant =
  | {
      readonly kind: 'granted'
      /** How many tokens the answer may have. `null`: nobody has to bound it. */
      readonly outputTokensMax: number | null
      /** The tokens of an answer that are reserved. */
      readonly outputTokens: number
      readonly amounts: Amounts
    }
  | {
      readonly kind: 'short'
      /** The place of the budget in the list. */
      readonly budget: number
      readonly measure: BudgetMeasure
      /** The least that the call needs of the measure. In USD for `usd`. */
      readonly needed: number
      /** Whether the call may fit when other calls are settled. */
      readonly later: boolean
    }

/** No model writes a longer answer. */
const answerTokensMax = 131_072
/** What is reserved for an answer that nobody bounds. */
const answerTokensUsual = 16_384
/** A shorter answer is of no use. */
const answerTokensMin = 1_024
const shareOfFree = 16

/**
 * Decides about a call of a model.
 *
 * @param standings the budgets that apply
 * @param price in USD per million tokens
 * @example
 * const standings = [{ limits: { usd: 1 }, used: noAmounts, reserved: noAmounts }]
 * const grant = grantCall(standings, { inputTokensMax: 1_000, outputTokensMax: 4_000 }, { input: 1, output: 10 })
 * grant.kind // => 'granted'
 * grant.kind === 'granted' && grant.amounts.usd // => 41_000_000_000n
 */
export function grantCall(standings: readonly Standing[], bound: CallBound, price: Price): Grant {
  const rates = dearest(price)
  const { inputTokensMax, outputTokensMax: asked } = bound
  const wanted = asked ?? answerTokensUsual
  const costOf = (outputTokens: number): Amounts => ({
    ...noAmounts,
    usd: BigInt(inputTokensMax) * rates.input + BigInt(outputTokens) * rates.output,
    tokens: inputTokensMax + outputTokens,
    model_calls: 1,
  })
  const least = Math.min(wanted, answerTokensMin)
  const short = shortOf(standings, costOf(least))
  if (short !== null) return short
  const free = Math.min(...standings.map((standing) => answerTokensFree(standing, rates, inputTokensMax)))
  if (asked === null && free >= answerTokensMax)
    return { kind: 'granted', outputTokensMax: null, outputTokens: wanted, amounts: costOf(wanted) }
  const share = Math.max(Math.floor(free / shareOfFree), Math.min(free, 4 * answerTokensMin))
  const outputTokens = Math.min(wanted, Math.max(share, least))
  return { kind: 'granted', outputTokensMax: outputTokens, outputTokens, amounts: costOf(outputTokens) }
}

/**
 * Decides about a call of a tool.
 *
 * @example
 * const standings = [{ limits: { tool_calls: 0 }, used: noAmounts, reserved: noAmounts }]
 * grantToolCall(standings).kind // => 'short'
 */
export function grantToolCall(standings: readonly Standing[]): Grant {
  const amounts = { ...noAmounts, tool_calls: 1 }
  return (
    shortOf(standings, amounts) ?? {
      kind: 'granted',
      outputTokensMax: null,
      outputTokens: 0,
      amounts,
    }
  )
}

/** The first budget in which an amount has no place. A time that is over leaves no place for any call. */
function shortOf(standings: readonly Standing[], amounts: Amounts): Extract<Grant, { kind: 'short' }> | null {
  let later: Extract<Grant, { kind: 'short' }> | null = null
  for (const [budget, { limits, used, reserved }] of standings.entries())
    for (const measure of budgetMeasures) {
      const limit = limits[measure]
      if (limit === undefined) continue
      const isOver = (taken: Amounts): boolean =>
        measure === 'usd'
          ? taken.usd + amounts.usd > usdUnits(limit)
          : taken[measure] + neededOf(amounts, measure) > limit
      if (!isOver(addAmounts(used, reserved))) continue
      const needed = measure === 'usd' ? usdOf(amounts.usd) : neededOf(amounts, measure)
      const short = { kind: 'short', budget, measure, needed, later: !isOver(used) } as const
      if (!short.later) return short
      later ??= short
    }
  return later
}

/** Any call takes some time. */
const neededOf = (amounts: Amounts, measure: Exclude<BudgetMeasure, 'usd'>): number =>
  measure === 'wall_ms' ? 1 : amounts[measure]

/** How many tokens of an answer have a place beside the input. */
function answerTokensFree({ limits, used, reserved }: Standing, rates: Rates, inputTokens: number): number {
  const tokens = (limits.tokens ?? Infinity) - used.tokens - reserved.tokens - inputTokens
  if (limits.usd === undefined || rates.output === 0n) return tokens
  const usd = usdUnits(limits.usd) - used.usd - reserved.usd - BigInt(inputTokens) * rates.input
  return Math.min(tokens, Number(usd / rates.output))
}

interface Rates {
  readonly input: bigint
  readonly output: bigint
}

/** The dearest price of each side, in 1e-12 USD for a token. */
function dearest(price: Price): Rates {
  const dear = (...prices: readonly (number | undefined)[]): bigint =>
    BigInt(Math.round(Math.max(...prices.map((each) => each ?? 0)) * 1e6))
  return {
    input: dear(price.input, price.cached_input, price.cache_write, price.audio_input),
    output: dear(price.output, price.reasoning, price.audio_output),
  }
}
