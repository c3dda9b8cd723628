// Finds the place of a figure in the text of a result, so that the page can mark it. `figureStands` of the
// evidence decides whether the figure is there at all.

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)

/**
 * Finds the figure as the report writes it, and its number with other marks between thousands and before the
 * fraction: "14,260" is also "14260" and "14 260", and "27.0%" is also "27,0". A longer number is another one.
 *
 * @returns `null`: there is nothing to look for
 */
export function figurePattern(shown: string): RegExp | null {
  const text = shown.trim()
  if (text === '' || text.length > 100) return null
  const numbers = text.match(/\d+(?:[.,'’\u00a0\u202f ]\d+)*/g) ?? []
  const alternatives = [
    `(?<![\\p{L}\\p{N}]|\\d[.,'’])${literal(text)}(?![\\p{L}\\p{N}]|[.,'’]\\d)`,
    ...numbers.map((number) => `(?<!\\d|\\d[.,'’])${spellings(number)}(?!\\d|[.,'’]\\d)`),
  ]
  return new RegExp(alternatives.join('|'), 'gu')
}

/** Digits in groups of three after a mark may stand together; another mark begins the fraction. */
function spellings(number: string): string {
  const [first = '', ...rest] = number.split(/([.,'’\u00a0\u202f ])/)
  let pattern = first
  for (let at = 0; at < rest.length; at += 2) {
    const [mark = '', digits = ''] = rest.slice(at, at + 2)
    pattern += (digits.length === 3 && mark !== '.' ? "[.,'’\\u00a0\\u202f ]?" : '[.,]') + digits
  }
  return pattern
}
