// Formats the cost of model calls. An unknown cost is shown as unknown and never counted as zero: a sum with
// an unknown part begins with "at least".
import type { ModelUsage, TaskSummary } from '@beaver/contracts'
import type { usageParts } from '@beaver/core'
import { usdNumber } from '@beaver/core/budget'
import { count, counted } from './figures.ts'
import { oneLine } from './plain-text.ts'

export interface Cost {
  /** The sum of the known costs, in US dollars. */
  readonly usd: number
  /** The models whose cost is unknown. `null` stands for models without a name. */
  readonly unknown: readonly (string | null)[]
  /** Whether any usage had a known cost. */
  readonly known: boolean
}

/** The cost of a usage, as the answer has it. */
export function costOf({ cost_usd: whole, cost_usd_known: part = 0, usage_by_model: used }: Costed): Cost {
  const unknown = used.filter((each) => typeof each.cost_usd !== 'number')
  return {
    usd: whole ?? part,
    unknown: [...new Set(unknown.map(({ model }) => model))],
    known: unknown.length < used.length || part > 0,
  }
}

type Costed = Pick<TaskSummary, 'cost_usd' | 'cost_usd_known'> & {
  readonly usage_by_model: readonly Pick<ModelUsage, 'model' | 'cost_usd'>[]
}

/**
 * The tokens that were cached, reasoning or audio, such as `82% of the input from a cache, 1,024 of the
 * output thoughts`. Empty if there were none.
 */
export function partsText(usage: Pick<ModelUsage, 'input_tokens' | (typeof usageParts)[number]>): string {
  const {
    cached_input_tokens: cached = 0,
    cache_write_tokens: written = 0,
    reasoning_tokens: thoughts = 0,
  } = usage
  const { unknown_calls: uncounted = 0, estimated_calls: estimated = 0 } = usage
  const audio = (usage.audio_input_tokens ?? 0) + (usage.audio_output_tokens ?? 0)
  return [
    ...(cached === 0 ? [] : [`${shareText(cached, usage.input_tokens)} of the input from a cache`]),
    ...(written === 0 ? [] : [`${count(written)} written to a cache`]),
    ...(thoughts === 0 ? [] : [`${count(thoughts)} of the output thoughts`]),
    ...(audio === 0 ? [] : [`${count(audio)} audio`]),
    ...(uncounted === 0 ? [] : [`the tokens of ${counted(uncounted, 'call')} not known`]),
    ...(estimated === 0 ? [] : [`the tokens of ${counted(estimated, 'call')} estimated`]),
  ].join(', ')
}

/** @example shareText(1, 3) // '33%' */
export const shareText = (part: number, whole: number): string => {
  const percent = whole === 0 ? 0 : Math.floor((part * 100) / whole)
  return percent === 0 && part > 0 ? '<1%' : `${percent}%`
}

/**
 * For example `$0.0123`, `at least $0.01 (unknown: qwen3)` or `cost unknown (qwen3)`. Empty if nothing was
 * used.
 */
export function costText({ usd, unknown, known }: Cost): string {
  if (unknown.length === 0) return !known ? '' : usd === 0 ? 'no cost' : usdText(usd)
  const names = unknown.slice(0, namesMax).map((name) => (name === null ? 'other models' : oneLine(name, 60)))
  const which = `${names.join(', ')}${unknown.length > namesMax ? ', …' : ''}`
  return known && usd > 0 ? `at least ${usdText(usd)} (unknown: ${which})` : `cost unknown (${which})`
}

/** The cost for a narrow column: `$0.0123`, `>$0.01` or `unknown`. Empty if nothing was used. */
export function costCell({ usd, unknown, known }: Cost): string {
  if (unknown.length === 0) return known ? usdText(usd) : ''
  return known && usd > 0 ? `>${usdText(usd)}` : 'unknown'
}

const namesMax = 3

/** As budgets show it. @example usdText(0.1234) // '$0.1234' */
export function usdText(usd: number): string {
  if (usd === 0) return '$0'
  return usd < 0.0001 ? '<$0.0001' : `$${usdNumber(usd)}`
}
