// The in-memory twin of the journal, its queue and its blobs: the same outcomes in the same order.
import { BeaverError, type BlobStore, type Clock, type LogId, logKey, systemClock } from '@beaver/core'
import {
  type AcceptOutcome,
  type AppendOutcome,
  ArchivedMessages,
  type Delivery,
  type Entry,
  type Journal,
  revisionAfter,
  type TaskQueue,
} from '@beaver/core/journal'

export interface MemoryJournal extends Journal {
  queue(options: { leaseMs: number; clock: Clock }): TaskQueue
  /** Stores an unfenced message as a log's first entry (`accepted`) or as a later one (`events`). */
  intrude(log: LogId, place: 'accepted' | 'events', payload: Uint8Array): void
}

interface Queued {
  readonly key: string
  readonly log: LogId
  readonly cause: Delivery['cause']
  readonly first: Entry | null
  deliveries: number
  /** The task is not delivered before this time. */
  dueAt: number
}

const entryBytesMax = 900 * 1024
const nameKeptMs = 5_000

/** @param clock the journal's own clock */
export function memoryJournal({ clock: ownClock = systemClock }: { clock?: Clock } = {}): MemoryJournal {
  const logs = new Map<string, Entry[]>()
  /** The accepted tasks of each session, in order. */
  const sessions = new Map<
    string,
    { readonly log: LogId; readonly revision: number; readonly foreign: boolean }[]
  >()
  const ids = new Map<string, LogId>()
  const accepted = new Set<string>()
  const queued = { accepted: new Map<string, Queued>(), woken: new Map<string, Queued>() }
  const alarms = new Map<string, { readonly log: LogId; readonly at: number }>()
  const names = new Map<string, number>()
  const arrivals = new Set<() => void>()
  let sequence = 0
  const entriesOf = (log: LogId): Entry[] => logs.get(logKey(log)) ?? []
  const keyOf = (tenant: string, name: string): string => `${tenant}\u0000${name}`
  const arrived = (): void => [...arrivals].forEach((arrive) => arrive())

  function store(log: LogId, payloads: readonly Uint8Array[]): void {
    const entries = entriesOf(log)
    logs.set(logKey(log), entries)
    for (const payload of payloads) entries.push({ revision: ++sequence, payload, timeMs: ownClock.now() })
  }

  function begin(log: LogId, payloads: readonly Uint8Array[]): number {
    store(log, payloads)
    accepted.add(logKey(log))
    const [first] = entriesOf(log) as [Entry]
    const session = keyOf(log.tenant, log.session)
    ids.set(keyOf(log.tenant, log.task), log)
    sessions.set(session, [
      ...(sessions.get(session) ?? []),
      { log, revision: first.revision, foreign: false },
    ])
    queued.accepted.set(logKey(log), {
      key: logKey(log),
      log,
      cause: 'accepted',
      first,
      deliveries: 0,
      dueAt: 0,
    })
    return first.revision
  }

  function wakeNow(log: LogId, cause: 'woken' | 'alarm'): void {
    const key = `wake ${++sequence}`
    // Replaces a wake that was not delivered. A delivery that is under way stays with its daemon.
    for (const [at, each] of queued.woken)
      if (each.deliveries === 0 && logKey(each.log) === logKey(log)) queued.woken.delete(at)
    queued.woken.set(key, { key, log, cause, first: null, deliveries: 0, dueAt: 0 })
    arrived()
  }

  return {
    async append({ log, expectedRevision, payloads }): Promise<AppendOutcome> {
      const behind = accepted.has(logKey(log))
        ? revisionAfter(entriesOf(log))
        : (entriesOf(log).at(-1)?.revision ?? 0)
      if (behind !== expectedRevision) return { kind: 'fenced' }
      store(log, payloads)
      return { kind: 'appended', revision: sequence }
    },
    async accept({ log, payloads, tail, followers = [] }): Promise<AcceptOutcome> {
      const by = ids.get(keyOf(log.tenant, log.task))
      if (by !== undefined) return { kind: 'id_taken', by }
      const session = sessions.get(keyOf(log.tenant, log.session)) ?? []
      if ((session.at(-1)?.revision ?? 0) !== tail.revision) return { kind: 'tail_moved' }
      const names = [log, ...followers.map((each) => each.log)].map(({ tenant, task }) => keyOf(tenant, task))
      if (new Set(names).size < names.length || names.some((name) => ids.has(name)))
        return { kind: 'tail_moved' }
      const acceptedRevision = begin(log, payloads)
      const revision = revisionAfter(entriesOf(log))
      for (const each of followers) begin(each.log, [each.payload])
      arrived()
      return { kind: 'accepted', acceptedRevision, revision, lastRevision: sequence }
    },
    find: async (tenant, task) => ids.get(keyOf(tenant, task)) ?? null,
    async sessionTail(tenant, session) {
      const all = sessions.get(keyOf(tenant, session)) ?? []
      return {
        task: all.findLast(({ foreign }) => !foreign)?.log.task ?? null,
        revision: all.at(-1)?.revision ?? 0,
      }
    },
    async next({ tenant, session }, acceptedRevision) {
      return (
        sessions
          .get(keyOf(tenant, session))
          ?.find(({ revision, foreign }) => revision > acceptedRevision && !foreign)?.log.task ?? null
      )
    },
    intrude(log, place, payload) {
      const entry: Entry = { revision: ++sequence, payload, timeMs: ownClock.now() }
      if (place === 'events' || !accepted.has(logKey(log))) logs.set(logKey(log), [...entriesOf(log), entry])
      if (place === 'events') return
      accepted.add(logKey(log))
      const id = keyOf(log.tenant, log.task)
      if (!ids.has(id)) ids.set(id, log)
      const session = keyOf(log.tenant, log.session)
      sessions.set(session, [
        ...(sessions.get(session) ?? []),
        { log, revision: entry.revision, foreign: true },
      ])
      const key = `foreign ${entry.revision}`
      queued.accepted.set(key, { key, log, cause: 'accepted', first: entry, deliveries: 0, dueAt: 0 })
      arrived()
    },
    first: async (log) => entriesOf(log)[0] ?? null,
    last: async (log) => entriesOf(log).at(-1) ?? null,
    read: async (log) => [...entriesOf(log)],
    signatureFault: async () => null, // The twin keeps entries unsigned.
    archived: async () => new ArchivedMessages('', []), // Nobody can sign that something was archived.
    now: () => ownClock.now(),
    entryBytesMax,
    queue({ leaseMs, clock }) {
      const lifeOf = (
        queue: Map<string, Queued>,
        task: Queued,
      ): Pick<Delivery, 'acknowledge' | 'giveBack' | 'extend' | 'refuse'> => ({
        acknowledge: () => void queue.delete(task.key),
        giveBack(pauseMs) {
          task.dueAt = clock.now() + pauseMs
          arrived()
        },
        extend: () => void (task.dueAt = clock.now() + leaseMs),
        refuse: () => void queue.delete(task.key),
      })
      const deliveryOf = (queue: Map<string, Queued>, task: Queued): Delivery => {
        const { log, cause, first, deliveries, key } = task
        return { log, cause, first, deliveries, lease: key, ...lifeOf(queue, task) }
      }
      return {
        adopt({ log, deliveries, lease, cause }) {
          const queue = cause === 'accepted' ? queued.accepted : queued.woken
          const task = queue.get(lease) ?? { key: lease, log, cause, first: null, deliveries, dueAt: 0 }
          if (cause === 'accepted' && !logs.has(lease))
            throw new BeaverError(
              'invalid_arguments',
              `${JSON.stringify(lease)} is not a lease of the task queue.`,
            )
          return { ...deliveryOf(queue, task), log, deliveries, first: null }
        },
        async *pull({ of, deliveriesMax, waitMs, signal }) {
          const until = clock.now() + waitMs
          for (let given = 0; given < deliveriesMax && !signal.aborted && clock.now() < until;) {
            for (const [key, { log, at }] of of === 'woken' ? alarms : []) {
              if (at > clock.now()) continue
              alarms.delete(key)
              wakeNow(log, 'alarm')
            }
            const waiting = [...queued[of].values()]
            const due = waiting.find((each) => each.dueAt <= clock.now())
            if (due === undefined) {
              const ringing = of === 'woken' ? [...alarms.values()].map(({ at }) => at) : []
              await arrivalOr(
                Math.min(until, ...ringing, ...waiting.map((each) => each.dueAt)) - clock.now(),
                clock,
                signal,
                arrivals,
              )
              continue
            }
            due.deliveries++
            due.dueAt = clock.now() + leaseMs
            given++
            yield deliveryOf(queued[of], due)
          }
        },
        async wake(log, { name } = {}) {
          if (name !== undefined) {
            if ((names.get(name) ?? -Infinity) > clock.now() - nameKeptMs) return
            names.set(name, clock.now())
          }
          wakeNow(log, 'woken')
        },
        async wakeIn(log, delayMs) {
          alarms.set(logKey(log), { log, at: clock.now() + Math.max(0, delayMs) })
          arrived()
        },
      }
    },
  }
}

function arrivalOr(
  delayMs: number,
  clock: Clock,
  signal: AbortSignal,
  arrivals: Set<() => void>,
): Promise<void> {
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
      if (bytes === undefined)
        throw new BeaverError('blob_missing', `The blob ${sha256} is not in the blob store.`)
      return bytes
    },
  }
}
