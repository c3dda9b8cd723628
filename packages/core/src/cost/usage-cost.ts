// What usage of models costs, as answers say it: a cost is whole, or known in part, or not known at all. A part
// that is not known is never counted as zero (C1).
import type { Usage } from '../chat.ts'
import { type CallOfModel, type CallPrices, exactCostAt, priceOfCall, usdOf } from './cost.ts'
import type { Price } from './model-prices.ts'

/** Prices that are looked up often. */
export interface PriceTable {
  /** The price of a call; `null` if it is not known. */
  readonly priceOf: (call: CallOfModel) => Price | null
  /** The days from which a price counts, in order: on two days with none between them, each price is the same. */
  readonly days: readonly string[]
}

/** Where no price is known. */
export const noPrices: PriceTable = { priceOf: () => null, days: [] }

const keptMax = 1_000

/**
 * Makes a table of prices. It remembers what was looked up, because an import has thousands of prices.
 *
 * @example
 * priceTable({}).priceOf({ provider: 'openai', model: 'gpt-5-mini' })?.output // => 2
 */
export function priceTable(prices: CallPrices): PriceTable {
  const kept = new Map<string, Price | null>()
  const days = Object.values(prices.imported ?? {}).flatMap((dated) => dated.map(({ from }) => from))
  return {
    priceOf({ provider, model, day }) {
      const key = `${day} ${provider}\n${model}`
      const there = kept.get(key)
      if (there !== undefined) return there
      if (kept.size >= keptMax) kept.clear()
      const price = priceOfCall({ provider, model, day }, prices)
      kept.set(key, price)
      return price
    },
    days: [...new Set(days)].toSorted(),
  }
}

/** A cost in an answer. */
export interface UsageCost {
  /** The cost in US dollars. `null`: it is not known, or only a part of it is. */
  readonly cost_usd: number | null
  /** The part that is known, if it is more than zero and the rest is not known. */
  readonly cost_usd_known?: number
}

/** What calls of one model used, perhaps with the day whose prices count. */
export type UsageOfModel = Usage & {
  readonly provider: string | null
  readonly model: string | null
  readonly day?: string | undefined
}

/**
 * The cost of all usage together.
 *
 * @param day the day whose prices count for usage without a day of its own (RFC 3339 or YYYY-MM-DD). `null`:
 * the newest prices count
 * @example
 * const usage = { provider: 'openai', input_tokens: 1_000_000, output_tokens: 0, calls: 1 }
 * const prices = priceTable({})
 * costOfUsage([{ ...usage, model: 'gpt-5-mini' }], prices) // => { cost_usd: 0.25 }
 * costOfUsage([{ ...usage, model: 'my-model' }], prices) // => { cost_usd: null }
 */
export function costOfUsage(
  used: readonly UsageOfModel[],
  { priceOf }: Pick<PriceTable, 'priceOf'>,
  day: string | null = null,
): UsageCost {
  let sum = 0n
  let isWhole = true
  for (const { provider, model, day: own = day?.slice(0, 'YYYY-MM-DD'.length), ...usage } of used) {
    const price = priceOf({ provider, model, day: own })
    const cost = price === null ? null : exactCostAt(price, usage)
    sum += cost ?? 0n
    // The usage of some calls was not counted, so this cost is a lower bound.
    if (cost === null || (cost > 0n && (usage.unknown_calls ?? 0) > 0)) isWhole = false
  }
  if (isWhole) return { cost_usd: usdOf(sum) }
  return { cost_usd: null, ...(sum === 0n ? {} : { cost_usd_known: usdOf(sum) }) }
}
