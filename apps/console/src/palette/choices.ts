// What the palette offers for the words that a person has typed. Pure.

/** One line of the palette. */
export interface Choice {
  /** Unique among all lines. */
  readonly id: string
  /** What it is, such as "Page" or "Task". */
  readonly kind: string
  readonly title: string
  /** More about it, in a second line. `null`: nothing. */
  readonly more: string | null
  /** The key that does the same. `null`: none. */
  readonly key: string | null
  /** It decides about something, so a person has to choose it. */
  readonly decides?: true | undefined
  readonly run: () => void
}

const wordsOf = (text: string): readonly string[] => text.toLowerCase().split(/\s+/).filter(Boolean)

/** The lines in which all words occur, those that begin with the text first. Without words: all. */
export function fitting(choices: readonly Choice[], text: string): readonly Choice[] {
  const words = wordsOf(text)
  const begins = text.trim().toLowerCase()
  const found = choices.filter(({ kind, title, more }) => {
    const all = `${kind} ${title} ${more ?? ''}`.toLowerCase()
    return words.every((word) => all.includes(word))
  })
  const rank = ({ title }: Choice): number => (title.toLowerCase().startsWith(begins) ? 0 : 1)
  return found.toSorted((a, b) => rank(a) - rank(b))
}

/** The place of the line that `Enter` takes: the chosen one, or the first that decides about nothing. -1: none. */
export const offered = (choices: readonly Choice[], chosen: string | null): number => {
  const at = choices.findIndex(({ id }) => id === chosen)
  return at === -1 ? choices.findIndex(({ decides }) => decides !== true) : at
}

/** The place of the line to which a key leads. `null`: the key does not move. */
export function moved(key: string, at: number, count: number): number | null {
  if (count === 0) return null
  switch (key) {
    case 'ArrowDown':
      return (at + 1) % count
    case 'ArrowUp':
      return (Math.max(at, 0) - 1 + count) % count
    case 'PageDown':
      return Math.min(count - 1, at + 8)
    case 'PageUp':
      return Math.max(0, at - 8)
    default:
      return null
  }
}
