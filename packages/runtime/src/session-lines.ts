// The requests that wait for each session, in the order in which they came. A request takes its place when it
// comes and enters it after validation. Requests behind it wait for at most `lookMsMax`, then they overtake
// it.
import type { Clock } from '@beaver/core'

/** A place in a line. A place that is disposed without an item delays nobody. */
export interface Place<Item> extends Disposable {
  enter(item: Item): void
}

export interface SessionLines<Item> {
  /** Takes the last place in the line of a session. */
  place(tenant: string, session: string): Place<Item>
}

const lookMsMax = 2_000

interface Waiting<Item> {
  item: Item | null
  left: boolean
  /** Whether the others no longer wait for it. */
  late: boolean
}

/**
 * Waiting lines, one for each session that somebody waits for.
 *
 * @param serve handles the items at the front of a line and returns those that are done. It never rejects.
 */
export function sessionLines<Item>(
  clock: Clock,
  serve: (items: readonly [Item, ...Item[]]) => Promise<readonly Item[]>,
): SessionLines<Item> {
  const lines = new Map<string, { waiting: Waiting<Item>[]; busy: boolean }>()

  async function work(key: string): Promise<void> {
    const line = lines.get(key)
    if (line === undefined || line.busy) return
    line.busy = true
    for (;;) {
      line.waiting = line.waiting.filter(({ left }) => !left)
      const empty = line.waiting.findIndex(({ item, late }) => item === null && !late)
      const ready = line.waiting
        .slice(0, empty === -1 ? line.waiting.length : empty)
        .flatMap(({ item }) => (item === null ? [] : [item]))
      const [first, ...more] = ready
      if (first === undefined) break
      const done = new Set(await serve([first, ...more]))
      line.waiting = line.waiting.filter(({ item }) => item === null || !done.has(item))
    }
    line.busy = false
    if (line.waiting.length === 0) lines.delete(key)
  }

  return {
    place(tenant, session) {
      const key = `${tenant}\u0000${session}`
      const line = lines.get(key) ?? { waiting: [], busy: false }
      lines.set(key, line)
      const own: Waiting<Item> = { item: null, left: false, late: false }
      line.waiting.push(own)
      const late = clock.after(lookMsMax, () => {
        own.late = true
        void work(key)
      })
      return {
        enter(item) {
          late.cancel()
          own.item = item
          void work(key)
        },
        [Symbol.dispose]() {
          late.cancel()
          own.left = own.item === null
          void work(key)
        },
      }
    },
  }
}
