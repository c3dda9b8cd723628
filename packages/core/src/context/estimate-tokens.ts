// Estimates how many tokens a text has, without the tokenizer of any model. The result is an estimate, for
// people and for sums of parts. No bound may depend on it.

const charsPerToken = 4

/**
 * About one token for four characters of alphabetic scripts, and one token for each character of Chinese,
 * Japanese and Korean. Models differ: the estimate for English prose is within a fifth of the real number.
 * Code and tables often have more tokens than estimated.
 *
 * @example
 * estimateTokens('four') // => 1
 */
export function estimateTokens(text: string): number {
  let wide = 0
  for (let i = 0; i < text.length; i++) if (isWide(text.charCodeAt(i))) wide++
  return wide + Math.ceil((text.length - wide) / charsPerToken)
}

/** CJK radicals and ideographs, Hangul, compatibility ideographs and full-width forms. */
function isWide(unit: number): boolean {
  if (unit < 0x2e80) return false
  return (
    unit <= 0x9fff ||
    (unit >= 0xac00 && unit <= 0xd7af) ||
    (unit >= 0xf900 && unit <= 0xfaff) ||
    (unit >= 0xff00 && unit <= 0xffef)
  )
}
