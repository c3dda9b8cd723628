// How many tokens a text is, roughly, without the tokenizer of any model.
// E1. An estimate, for people and for sums of parts: never a bound that something must keep to.

const charsPerToken = 4

/**
 * About one token for four characters of alphabetic scripts, one for each character of Chinese, Japanese and Korean.
 * Models differ; English prose comes out within a fifth, code and tables are often more than this says.
 *
 * @example estimateTokens('four') // 1
 */
export function estimateTokens(text: string): number {
  let wide = 0
  for (let i = 0; i < text.length; i++) if (isWide(text.charCodeAt(i))) wide++
  return wide + Math.ceil((text.length - wide) / charsPerToken)
}

/** From the radicals of CJK to the end of its ideographs, Hangul, compatibility ideographs, full-width forms. */
function isWide(unit: number): boolean {
  if (unit < 0x2e80) return false
  return unit <= 0x9fff || (unit >= 0xac00 && unit <= 0xd7af) || (unit >= 0xf900 && unit <= 0xfaff) || (unit >= 0xff00 && unit <= 0xffef)
}
