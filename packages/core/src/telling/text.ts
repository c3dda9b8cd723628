// Cuts texts from outside to a bound, and writes numbers for people.

/**
 * At most `charsMax` UTF-16 units of a text, never half a character.
 *
 * @example clip('beaver', 3) // => 'bea'
 */
export function clip(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const last = text.charCodeAt(charsMax - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? charsMax - 1 : charsMax)
}

/**
 * The text on one line, with `…` where it was cut.
 *
 * @param charsMax default 120
 * @example excerpt('one\n two') // => 'one two'
 */
export function excerpt(text: string, charsMax = 120): string {
  const line = clip(text, charsMax * 4)
    .replace(/\s+/g, ' ')
    .trim()
  return line.length <= charsMax && text.length <= charsMax * 4 ? line : `${clip(line, charsMax - 1)}…`
}

/**
 * A number for people.
 *
 * @example count(1204) // => '1,204'
 */
export const count = (n: number): string => String(Math.round(n)).replaceAll(/\B(?=(\d{3})+$)/g, ',')

/**
 * A number of things.
 *
 * @param noun the name of one thing; it gets an `s` unless there is one
 * @example
 * counted(1, 'node') // => '1 node'
 * counted(2000, 'node') // => '2,000 nodes'
 */
export const counted = (n: number, noun: string): string => `${count(n)} ${noun}${n === 1 ? '' : 's'}`

/** For example `350 ms`, `3.2 s`. */
export const spanOf = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`)

/** The text with a full stop, unless it ends with a mark of its own. Empty stays empty. */
export const sentence = (text: string): string => (text === '' || /[.!?…]$/.test(text) ? text : `${text}.`)
