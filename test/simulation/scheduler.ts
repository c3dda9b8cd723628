// Virtual time: the one queue of everything that is going to happen in a simulated world, and its order.
// Nothing happens but by an event of this queue; between two events all promises of Node.js run to rest.
// Events of one moment come in an order that the seed decides. Time moves only from event to event.
import type { Random } from './random.ts'

export interface Timer {
  cancel(): void
}

interface Due {
  readonly at: number
  /** Among those of one moment. */
  readonly rank: number
  readonly order: number
  act: (() => void) | null
}

export interface Scheduler {
  /** Milliseconds since 1970, in the world. */
  now(): number
  after(delayMs: number, act: () => void): Timer
  /** Lets the next event happen. @returns `false` when there is none before `untilMs` */
  step(untilMs: number): Promise<boolean>
  /** Events that have happened. */
  readonly steps: number
}

export const worldBegins = Date.UTC(2026, 0, 1)

const resting = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

export function newScheduler(random: Random): Scheduler {
  const heap: Due[] = []
  let now = worldBegins
  let order = 0
  let steps = 0

  const before = (a: Due, b: Due): boolean =>
    a.at < b.at || (a.at === b.at && (a.rank < b.rank || (a.rank === b.rank && a.order < b.order)))

  function push(due: Due): void {
    let at = heap.length
    heap.push(due)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!before(due, heap[parent] as Due)) break
      heap[at] = heap[parent] as Due
      at = parent
    }
    heap[at] = due
  }

  function shift(): void {
    const last = heap.pop() as Due
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1] as Due, heap[child] as Due)) child++
      if (!before(heap[child] as Due, last)) break
      heap[at] = heap[child] as Due
      at = child
    }
    heap[at] = last
  }

  return {
    now: () => now,
    get steps() {
      return steps
    },
    after(delayMs, act) {
      const due: Due = {
        at: now + Math.max(0, Math.round(delayMs)),
        rank: random.int(1 << 20),
        order: order++,
        act,
      }
      push(due)
      return { cancel: () => void (due.act = null) }
    },
    async step(untilMs) {
      for (;;) {
        const next = heap[0]
        if (next === undefined || next.at > untilMs) {
          now = Math.max(now, untilMs)
          return false
        }
        shift()
        if (next.act === null) continue
        now = next.at
        steps++
        next.act()
        await resting()
        return true
      }
    },
  }
}
