// An endpoint's gate as words of shared memory. Every change is one compare-and-exchange, so a thread that
// dies leaves no lock behind.
import { type Nanoseconds, nextSlot } from './gcra.ts'

/** The number of words of one endpoint, which fill a cache line. */
export const wordsOfGate = 8
export const wordBytesOfGate = wordsOfGate * BigInt64Array.BYTES_PER_ELEMENT

/** The meaning of each word. If `openUntil` is 0, the circuit is closed. */
export const at = {
  requestsDue: 0,
  tokensDue: 1,
  holdUntil: 2,
  failures: 3,
  openUntil: 4,
  textVersion: 5,
  waits: 6,
  waitedNs: 7,
} as const

/** Takes the next slot of a limit. Returns `null` and takes nothing if the slot starts after `latest`. */
export function takeSlot(
  words: BigInt64Array,
  index: number,
  asked: Parameters<typeof nextSlot>[1],
  latest: Nanoseconds,
): Nanoseconds | null {
  for (;;) {
    const due = Atomics.load(words, index)
    const slot = nextSlot(due, asked)
    if (slot.start > latest) return null
    if (Atomics.compareExchange(words, index, due, slot.due) === due) return slot.start
  }
}

export function raise(words: BigInt64Array, index: number, to: Nanoseconds): void {
  for (;;) {
    const is = Atomics.load(words, index)
    if (is >= to || Atomics.compareExchange(words, index, is, to) === is) return
  }
}
