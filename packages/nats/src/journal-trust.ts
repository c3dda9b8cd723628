// JournalTrust: whose signatures count in a journal, as it is now. It follows the system log `keys`.
// T1. A key event that was published is read before the next signature is judged, and a ring is never older than `ageMsMax` when a signature is judged.
// T2. A signature by a key that the ring does not know is judged again by a ring that was just read.
// T3. If the journal gets another operator, nothing is judged any more: every question fails with `operator_changed`.
import { type Clock, type KeyRing, type LogId, readKeyRing, type SignedEntry, steadyClock, type SystemLog, type SystemLogName } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import type { Subjects } from './subjects.ts'

export interface JournalTrust {
  /** The ring as it is now. @throws {BeaverError} `unreachable`, `operator_changed` */
  ring(): Promise<KeyRing>
  /** Why the signature of an entry does not count; `null` if it counts. @throws as `ring` */
  faultOf(log: LogId | SystemLogName, entry: SignedEntry): Promise<string | null>
  /** Calls `told` with each new ring. */
  onChange(told: (ring: KeyRing) => void): void
  close(): void
}

export interface JournalTrustOf {
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly log: SystemLog
  /** @throws {BeaverError} `operator_changed` if it is not the operator of this journal any more */
  readonly check: (ring: KeyRing) => void
}

const ageMsMax = 1_000

/** @param first a ring that was just read */
export function journalTrust(of: JournalTrustOf, first: KeyRing, clock: Clock = steadyClock): JournalTrust {
  return new FollowedRing(of, first, clock)
}

class FollowedRing implements JournalTrust {
  readonly #of: JournalTrustOf
  readonly #listeners: ((ring: KeyRing) => void)[] = []
  readonly #subscription: { unsubscribe(): void; isClosed(): boolean }
  readonly #clock: Clock
  #ring: KeyRing
  #readAtMs: number
  #stale = false
  #reading: Promise<KeyRing> | null = null

  constructor(of: JournalTrustOf, first: KeyRing, clock: Clock) {
    this.#of = of
    this.#clock = clock
    this.#readAtMs = clock.now()
    this.#ring = first
    this.#subscription = of.nc.subscribe(of.subjects.system('keys'), {
      callback: () => {
        this.#stale = true
        void this.#read().catch(() => {}) // The next question reads again.
      },
    })
  }

  ring(): Promise<KeyRing> {
    const isFresh = !this.#stale && this.#clock.now() - this.#readAtMs < ageMsMax
    return isFresh ? Promise.resolve(this.#ring) : this.#read()
  }

  async faultOf(log: LogId | SystemLogName, entry: SignedEntry): Promise<string | null> {
    const ring = await this.ring()
    const fault = ring.faultOf(log, entry)
    return fault !== null && ring.lacks(entry) ? (await this.#read()).faultOf(log, entry) : fault
  }

  onChange(told: (ring: KeyRing) => void): void {
    this.#listeners.push(told)
  }

  close(): void {
    if (!this.#subscription.isClosed()) this.#subscription.unsubscribe()
  }

  #read(): Promise<KeyRing> {
    this.#reading ??= this.#readNow().finally(() => (this.#reading = null))
    return this.#reading
  }

  async #readNow(): Promise<KeyRing> {
    this.#stale = false
    try {
      const ring = await readKeyRing({ log: this.#of.log, namespace: this.#of.subjects.stream })
      this.#of.check(ring)
      this.#ring = ring
      this.#readAtMs = this.#clock.now()
      for (const told of this.#listeners) told(ring)
      return ring
    } catch (error) {
      this.#stale = true
      throw error
    }
  }
}
