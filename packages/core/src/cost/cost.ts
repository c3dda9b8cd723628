// What model calls cost, calculated from the tokens that the provider reported.
// C1. A cost that is not known is `null`, never zero. It is unknown for an unknown model, and for calls
// without reported tokens.
// C2. A dated snapshot of a model has the price of that model. A new version is another model and has a price
// of its own.
// C3. Each token costs once. Tokens of a cache, thoughts and audio have prices of their own, or else the
// price of their total.
// C4. A cost is a whole number of millionths of a microdollar (1e-12 USD), so sums are exact, whatever their
// order.
// C5. A usage has the price of its day: of the prices of a model, the newest that was valid then.
import type { Usage } from '../chat.ts'
import { type DatedPrice, modelPrices, type Price } from './model-prices.ts'

/** Where a price is looked for before the known ones. */
export interface PriceBook {
  /** Prices of the configuration. They count on every day, and before all others. */
  readonly configured?: Readonly<Record<string, Price>>
  /** Prices that were imported. */
  readonly imported?: Readonly<Record<string, readonly DatedPrice[]>>
}

/** Prices for calls. A model that the configuration names may have a price of its own. */
export interface CallPrices extends PriceBook {
  /** Prices of models by their names in the configuration. They come before all others. */
  readonly named?: ReadonlyMap<string, Price>
}

/** A call of a model: who was asked, for which model, and on which day. */
export interface CallOfModel {
  /** The name of the provider, such as `openai` or `openai-compatible:deep`. `null`: nobody told it. */
  readonly provider: string | null
  /** The name of the model as the provider says it. `null`: nobody told it. */
  readonly model: string | null
  /** YYYY-MM-DD. Absent: the newest prices count. */
  readonly day?: string | undefined
}

const units = 1e12

/**
 * The cost in USD; `null` if it is not known.
 *
 * @param day YYYY-MM-DD. Default: a day on which the newest prices count
 * @example
 * const usage = { input_tokens: 1_000_000, output_tokens: 0, calls: 1 }
 * costOf('gpt-5-mini-2025-08-07', usage) // => 0.25
 * costOf('my-model', usage) // => null
 * costOf('my-model', usage, { configured: { 'my-model': { input: 2, output: 8 } } }) // => 2
 */
export function costOf(model: string, usage: Usage, book: PriceBook = {}, day?: string): number | null {
  const cost = exactCostOf(model, usage, book, day)
  return cost === null ? null : usdOf(cost)
}

/**
 * A cost in USD.
 *
 * @param cost in units of 1e-12 USD
 * @example
 * usdOf(250_000_000_000n) // => 0.25
 */
export const usdOf = (cost: bigint): number => Number(cost) / units

/**
 * The same in units of 1e-12 USD, for sums.
 *
 * @example
 * usdOf(exactCostOf('gpt-5-mini', { input_tokens: 1_000_000, output_tokens: 0, calls: 1 }) ?? 0n) // => 0.25
 */
export function exactCostOf(
  model: string,
  usage: Usage,
  book: PriceBook = {},
  day: string = lastDay,
): bigint | null {
  const price = priceOf(model, book, day)
  return price === null ? null : exactCostAt(price, usage)
}

/**
 * The cost of a usage at a price, in units of 1e-12 USD; `null` if it is not known.
 *
 * @example
 * usdOf(exactCostAt({ input: 2, output: 8 }, { input_tokens: 1_000_000, output_tokens: 0, calls: 1 }) ?? 0n) // => 2
 */
export function exactCostAt(price: Price, usage: Usage): bigint | null {
  if (Object.values(price).every((each) => each === 0 || typeof each !== 'number')) return 0n
  if (usage.calls > 0 && usage.input_tokens === 0 && usage.output_tokens === 0) return null
  const {
    cached_input_tokens: cached = 0,
    cache_write_tokens: written = 0,
    reasoning_tokens: thoughts = 0,
  } = usage
  const fresh = Math.max(0, usage.input_tokens - cached - written)
  const answerTokens = Math.max(0, usage.output_tokens - thoughts)
  // Audio of a cache costs what the cache costs.
  const heard = Math.min(usage.audio_input_tokens ?? 0, fresh)
  const spoken = Math.min(usage.audio_output_tokens ?? 0, answerTokens)
  return (
    microdollars(cached, price.cached_input ?? price.input) +
    microdollars(written, price.cache_write ?? price.input) +
    microdollars(heard, price.audio_input ?? price.input) +
    microdollars(fresh - heard, price.input) +
    microdollars(thoughts, price.reasoning ?? price.output) +
    microdollars(spoken, price.audio_output ?? price.output) +
    microdollars(answerTokens - spoken, price.output)
  )
}

/** A price in USD per million tokens is the same number of microdollars for each token. */
const microdollars = (tokens: number, price: number): bigint =>
  BigInt(tokens) * BigInt(Math.round(price * 1e6))

const lastDay = '9999-12-31'

/**
 * The price of a model on a day; `null` if it is not known.
 *
 * @example
 * priceOf('gpt-5-mini')?.output // => 2
 */
export function priceOf(
  model: string,
  { configured = {}, imported = {} }: PriceBook = {},
  day: string = lastDay,
): Price | null {
  return (
    priceIn(configured, model, (price) => price) ??
    priceIn(imported, model, (prices) =>
      prices.filter(({ from }) => from <= day).reduce<DatedPrice | null>(newer, null),
    ) ??
    priceIn(modelPrices, model, (price) => price)
  )
}

/**
 * The price of a call; `null` if it is not known.
 *
 * @example
 * const named = new Map([['deep', { input: 1, output: 2 }]])
 * priceOfCall({ provider: 'openai-compatible:deep', model: 'gpt-5-mini' }, { named })?.output // => 2
 * priceOfCall({ provider: 'openai', model: 'gpt-5-mini' }, { named })?.output // => 2
 * priceOfCall({ provider: 'openai', model: 'my-model' }) // => null
 */
export const priceOfCall = ({ provider, model, day }: CallOfModel, prices: CallPrices = {}): Price | null =>
  prices.named?.get(nameOfModel(provider)) ?? (model === null ? null : priceOf(model, prices, day))

/**
 * The name of a model in the configuration: `deep` of `openai-compatible:deep`. Empty if the model has none.
 */
const nameOfModel = (provider: string | null): string =>
  provider === null || !provider.includes(':') ? '' : provider.slice(provider.indexOf(':') + 1)

const newer = (one: DatedPrice | null, other: DatedPrice): DatedPrice =>
  one !== null && one.from > other.from ? one : other

/** Endings that name a snapshot of the same model: `-2025-08-07`, `-20250929`, `-0613`, `-001`, `-latest`. */
const snapshot = /^[-@:](?:\d{3,8}(?:-\d\d){0,2}|latest)$/

/**
 * The price of the longest known name that the model has or is a snapshot of. Routers put the maker in front:
 * `openai/gpt-5`.
 */
function priceIn<T>(
  prices: Readonly<Record<string, T>>,
  model: string,
  pick: (entry: T) => Price | null,
): Price | null {
  for (const asked of new Set([model, model.slice(model.lastIndexOf('/') + 1)])) {
    let best: { readonly name: string; readonly price: Price } | null = null
    for (const [name, entry] of Object.entries(prices)) {
      if (best !== null && name.length <= best.name.length) continue
      const [whole, start] = [dashed(asked), dashed(name)]
      if (whole !== start && !(whole.startsWith(start) && snapshot.test(whole.slice(start.length)))) continue
      const price = pick(entry)
      if (price !== null) best = { name, price }
    }
    if (best !== null) return best.price
  }
  return null
}

const dashed = (name: string): string => name.toLowerCase().replaceAll('.', '-')
