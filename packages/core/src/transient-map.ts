// A Map for entries that come and go: tasks, loops, and calls that are under way. V8's Map moves to a new
// table again and again while entries come and go, and an old table still refers to the next one. As soon as
// one of these tables is in the old generation, each entry that was ever moved stays in memory until the next
// full collection, with everything that it refers to. In a daemon, that is everything of every task
// (docs/decisions/0022). If the switch `transient_map` is off, it keeps as much in memory as a Map. A deleted
// value is released at once: an old table refers only to an empty cell.
// T2. Otherwise it behaves like a Map.
import { isOn } from './optimisations.ts'

interface Cell<Value> {
  value: Value | undefined
}

/**
 * A Map whose deleted values are released at once.
 *
 * @example
 * const open = new TransientMap<string, number>()
 * open.set('task_1', 1)
 * open.set('task_2', 2)
 * open.oldest() // => 'task_1'
 * open.delete('task_1') // => true
 * Array.from(open.values()) // => [2]
 */
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

  /** If the key exists, its place in the order does not change. */
  set(key: Key, value: Value): void {
    const cell = this.#cells.get(key)
    if (cell === undefined) this.#cells.set(key, { value })
    else cell.value = value
  }

  /** Returns whether the entry existed. */
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

  /** The oldest key; `undefined` if there is none. */
  oldest(): Key | undefined {
    return this.#cells.keys().next().value
  }

  /** The values, in the order in which the keys were added. */
  *values(): Generator<Value> {
    for (const cell of this.#cells.values()) yield cell.value as Value
  }
}
