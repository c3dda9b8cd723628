// The journal and the queue as one simulated process sees them: everything asked of the server travels, and
// may be lost or late.
import type { Delivery, Journal, TaskQueue } from '@beaver/core/journal'
import type { Life } from './life.ts'
import type { Item } from './queue.ts'
import type { SimServer } from './server.ts'

/** How long a delivery at the end of a request may be on its way. */
const endsMsMax = 300

export function journalOf(life: Life, server: SimServer): Journal {
  const { journal } = server
  return {
    append: (append) => life.write((again) => server.append(append, again)),
    accept: (acceptance) => life.write((again) => server.accept(acceptance, again)),
    find: (tenant, task) => life.ask(() => journal.find(tenant, task)),
    sessionTail: (tenant, session) => life.ask(() => journal.sessionTail(tenant, session)),
    next: (log, revision) => life.ask(() => journal.next(log, revision)),
    first: (log) => life.ask(() => journal.first(log)),
    last: (log) => life.ask(() => journal.last(log)),
    read: (log) =>
      life.ask(async () => {
        const entries = await journal.read(log)
        const isStale = life.reads.stale > 0 && entries.length > 1 && life.random.chance(life.reads.stale)
        return isStale ? entries.slice(0, 1 + life.random.int(entries.length - 1)) : entries
      }),
    signatureFault: async () => null, // The simulation judges schedules, not writers.
    archived: () => journal.archived(),
    now: () => journal.now(),
    entryBytesMax: journal.entryBytesMax,
  }
}

export function queueOf(life: Life, { queue, scheduler }: SimServer): TaskQueue {
  const deliveryOf = (of: Pick<Delivery, 'log' | 'deliveries' | 'cause' | 'first' | 'lease'>): Delivery => ({
    ...of,
    acknowledge: () => life.tell(() => queue.acknowledge(of.lease)),
    giveBack: (pauseMs) => life.tell(() => queue.giveBack(of.lease, pauseMs)),
    extend: () => life.tell(() => queue.extend(of.lease)),
    refuse: () => life.tell(() => queue.acknowledge(of.lease)),
  })
  return {
    adopt: ({ log, deliveries, lease, cause }) => deliveryOf({ log, deliveries, lease, cause, first: null }),
    wake: (log, { name } = {}) => life.write(async () => queue.wake(log, name)),
    wakeIn: (log, delayMs) => life.write(async () => queue.wakeIn(log, delayMs)),
    async *pull({ of, deliveriesMax, waitMs, signal }) {
      const came: { item: Item; deliveries: number }[] = []
      let over = false
      let wake = (): void => {}
      let leave = (): void => {}
      let left = deliveriesMax
      const end = (): void => {
        over = true
        leave()
        wake()
      }
      // The server ends the request; who asks waits a little longer for it.
      const timer = life.after(waitMs + endsMsMax, end)
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
      life.tell(() => {
        if (over || !life.alive) return
        const until = scheduler.now() + waitMs
        leave = queue.pull({
          by: life.id,
          source: of,
          left: deliveriesMax,
          // The server forgets a request in time; that of a stopped process, too.
          open: () => life.alive && !over && scheduler.now() < until,
          take(item, deliveries) {
            if (life.cut === 'answers') return
            life.after(life.way(), () => {
              came.push({ item, deliveries })
              wake()
            })
          },
        })
      })
      try {
        while (left > 0) {
          const next = came.shift()
          if (next !== undefined) {
            left--
            const { log, cause, first, key } = next.item
            yield deliveryOf({ log, cause, first, deliveries: next.deliveries, lease: key })
          } else if (over) return
          else await new Promise<void>((resolve) => void (wake = resolve))
        }
      } finally {
        timer.cancel()
        signal.removeEventListener('abort', end)
        end()
      }
    },
  }
}
