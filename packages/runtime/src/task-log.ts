// TaskLog: the only writer of the log of a task that this daemon owns. It seals events into the chain and
// appends them behind the fence.
// O1. At most one append is under way. Events that come meanwhile, or in the same callback of the event loop,
// go with the next append.
// O2. Events keep the order in which they were given.
// O3. The first append that is refused means that another daemon owns the task. Everything that waits is
// rejected with `fenced`, and the signal `fenced` aborts. If the refusal comes from a message that is no
// record, they are rejected with `corrupt_journal`.
// O4. A blob is stored before the event that refers to it. Nothing follows the events of `appendLast`.
// O6. Events that are given together are stored together, whatever their size: if one entry is too small, one
// append writes several.
// O7. If the task is being opened, its first entry begins with its first record, and writing that entry
// accepts the task. If the server's limit was lowered below the size of an entry, the entry waits until the
// server takes it, because it contains work that was paid for. Every record fits the default limit of a
// server. A task that is being opened does not wait: its submitter gets the error.
import {
  BeaverError,
  type BlobStore,
  type Clock,
  invariant,
  isOn,
  type Logger,
  type LogId,
  pause,
  silentLogger,
  taskFacts,
} from '@beaver/core'
import {
  type AppendOutcome,
  type Blob,
  type Draft,
  type Journal,
  joinBatch,
  type LogHead,
  type SealedRecord,
  sealer,
  newestRecord,
} from '@beaver/core/journal'
import { foreignMessage } from './final-faults.ts'
import type { Opening } from './opened-task.ts'

export interface TaskLogPorts {
  readonly journal: Journal
  readonly blobs: BlobStore
  readonly clock: Clock
  /** `/beaver/daemons/<id>`. */
  readonly source: string
  readonly daemonId?: string
  readonly logger?: Logger
  /**
   * Called with events that were given together, when they are durable, each time once. It must not throw.
   * `epoch`: the number of the claim. Absent: nobody counts them.
   */
  readonly onAppended?: (groups: readonly { readonly drafts: readonly Draft[] }[], epoch: number) => void
}

/** The pause before the next request to a journal that does not answer. */
const unansweredMs = 500
/** The pause before the next try to store an entry above the server's limit. */
const tooLargeMs = 1_000

/** The bytes of a record in an entry. */
const bytesOf = ({ text }: SealedRecord): number => Buffer.byteLength(text) + 1

/** Somebody who waits until the events up to a place are durable. */
interface Stored {
  readonly given: number
  resolve(): void
  reject(error: Error): void
}

interface Waiting {
  readonly drafts: readonly Draft[]
  /** Nobody waits for these events: they go with the next append. */
  readonly held: boolean
  /**
   * `taskseq` of its first event. Assigned at once: appends land in order, and none lands after a failed one.
   */
  readonly first: number
  resolve(): void
  reject(error: Error): void
}

export class TaskLog {
  readonly log: LogId
  readonly epoch: number
  readonly #ports: TaskLogPorts
  readonly #waiting: Waiting[] = []
  #storing: Stored[] = []
  readonly #fenced = new AbortController()
  #head: LogHead
  /** Until the first write of a task that is being opened. */
  #opening: Opening | null
  #revision: number
  /** `taskseq` of the last event that was given to this log. */
  #given: number
  #writing = false
  #flushes = 0
  /** Why nothing more may be appended. */
  #closed: string | null = null
  #written: Promise<void> = Promise.resolve()

  /** @param at.opening if present, `head` is the head after its first record */
  constructor(
    log: LogId,
    at: { head: LogHead; revision: number; epoch: number; opening?: Opening | null },
    ports: TaskLogPorts,
  ) {
    this.log = log
    this.epoch = at.epoch
    this.#head = at.head
    this.#given = at.head.taskseq
    this.#revision = at.revision
    this.#opening = at.opening ?? null
    this.#ports = ports
  }

  /** `taskseq` of the last event that was given to this log: written, on its way, or kept back. */
  get given(): number {
    return this.#given
  }

  /** Rejects with the error with which this log failed. */
  fail(): Promise<never> {
    return Promise.reject(this.#fenced.signal.reason as Error)
  }

  /**
   * A log of the same claim that continues from the journal's state, after an append that could not be
   * stored.
   */
  after({ head, revision }: { readonly head: LogHead; readonly revision: number }): TaskLog {
    return new TaskLog(this.log, { head, revision, epoch: this.epoch }, this.#ports)
  }

  /** Aborts when the task is no longer ours. */
  get fenced(): AbortSignal {
    return this.#fenced.signal
  }

  /**
   * Appends events together; resolves with the `taskseq` of the first when they are durable.
   * @throws {BeaverError} `fenced`, `unreachable`
   */
  append(drafts: readonly Draft[]): Promise<number> {
    if (this.#fenced.signal.aborted) return Promise.reject(this.#fenced.signal.reason as Error)
    if (this.#closed !== null) return Promise.reject(this.#closedError(this.#closed))
    return new Promise((resolve, reject) => {
      const first = this.#next(drafts)
      this.#waiting.push({ drafts, held: false, first, resolve: () => resolve(first), reject })
      this.#begin()
    })
  }

  /** Appends the last events: every later append is refused with `why`. */
  appendLast(drafts: readonly Draft[], why: string): Promise<number> {
    const place = this.append(drafts)
    this.#closed ??= why
    return place
  }

  /**
   * Keeps events back until the next append: they go first, in the same message. Only for events that
   * authorise nothing before that append. With the switch `held_events` off they are written at once.
   * @returns the `taskseq` of the first
   * @throws {BeaverError} `fenced`
   */
  hold(drafts: readonly Draft[]): number {
    if (this.#fenced.signal.aborted) throw this.#fenced.signal.reason as Error
    if (this.#closed !== null) throw this.#closedError(this.#closed)
    const first = this.#next(drafts)
    const held = isOn('held_events')
    this.#waiting.push({ drafts, held, first, resolve: () => {}, reject: () => {} })
    if (!held) this.#begin()
    return first
  }

  /** Refuses every append from now on. */
  close(why: string): void {
    this.#giveUp(this.#closedError(why), [])
  }

  /** Resolves when every append so far has its outcome. */
  async settled(): Promise<void> {
    while (this.#writing) await this.#written
  }

  /**
   * Resolves when all events that were given so far are durable. It writes nothing: held events wait for the
   * next append.
   * @throws {BeaverError} the error with which this log failed before
   */
  stored(): Promise<void> {
    const given = this.#given
    if (this.#head.taskseq >= given) return Promise.resolve()
    if (this.#fenced.signal.aborted) return this.fail()
    return new Promise((resolve, reject) => this.#storing.push({ given, resolve, reject }))
  }

  /**
   * Writes held events too, and resolves when every append has its outcome. Call it before the log is read
   * again.
   */
  async flush(): Promise<void> {
    this.#flushes++
    if (this.#waiting.length > 0) this.#begin()
    await this.settled()
    this.#flushes--
  }

  /**
   * Resolves if the log ends with what this daemon wrote: the task is still ours. Asks a journal that does
   * not answer until it does.
   * @throws {BeaverError} `fenced` if another daemon has taken the task over; `corrupt_journal` if a stranger
   * wrote into the log
   */
  async stillOurs(): Promise<void> {
    while (!this.#fenced.signal.aborted) {
      const last = await this.#ports.journal.last(this.log).catch(() => null)
      const newest = last === null ? null : newestRecord(last)
      if (last === null) await pause(this.#ports.clock, unansweredMs, this.#fenced.signal)
      else if (newest === null) this.#giveUp(foreignMessage(this.log, last.revision), [])
      else if (newest.epoch <= this.epoch) return
      else this.close('Another daemon owns the task now.')
    }
    return this.fail()
  }

  #tellStored(): void {
    const { taskseq } = this.#head
    for (const { given, resolve } of this.#storing) if (given <= taskseq) resolve()
    this.#storing = this.#storing.filter(({ given }) => given > taskseq)
  }

  #begin(): void {
    if (!this.#writing) this.#written = this.#write()
  }

  #next(drafts: readonly Draft[]): number {
    const first = this.#given + 1
    this.#given += drafts.length
    return first
  }

  #closedError(why: string): BeaverError {
    return new BeaverError('fenced', `The log of task ${this.log.task} is closed: ${why}`)
  }

  async #write(): Promise<void> {
    this.#writing = true
    for (;;) {
      await new Promise<void>((resolve) => process.nextTick(resolve))
      if (this.#waiting.every((each) => each.held && this.#flushes === 0)) break
      const { taken, records, blobs, head } = this.#sealWaiting()
      try {
        for (const blob of blobs) await this.#ports.blobs.put(blob.sha256, blob.bytes)
        const outcome = await (this.#opening?.write(this.#payloadsOf(records)) ?? this.#append(records))
        if (outcome.kind === 'fenced') throw await this.#refusal()
        this.#opening = null
        this.#head = head
        this.#revision = outcome.revision
        for (const each of taken) each.resolve()
        this.#ports.onAppended?.(taken, this.epoch)
        this.#tellStored()
      } catch (error) {
        this.#giveUp(error as Error, taken)
      }
    }
    this.#writing = false
  }

  /**
   * Seals as many waiting groups as fit one entry. The first group is taken whole, in as many entries as it
   * needs.
   */
  #sealWaiting(): { taken: Waiting[]; records: SealedRecord[]; blobs: Blob[]; head: LogHead } {
    const time = new Date(this.#ports.clock.now()).toISOString()
    const seal = sealer({ epoch: this.epoch, source: this.#ports.source, subject: this.log.task, time })
    const taken: Waiting[] = []
    const records: SealedRecord[] = this.#opening === null ? [] : [this.#opening.submitted]
    const blobs: Blob[] = []
    let head = this.#head
    let bytes = records.reduce((sum, each) => sum + bytesOf(each), 1)
    do {
      const next = this.#waiting.shift() as Waiting
      taken.push(next)
      invariant(
        next.first === head.taskseq + 1,
        `The log of task ${this.log.task} would write ${next.first} after ${head.taskseq}.`,
      )
      for (const each of next.drafts) {
        const { record, head: after } = seal(head, each)
        records.push(record)
        bytes += bytesOf(record)
        head = after
        if (record.blob !== null) blobs.push(record.blob)
      }
    } while (this.#waiting.length > 0 && bytes <= this.#ports.journal.entryBytesMax)
    return { taken, records, blobs, head }
  }

  /** Packs the records into entries within the server's present limit. */
  #payloadsOf(records: readonly SealedRecord[]): Uint8Array[] {
    const { entryBytesMax } = this.#ports.journal
    const entries: SealedRecord[][] = []
    let bytes = Infinity
    for (const record of records) {
      if (bytes + bytesOf(record) > entryBytesMax) {
        entries.push([])
        bytes = 1
      }
      entries.at(-1)?.push(record)
      bytes += bytesOf(record)
    }
    return entries.map(joinBatch)
  }

  async #append(records: readonly SealedRecord[]): Promise<AppendOutcome> {
    const { journal, clock, logger = silentLogger, daemonId: daemon = '' } = this.#ports
    for (let told = false; ; told = true) {
      try {
        return await journal.append({
          log: this.log,
          expectedRevision: this.#revision,
          payloads: this.#payloadsOf(records),
        })
      } catch (error) {
        if (!(error instanceof BeaverError && error.code === 'too_large')) throw error
        if (!told) taskFacts.appendWaits(logger, this.log, { daemon, reason: error.message })
        await pause(clock, tooLargeMs, this.#fenced.signal)
        this.#fenced.signal.throwIfAborted()
      }
    }
  }

  /** Why the journal refused an append: a stranger wrote into the log, or another daemon owns the task. */
  async #refusal(): Promise<BeaverError> {
    const last = this.#opening === null ? await this.#ports.journal.last(this.log).catch(() => null) : null
    if (last !== null && newestRecord(last) === null) return foreignMessage(this.log, last.revision)
    return new BeaverError('fenced', `Another daemon owns the task ${this.log.task} now.`)
  }

  #giveUp(error: Error, taken: readonly Waiting[]): void {
    const waiting = [...taken, ...this.#waiting.splice(0)]
    if (!this.#fenced.signal.aborted) this.#fenced.abort(error)
    for (const each of [...waiting, ...this.#storing.splice(0)]) each.reject(error)
  }
}
