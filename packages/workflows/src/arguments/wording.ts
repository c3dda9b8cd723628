// Shows in messages what a model sent: quoted, bounded in length, with the name that was probably meant.

const shownCharsMax = 140
const exampleCharsMax = 800
const listedMax = 20

/** For a correction that the model should copy. */
export const copiedCharsMax = 4000

/**
 * A value as bounded JSON text, for a message.
 *
 * @example
 * quote('a') // => '"a"'
 */
export function quote(value: unknown, charsMax = shownCharsMax): string {
  const text = jsonOf(value)
  return text.length <= charsMax
    ? text
    : `${text.slice(0, charsMax).toWellFormed()}… (${text.length} characters)`
}

/** A correct value to copy, after `before`. Empty if the value is too long to repeat. */
export function example(value: unknown, before = ''): string {
  const text = jsonOf(value)
  return text.length <= exampleCharsMax ? before + text : ''
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'nothing'
  } catch {
    return 'nested too deeply to be shown'
  }
}

/**
 * Names for a message, at most 20 of them.
 *
 * @example
 * quoteAll(['a', 'b']) // => '"a", "b"'
 */
export function quoteAll(names: readonly string[]): string {
  const shown = names
    .slice(0, listedMax)
    .map((name) => quote(name))
    .join(', ')
  return names.length <= listedMax ? shown : `${shown} and ${names.length - listedMax} more`
}

/**
 * The end of a message that names what was probably meant. Empty if no name is near.
 *
 * @example
 * didYouMean('synthesiser', ['synthesizer']) // => ' Did you mean "synthesizer"?'
 */
export function didYouMean(written: string, names: Iterable<string>): string {
  const name = nearest(written, names)
  return name === null ? '' : ` Did you mean ${quote(name)}?`
}

/** The name with the most similar spelling. */
export function nearest(written: string, names: Iterable<string>): string | null {
  const wanted = plainName(written)
  let best: { name: string; distance: number } | null = null
  for (const name of names) {
    const distance = wanted === plainName(name) ? 0 : editDistance(wanted, plainName(name))
    if (distance <= Math.min(2, Math.floor(wanted.length / 3)) && distance < (best?.distance ?? Infinity))
      best = { name, distance }
  }
  return best?.name ?? null
}

/** Without case, spaces and marks. */
export const plainName = (name: string): string =>
  name
    .slice(0, 128)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}]/gu, '')

function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Infinity
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const above = row
    row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(change, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
  }
  return row[b.length] ?? Infinity
}
