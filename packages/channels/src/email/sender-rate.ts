// How much one sender writes. A program that answers every answer, and says nothing about it, is stopped
// here. The time of a mail is when it came, so a mailbox that waited for a day is no flood.

const hourMs = 3_600_000
const sendersMax = 10_000

export class SenderRate {
  readonly #perHour: number
  readonly #arrivals = new Map<string, readonly number[]>()

  constructor(perHour: number) {
    this.#perHour = perHour
  }

  /** Whether a mail is one too many of its hour. */
  isTooMany(sender: string, atMs: number): boolean {
    return this.#around(sender, atMs).length >= this.#perHour
  }

  /** Counts a mail that was taken. */
  count(sender: string, atMs: number): void {
    const all = [...this.#around(sender, atMs), atMs]
    this.#arrivals.delete(sender)
    this.#arrivals.set(sender, all)
    if (this.#arrivals.size > sendersMax) this.#arrivals.delete(this.#arrivals.keys().next().value as string)
  }

  #around(sender: string, atMs: number): readonly number[] {
    return (this.#arrivals.get(sender) ?? []).filter((each) => Math.abs(atMs - each) < hourMs)
  }
}
