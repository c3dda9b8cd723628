// The patterns of rules: `*` matches any characters, and every other character matches itself.

/**
 * Whether a pattern with `*` covers the text. Finds the parts between the `*` in their order, each at its
 * first place, so that there is no backtracking.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  for (const part of rest) {
    const at = text.indexOf(part, from)
    if (at === -1) return false
    from = at + part.length
  }
  return from <= text.length - last.length
}
