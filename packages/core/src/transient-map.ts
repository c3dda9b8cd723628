// A Map for what comes and goes: tasks, loops, calls that are under way.
// V8's Map moves to a new table again and again while entries come and go, and a table left behind still refers to the next one. As
// soon as one of them is in the old generation, each entry that was ever moved stays until the next full collection, with all it
// leads to: of a daemon that is everything of every task (docs/decisions/0022).
// With the switch `transient_map` off it keeps what a Map keeps.
// T1. What is deleted is let go of at once: a table that was left behind holds an empty cell. T2. Otherwise it is as a Map.
import { isOn } from './optimisations.ts'

interface Cell<Value> {
  value: Value | undefined
}

export class TransientMap<Key, Value> {
  readonly #cells = new Map<Key, Cell<Value>>()
  readonly #empties = isOn('transient_map')

  get size(): number {
    return this.#cells.size
  }

  get(key: Key): Value | undefined {
    return this.#cells.get(key)?.value
  }

  has(key: Key): boolean {
    return this.#cells.has(key)
  }

  /** A new value keeps the place of the one before. */
  set(key: Key, value: Value): void {
    const cell = this.#cells.get(key)
    if (cell === undefined) this.#cells.set(key, { value })
    else cell.value = value
  }

  /** Whether it was there. */
  delete(key: Key): boolean {
    const cell = this.#cells.get(key)
    if (cell === undefined) return false
    if (this.#empties) cell.value = undefined
    return this.#cells.delete(key)
  }

  clear(): void {
    if (this.#empties) for (const cell of this.#cells.values()) cell.value = undefined
    this.#cells.clear()
  }

  /** The oldest key; `undefined` when there is none. */
  oldest(): Key | undefined {
    return this.#cells.keys().next().value
  }

  /** In the order in which the keys came. */
  *values(): Generator<Value> {
    for (const cell of this.#cells.values()) yield cell.value as Value
  }
}
