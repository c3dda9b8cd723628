// The sums of usages. The schema of a usage is in chat.ts, so a screen can use this file without it.
import type { Usage } from './chat.ts'

/** The optional counts of a usage, in the order in which they are written. */
export const usageParts = [
  'cached_input_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'audio_input_tokens',
  'audio_output_tokens',
  'unknown_calls',
  'estimated_calls',
] as const

/** The name of an optional count. */
export type UsagePart = (typeof usageParts)[number]

/** The usage before the first call. */
export const noUsage: Usage = { input_tokens: 0, output_tokens: 0, calls: 0 }

/**
 * The sum of two usages. A part that neither has is not in the sum.
 *
 * @example
 * addUsage({ input_tokens: 100, output_tokens: 20, calls: 1 }, { input_tokens: 50, output_tokens: 5, calls: 1 }) // => { input_tokens: 150, output_tokens: 25, calls: 2 }
 */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    ...{
      input_tokens: a.input_tokens + b.input_tokens,
      output_tokens: a.output_tokens + b.output_tokens,
      calls: a.calls + b.calls,
    },
    ...partsOfUsage((part) => (a[part] ?? 0) + (b[part] ?? 0)),
  }
}

/**
 * The optional counts that are not zero. A usage without them is written as it always was.
 *
 * @example
 * partsOfUsage((part) => (part === 'reasoning_tokens' ? 12 : 0)) // => { reasoning_tokens: 12 }
 */
export function partsOfUsage(count: (part: UsagePart) => number): Partial<Record<UsagePart, number>> {
  const parts: Partial<Record<UsagePart, number>> = {}
  for (const part of usageParts) if (count(part) > 0) parts[part] = count(part)
  return parts
}
