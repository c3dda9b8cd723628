// What model calls cost, calculated from the tokens that the provider reported.
// C1. A cost that is not known is `null`, never zero. It is unknown for an unknown model, and for calls without reported tokens.
// C2. A dated snapshot of a model has the price of that model. A new version is another model and has a price of its own.
import type { Usage } from '../chat.ts'
import { modelPrices, type Price } from './model-prices.ts'

/**
 * The cost in USD; `null` if it is not known.
 *
 * @param overrides prices that replace or extend the known ones, in USD per million tokens
 * @example
 * const usage = { input_tokens: 1_000_000, output_tokens: 0, calls: 1 }
 * costOf('gpt-5-mini-2025-08-07', usage) // => 0.25
 * costOf('my-model', usage) // => null
 * costOf('my-model', usage, { 'my-model': { input: 2, output: 8 } }) // => 2
 */
export function costOf(model: string, usage: Usage, overrides: Readonly<Record<string, Price>> = {}): number | null {
  const price = priceIn(overrides, model) ?? priceIn(modelPrices, model)
  if (price === null) return null
  if (price.input === 0 && price.output === 0) return 0
  if (usage.calls > 0 && usage.input_tokens === 0 && usage.output_tokens === 0) return null
  return (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1_000_000
}

/** Endings that name a snapshot of the same model: `-2025-08-07`, `-20250929`, `-0613`, `-001`, `-latest`. */
const snapshot = /^[-@:](?:\d{3,8}(?:-\d\d){0,2}|latest)$/

/** The price of the longest known name that the model has or is a snapshot of. Routers put the maker in front: `openai/gpt-5`. */
function priceIn(prices: Readonly<Record<string, Price>>, model: string): Price | null {
  for (const asked of new Set([model, model.slice(model.lastIndexOf('/') + 1)])) {
    let best: string | null = null
    for (const name of Object.keys(prices)) {
      if (best !== null && name.length <= best.length) continue
      const [whole, start] = [dashed(asked), dashed(name)]
      if (whole === start || (whole.startsWith(start) && snapshot.test(whole.slice(start.length)))) best = name
    }
    if (best !== null) return prices[best] ?? null
  }
  return null
}

const dashed = (name: string): string => name.toLowerCase().replaceAll('.', '-')
