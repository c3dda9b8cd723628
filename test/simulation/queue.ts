// The task queue of a simulated world, as the server has it: what is due, who asks for it, whose lease it is
// (Q1 to Q5 of the port). Which of it gets lost, doubled or forgotten is decided by the faults.
import { type LogId, logKey } from '@beaver/core'
import type { Delivery, Entry } from '@beaver/core/journal'
import type { Random } from './random.ts'
import type { Scheduler, Timer } from './scheduler.ts'

export type Source = 'accepted' | 'woken'

export interface Item {
  /** What its lease is known by. */
  readonly key: string
  readonly log: LogId
  readonly cause: Delivery['cause']
  readonly first: Entry | null
  readonly source: Source
  deliveries: number
  dueAt: number
  timer: Timer | null
}

export interface Pull {
  /** Who asks. */
  readonly by: string
  readonly source: Source
  left: number
  /** Whether somebody is there to take it. */
  readonly open: () => boolean
  readonly take: (item: Item, deliveries: number) => void
}

const nameKeptMs = 5_000

export class SimQueue {
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #leaseMs: number
  readonly #items = new Map<string, Item>()
  /** Everything that was ever accepted, in order. */
  readonly #accepted: { readonly log: LogId; readonly first: Entry }[] = []
  readonly #alarms = new Map<string, { readonly log: LogId; readonly timer: Timer }>()
  readonly #names = new Map<string, number>()
  readonly #pulls = new Set<Pull>()
  #last = 0
  /** How often a delivery is made twice. */
  doubled = 0

  readonly #trace: (what: () => string) => void

  constructor(of: {
    scheduler: Scheduler
    random: Random
    leaseMs: number
    trace: (what: () => string) => void
  }) {
    this.#trace = of.trace
    this.#scheduler = of.scheduler
    this.#random = of.random
    this.#leaseMs = of.leaseMs
  }

  accept(log: LogId, first: Entry): void {
    this.#accepted.push({ log, first })
    this.#add({ key: `accepted ${logKey(log)}`, log, cause: 'accepted', first, source: 'accepted' })
  }

  wake(log: LogId, name?: string): void {
    if (name !== undefined) {
      if ((this.#names.get(name) ?? -Infinity) > this.#scheduler.now() - nameKeptMs) return
      this.#names.set(name, this.#scheduler.now())
    }
    this.#wakeNow(log, 'woken')
  }

  wakeIn(log: LogId, delayMs: number): void {
    this.#alarms.get(logKey(log))?.timer.cancel()
    const timer = this.#scheduler.after(delayMs, () => {
      this.#alarms.delete(logKey(log))
      this.#wakeNow(log, 'alarm')
    })
    this.#alarms.set(logKey(log), { log, timer })
  }

  pull(pull: Pull): () => void {
    this.#pulls.add(pull)
    this.#offer()
    return () => void this.#pulls.delete(pull)
  }

  acknowledge(key: string): void {
    const item = this.#items.get(key)
    item?.timer?.cancel()
    this.#items.delete(key)
  }

  giveBack(key: string, pauseMs: number): void {
    const item = this.#items.get(key)
    if (item !== undefined) this.#dueIn(item, pauseMs)
  }

  extend(key: string): void {
    const item = this.#items.get(key)
    if (item !== undefined && item.dueAt > this.#scheduler.now()) this.#dueIn(item, this.#leaseMs)
  }

  isOpen(key: string): boolean {
    return this.#items.has(key)
  }

  /** Somebody deleted the consumer; it is made again, and knows nothing of what was acknowledged. */
  recreate(): void {
    for (const item of this.#items.values()) if (item.source === 'accepted') this.acknowledge(item.key)
    for (const { log, first } of this.#accepted)
      this.#add({ key: `accepted ${logKey(log)}`, log, cause: 'accepted', first, source: 'accepted' })
  }

  /** What is queued gets lost, each with this probability. */
  lose(probability: number): void {
    for (const item of this.#items.values()) if (this.#random.chance(probability)) this.acknowledge(item.key)
    for (const [key, { timer }] of this.#alarms) {
      if (!this.#random.chance(probability)) continue
      timer.cancel()
      this.#alarms.delete(key)
    }
  }

  #wakeNow(log: LogId, cause: 'woken' | 'alarm'): void {
    // One that was not delivered yet is replaced; one under way is left to whoever has it.
    for (const item of this.#items.values())
      if (item.source === 'woken' && item.deliveries === 0 && logKey(item.log) === logKey(log))
        this.acknowledge(item.key)
    this.#add({ key: `wake ${++this.#last}`, log, cause, first: null, source: 'woken' })
  }

  #add(item: Omit<Item, 'deliveries' | 'dueAt' | 'timer'>): void {
    this.#items.set(item.key, { ...item, deliveries: 0, dueAt: this.#scheduler.now(), timer: null })
    this.#offer()
  }

  #dueIn(item: Item, delayMs: number): void {
    item.timer?.cancel()
    item.dueAt = this.#scheduler.now() + delayMs
    item.timer = this.#scheduler.after(delayMs, () => this.#offer())
  }

  #offer(): void {
    for (const pull of this.#pulls) if (!pull.open()) this.#pulls.delete(pull)
    for (const item of this.#items.values()) {
      if (item.dueAt > this.#scheduler.now()) continue
      this.#give(item)
      if (this.doubled > 0 && this.#random.chance(this.doubled)) this.#give(item)
    }
  }

  #give(item: Item): void {
    const asking = [...this.#pulls].filter(({ source, left }) => source === item.source && left > 0)
    if (asking.length === 0) return
    const pull = this.#random.pick(asking)
    if (--pull.left === 0) this.#pulls.delete(pull)
    item.deliveries++
    this.#trace(
      () => `  queue gives ${item.log.task} to ${pull.by}: ${item.cause}, the ${item.deliveries}. time`,
    )
    this.#dueIn(item, this.#leaseMs)
    pull.take(item, item.deliveries)
  }
}
