// Randomness that a seed repeats. One stream of numbers for each name: what one actor draws does not depend
// on what others draw.

export interface Random {
  /** A whole number from 0 to `below` - 1. */
  int(below: number): number
  chance(probability: number): boolean
  pick<T>(of: readonly [T, ...T[]] | readonly T[]): T
}

/** @param name of the stream */
export function randomOf(seed: number, name: string): Random {
  let a = seed >>> 0
  for (let i = 0; i < name.length; i++) a = Math.imul(a ^ name.charCodeAt(i), 0x9e3779b1) >>> 0
  const next = (): number => {
    // mulberry32
    a = (a + 0x6d2b79f5) >>> 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  for (let i = 0; i < 3; i++) next()
  return {
    int: (below) => Math.floor(next() * below),
    chance: (probability) => next() < probability,
    pick: (of) => of[Math.floor(next() * of.length)] as never,
  }
}
