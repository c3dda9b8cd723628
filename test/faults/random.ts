// Random numbers that a seed repeats. Each part of a campaign draws from a stream of its own, so that one
// part never shifts another. The same seed and name give the same numbers on every machine.

export interface Random {
  /** From 0 up to, and without, 1. */
  next(): number
  /** A whole number, both ends included. */
  between(low: number, high: number): number
  pick<Value>(values: readonly Value[]): Value
  /** One of the names, each as often as its weight says. */
  weighted<Name extends string>(weights: Readonly<Partial<Record<Name, number>>>): Name
}

/** @param name the part that draws: `faults`, `client 3` */
export function randomOf(seed: number, name: string): Random {
  const next = mulberry32(seed ^ hashOf(name))
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    between,
    pick(values) {
      const value = values[Math.floor(next() * values.length)]
      if (value === undefined) throw new Error('There is nothing to pick from.')
      return value
    },
    weighted(weights) {
      const entries = Object.entries(weights) as [never, number][]
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [name, weight] of entries) {
        left -= weight
        if (left < 0) return name
      }
      throw new Error('No weight is above 0.')
    },
  }
}

function mulberry32(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193)
  return hash
}
