// JournalTrust: whose signatures count in a journal now. It follows the system log `keys`. It reads a
// published key event before it judges the next signature, judges by a ring that is at most `ageMsMax` old,
// and reads the ring again for an unknown key.
import {
  BeaverError,
  type Clock,
  type LogId,
  pause,
  steadyClock,
  type SystemLogName,
  systemClock,
} from '@beaver/core'
import {
  type KeyRing,
  readKeyRing,
  RemovalLog,
  type Removals,
  type Replacements,
  type SignatureJudge,
  type SignedEntry,
  type SystemLog,
} from '@beaver/core/journal'
import { type Backoff, pauseBefore } from '@beaver/core/supervision'
import type { NatsConnection } from '@nats-io/nats-core'
import { natsTexts } from './blob-store.ts'
import { lineOf } from './line.ts'
import type { Subjects } from './subjects.ts'
import { systemLogReader } from './system-log.ts'

export interface JournalTrustOf {
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly log: Pick<SystemLog, 'read' | 'last'>
  /** @throws {BeaverError} `operator_changed` if it is not the operator of this journal any more */
  readonly check: (ring: KeyRing) => void
  /** Why the signature of an entry does not count in a ring. Default: every entry must be signed */
  readonly judge?: (ring: KeyRing, log: LogId | SystemLogName, entry: SignedEntry) => string | null
}

/** What a reader of the record needs: whose signatures count, and what replaces removed content. */
export interface RecordReading {
  readonly blobs: Replacements
  readonly judge: Required<SignatureJudge>
}

/**
 * Reads the record for somebody who writes nothing. The keys are read with the first entry. Entries from
 * before the journal had an operator count without a signature.
 *
 * @param operator the operator's key that the reader knows; `null`: the first one that it sees counts
 */
export function recordReading(
  nc: NatsConnection,
  subjects: Subjects,
  operator: () => string | null,
): RecordReading {
  const log = systemLogReader(nc, subjects)
  let known: string | null = null
  const check = (ring: KeyRing): void => {
    known ??= operator() ?? ring.operator
    if (ring.operator !== known) throw otherOperator(subjects.stream, ring.operator, known)
  }
  const open = async (): Promise<JournalTrust> => {
    const first = await readKeyRing({ log, namespace: subjects.stream })
    check(first)
    return new JournalTrust(
      { nc, subjects, log, check, judge: (ring, of, entry) => ring.recordFault(of, entry) },
      first,
    )
  }
  let opened: Promise<JournalTrust> | null = null
  const ask = async <T>(question: (trust: JournalTrust) => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      opened ??= open()
      try {
        return await question(await opened)
      } catch (error) {
        await opened.catch(() => (opened = null)) // The next try opens it again.
        const isLasting = error instanceof BeaverError && error.code === 'operator_changed'
        if (isLasting || tries === readerTriesMax || nc.isClosed()) throw error
        await lineOf(nc).up(backoff.pauseMsMax)
        await pause(systemClock, pauseBefore(tries, backoff), never)
      }
    }
  }
  const removals = (): Promise<Removals> => ask((trust) => trust.removals())
  return {
    blobs: natsTexts(nc, subjects, removals),
    judge: {
      signatureFault: (of, entry) => ask((trust) => trust.faultOf(of, entry)),
      archived: async () => (await removals()).archived,
    },
  }
}

const readerTriesMax = 10
const backoff: Backoff = { pauseMsMin: 20, pauseMsMax: 2_000, jitter: false }
const never = new AbortController().signal

const otherOperator = (stream: string, now: string | null, known: string | null): BeaverError =>
  new BeaverError(
    'operator_changed',
    `The journal ${stream} is not the one that this client knows. ${now === null ? 'It has no operator now' : `Its operator is ${now} now`}, and it was ${known}. ` +
      'Somebody may have replaced the journal or its keys. Ask the operator; "beaver keys list" shows the keys.',
  )

const ageMsMax = 1_000

export class JournalTrust {
  readonly #parts: JournalTrustOf
  readonly #listeners: ((ring: KeyRing) => void)[] = []
  readonly #subscription: { unsubscribe(): void; isClosed(): boolean }
  readonly #clock: Clock
  readonly #removals: RemovalLog
  #ring: KeyRing
  #readAtMs: number
  #stale = false
  #reading: Promise<KeyRing> | null = null

  /** @param first a ring that was just read */
  constructor(parts: JournalTrustOf, first: KeyRing, clock: Clock = steadyClock) {
    this.#parts = parts
    this.#clock = clock
    this.#readAtMs = clock.now()
    this.#ring = first
    this.#removals = new RemovalLog(parts.subjects.tenant, parts.log, () => this.ring())
    this.#subscription = parts.nc.subscribe(parts.subjects.system('keys'), {
      callback: () => {
        this.#stale = true
        void this.#read().catch(() => {}) // The next question reads again.
      },
    })
  }

  /** The ring as it is now. @throws {BeaverError} `unreachable`, `operator_changed` */
  ring(): Promise<KeyRing> {
    const isFresh = !this.#stale && this.#clock.now() - this.#readAtMs < ageMsMax
    return isFresh ? Promise.resolve(this.#ring) : this.#read()
  }

  /** Why the signature of an entry does not count; `null` if it counts. @throws as `ring` */
  async faultOf(log: LogId | SystemLogName, entry: SignedEntry): Promise<string | null> {
    const ring = await this.ring()
    const { judge = (keys, of, each) => keys.faultOf(of, each) } = this.#parts
    const fault = judge(ring, log, entry)
    return fault !== null && ring.lacks(entry) ? judge(await this.#read(), log, entry) : fault
  }

  /** What was removed from the journal on purpose. @throws as `ring` */
  removals(): Promise<Removals> {
    return this.#removals.now()
  }

  /** Calls `listener` with each new ring. */
  onChange(listener: (ring: KeyRing) => void): void {
    this.#listeners.push(listener)
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
      const ring = await readKeyRing({ log: this.#parts.log, namespace: this.#parts.subjects.stream })
      this.#parts.check(ring)
      this.#ring = ring
      this.#readAtMs = this.#clock.now()
      for (const listener of this.#listeners) listener(ring)
      return ring
    } catch (error) {
      this.#stale = true
      throw error
    }
  }
}
