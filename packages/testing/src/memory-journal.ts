// The in-memory twin of the journal, its queue and its blobs: the same outcomes, in the same order, without a server.
import {
  type Append,
  type AppendOutcome,
  BeaverError,
  type BlobStore,
  type Clock,
  type Delivery,
  type Entry,
  type Journal,
  type LogId,
  logKey,
  type SessionTail,
  type TaskQueue,
} from '@beaver/core'

export interface MemoryJournal extends Journal {
  /** What daemons take tasks from. */
  queue(options: { leaseMs: number; clock: Clock }): TaskQueue
}

interface Queued {
  readonly log: LogId
  deliveries: number
  /** Not to be delivered before this time. */
  dueAt: number
}

export function memoryJournal(): MemoryJournal {
  const logs = new Map<string, Entry[]>()
  const tails = new Map<string, SessionTail>()
  const queued = new Map<string, Queued>()
  const arrivals = new Set<() => void>()
  let sequence = 0
  const entriesOf = (log: LogId): Entry[] => logs.get(logKey(log)) ?? []
  const tailKey = (tenant: string, session: string): string => `${tenant}\u0000${session}`

  function write({ log, expectedRevision, payloads }: Append): AppendOutcome {
    const entries = entriesOf(log)
    if ((entries.at(-1)?.revision ?? 0) !== expectedRevision) return { kind: 'fenced' }
    logs.set(logKey(log), entries)
    for (const payload of payloads) entries.push({ revision: ++sequence, payload })
    return { kind: 'appended', revision: sequence }
  }

  const lifeOf = (task: Queued, { leaseMs, clock }: { leaseMs: number; clock: Clock }): Pick<Delivery, 'acknowledge' | 'giveBack' | 'extend'> => ({
    acknowledge: () => void queued.delete(logKey(task.log)),
    giveBack(pauseMs) {
      task.dueAt = clock.now() + pauseMs
      for (const arrive of arrivals) arrive()
    },
    extend: () => void (task.dueAt = clock.now() + leaseMs),
  })

  return {
    append: async (append) => write(append),
    async accept(first, tail) {
      const { tenant, session, task } = first.log
      if (entriesOf(first.log).length > 0) return { kind: 'task_exists' }
      if ((tails.get(tailKey(tenant, session))?.revision ?? 0) !== tail.revision) return { kind: 'tail_moved' }
      const outcome = write(first)
      if (outcome.kind === 'fenced') return { kind: 'task_exists' }
      tails.set(tailKey(tenant, session), { task, revision: ++sequence })
      queued.set(logKey(first.log), { log: first.log, deliveries: 0, dueAt: 0 })
      for (const arrive of arrivals) arrive()
      return { kind: 'accepted', revision: outcome.revision }
    },
    sessionTail: async (tenant, session) => tails.get(tailKey(tenant, session)) ?? { task: null, revision: 0 },
    first: async (log) => entriesOf(log)[0] ?? null,
    last: async (log) => entriesOf(log).at(-1) ?? null,
    read: async (log) => [...entriesOf(log)],
    queue: ({ leaseMs, clock }) => ({
      adopt({ log, deliveries, lease }) {
        const task = queued.get(lease)
        if (task === undefined) throw new BeaverError('invalid_arguments', `${JSON.stringify(lease)} is no lease of the task queue.`)
        return { ...deliveryOf(task, lifeOf(task, { leaseMs, clock })), log, deliveries }
      },
      async *pull({ deliveriesMax, waitMs, signal }) {
        const until = clock.now() + waitMs
        for (let given = 0; given < deliveriesMax && !signal.aborted && clock.now() < until;) {
          const due = [...queued.values()].find((each) => each.dueAt <= clock.now())
          if (due === undefined) {
            const next = Math.min(until, ...[...queued.values()].map((each) => each.dueAt))
            await arrivalOr(next - clock.now(), clock, signal, arrivals)
            continue
          }
          due.deliveries++
          due.dueAt = clock.now() + leaseMs
          given++
          yield deliveryOf(due, lifeOf(due, { leaseMs, clock }))
        }
      },
    }),
  }
}

function deliveryOf({ log, deliveries }: Queued, of: Pick<Delivery, 'acknowledge' | 'giveBack' | 'extend'>): Delivery {
  return { log, deliveries, lease: logKey(log), ...of }
}

function arrivalOr(delayMs: number, clock: Clock, signal: AbortSignal, arrivals: Set<() => void>): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel()
      arrivals.delete(done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(Math.max(0, delayMs), done)
    arrivals.add(done)
    signal.addEventListener('abort', done, { once: true })
  })
}

export function memoryBlobStore(): BlobStore {
  const blobs = new Map<string, Uint8Array>()
  return {
    put: async (sha256, bytes) => void blobs.set(sha256, Uint8Array.from(bytes)),
    async get(sha256) {
      const bytes = blobs.get(sha256)
      if (bytes === undefined) throw new BeaverError('blob_missing', `The payload ${sha256} is not in the blob store.`)
      return bytes
    },
  }
}
