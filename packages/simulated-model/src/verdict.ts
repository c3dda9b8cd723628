import type { Recount } from './known.ts'

/** The result of an independent count, in a sentence. */
export function verdict({ agrees, differences, method }: Recount): string {
  if (agrees === null)
    return `The folder was counted again (${method}); there were no figures to compare with.`
  if (agrees) return `The independent count (${method}) agrees in every figure.`
  return `The independent count (${method}) does not agree: ${differences.map(({ figure, expected, found }) => `${figure} ${expected} against ${found}`).join(', ')}.`
}
