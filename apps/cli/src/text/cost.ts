// Formats the cost of model calls.
// C1. An unknown cost is shown as unknown, never counted as zero: a sum with an unknown part is "at least".
import type { ModelUsage } from '@beaver/contracts'
import { costOf, type Price } from '@beaver/core'
import { oneLine } from './plain-text.ts'

export interface Cost {
  /** The sum of the known costs. */
  readonly usd: number
  /** The models whose cost is unknown. `null`: some models without a name. */
  readonly unknown: readonly (string | null)[]
  /** Whether something with a known cost was used. */
  readonly known: boolean
}

export type Prices = Readonly<Record<string, Price>>

export function costOfAll(used: readonly ModelUsage[], prices: Prices): Cost {
  let usd = 0
  let known = false
  const unknown = new Set<string | null>()
  for (const { model, input_tokens, output_tokens, calls } of used) {
    const cost = model === null ? null : costOf(model, { input_tokens, output_tokens, calls }, prices)
    if (cost === null) unknown.add(model)
    else {
      known = true
      usd += cost
    }
  }
  return { usd, unknown: [...unknown], known }
}

/** For example `$0.0123`, `at least $0.01 (unknown: qwen3)`, `cost unknown (qwen3)`. Empty if nothing was used. */
export function costText({ usd, unknown, known }: Cost): string {
  if (unknown.length === 0) return !known ? '' : usd === 0 ? 'no cost' : usdText(usd)
  const names = unknown.slice(0, namesMax).map((name) => (name === null ? 'other models' : oneLine(name, 60)))
  const which = `${names.join(', ')}${unknown.length > namesMax ? ', …' : ''}`
  return known && usd > 0 ? `at least ${usdText(usd)} (unknown: ${which})` : `cost unknown (${which})`
}

/** The same in few columns, for a table: `$0.0123`, `>$0.01`, `unknown`. */
export function costCell({ usd, unknown, known }: Cost): string {
  if (unknown.length === 0) return known ? usdText(usd) : ''
  return known && usd > 0 ? `>${usdText(usd)}` : 'unknown'
}

const namesMax = 3

/** @example usdText(0.00123) // '$0.0012' */
export function usdText(usd: number): string {
  if (usd === 0) return '$0'
  if (usd < 0.0001) return '<$0.0001'
  return usd < 1 ? `$${usd.toFixed(usd < 0.01 ? 4 : 3)}` : `$${usd.toFixed(2)}`
}
