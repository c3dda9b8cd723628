// Group commit: writes the appends of all tasks of a daemon in atomic batches, so that they share the disk's
// syncs. publish-batch.ts turns a batch into messages.
// After an unknown outcome the same message is written again with the same expectation. It is stored once:
// the server refuses a second copy, and the refusal is compared with what is stored. The outcome is also
// unknown while the server says that a message of the subject is under way (10164), which may be the first
// copy.
// G4. A batch has at most `batchMessagesMax` messages and `batchBytesMax` bytes; a larger unit is a batch of
// its own. A unit has at most `unitMessagesMax` messages. One batch is under way at a time. A write waits
// `outcomeWaitMs` for its outcome (in a cluster `clusterWaitMs`, because messages sent during an election are
// lost), and is not tried again after `giveUpMs`.
import { BeaverError, type Clock, isOn, messageOf, pause, steadyClock } from '@beaver/core'
import { InvalidArgumentError, type NatsConnection, RequestError } from '@nats-io/nats-core'
import { wrongLastMessage } from './api-refusal.ts'
import { type Line, lineOf } from './line.ts'
import { BatchPublisher, type PubAck, type Write } from './publish-batch.ts'

/** Messages that are stored together or not at all, one after the other in the stream. */
export interface WriteUnit {
  readonly writes: readonly Write[]
  /**
   * What its fences check. The server compares a fence with the stored messages, not with the batch under
   * way, so two units that share a name never go in one batch.
   */
  readonly touches: readonly string[]
}

export type WriteOutcome =
  | { readonly kind: 'stored'; readonly lastSequence: number }
  | { readonly kind: 'refused' }

interface Pending {
  readonly unit: readonly Write[]
  readonly touches: readonly string[]
  readonly since: number
  resolve(outcome: WriteOutcome): void
  reject(error: unknown): void
}

/** The answer to a refused write has a sequence too, which is 0. */
const isStored = (ack: PubAck): ack is PubAck & { seq: number } =>
  ack.error === undefined && ack.seq !== undefined && ack.seq > 0

const bytesOf = (unit: readonly Write[]): number => unit.reduce((sum, write) => sum + write.payload.length, 0)

const batchMessagesMax = 200
/** Bound of one batch. If the switch `group_commit` is off, each unit is written alone. */
const messagesMax = (): number => (isOn('group_commit') ? batchMessagesMax : 1)
const batchBytesMax = 8 * 1024 * 1024
/** The server accepts at most this many messages as one batch. */
const unitMessagesMax = 1_000
const outcomeWaitMs = 5_000
const clusterWaitMs = 2_000
const giveUpMs = 60_000
const retryPauseMs = 100
/** Between two questions about the size limit of a message. */
const limitAskMs = 5_000
const never = new AbortController().signal

export interface GroupCommitStream {
  readonly name: string
  lastMessage(subject: string): Promise<{ sequence: number; payload: Uint8Array } | null>
  exists(): Promise<boolean>
  /** Signs the messages of a batch. A repeated message keeps its signature. Default: no signatures. */
  readonly sign?: ((leaves: readonly string[]) => readonly string[]) | undefined
}

export class GroupCommit {
  readonly #nc: NatsConnection
  readonly #stream: GroupCommitStream
  readonly #clock: Clock
  readonly #line: Line
  readonly #publisher: BatchPublisher
  readonly #queue: Pending[] = []
  readonly #waiters: (() => void)[] = []
  readonly #open = new Map<Pending, number>()
  #limitAskedAt = -Infinity
  #outcomeAt = -Infinity
  #underWay = false
  #scheduled = false

  constructor(nc: NatsConnection, stream: GroupCommitStream, clock: Clock = steadyClock) {
    this.#nc = nc
    this.#stream = stream
    this.#clock = clock
    this.#line = lineOf(nc)
    this.#publisher = new BatchPublisher(nc, this.#line, {
      waitMs: () => ((nc.info?.cluster ?? '') === '' ? outcomeWaitMs : clusterWaitMs),
    })
  }

  /** Writes the messages of a unit together. Messages of the same subject must be next to each other. */
  write({ writes, touches }: WriteUnit): Promise<WriteOutcome> {
    return new Promise((resolve, reject) => {
      if (writes.length > unitMessagesMax)
        return reject(
          new BeaverError(
            'internal',
            `The journal cannot write ${writes.length} messages together; ${unitMessagesMax} is the most.`,
          ),
        )
      this.#queue.push({ unit: writes, touches, since: this.#clock.now(), resolve, reject })
      this.#schedule()
    })
  }

  /**
   * The time for which writes have waited while none had an outcome, in milliseconds; 0 if no write is open.
   */
  get waitingMs(): number {
    const oldest = Math.min(...this.#open.values(), this.#queue[0]?.since ?? Infinity)
    return oldest === Infinity ? 0 : this.#clock.now() - Math.max(oldest, this.#outcomeAt)
  }

  /** Resolves when no write is open. */
  settled(): Promise<void> {
    return !this.#underWay && this.#queue.length === 0
      ? Promise.resolve()
      : new Promise((resolve) => void this.#waiters.push(resolve))
  }

  #schedule(): void {
    if (this.#scheduled || this.#underWay || this.#queue.length === 0) return
    this.#scheduled = true
    // Runs after everything that the present callback causes, so that all of its writes go together.
    process.nextTick(this.#flush)
  }

  /** This is a field, like `#settle`, so that a batch needs no new function. */
  readonly #flush = (): void => {
    this.#scheduled = false
    const taken = takeBatch(this.#queue)
    if (taken.length === 0) return
    this.#underWay = true
    for (const pending of taken) this.#open.set(pending, pending.since)
    this.#sign(taken)
    void this.#commit(taken).finally(() => taken.forEach((pending) => this.#open.delete(pending)))
  }

  #sign(taken: readonly Pending[]): void {
    if (this.#stream.sign === undefined) return
    const unsigned = taken.flatMap(({ unit }) =>
      unit.filter(({ leaf, signature }) => leaf !== undefined && signature === undefined),
    )
    if (unsigned.length === 0) return
    const signatures = this.#stream.sign(unsigned.map(({ leaf }) => leaf as string))
    for (const [i, write] of unsigned.entries()) write.signature = signatures[i]
  }

  /**
   * Writes many units as one batch. If the batch is not clearly stored, its units are settled one by one, so
   * that only the unit whose expectation failed is refused.
   */
  async #commit(taken: readonly Pending[]): Promise<void> {
    const ack =
      taken.length === 1
        ? null
        : await this.#publisher.send(taken.flatMap((pending) => pending.unit)).catch(() => null)
    if (ack !== null && isStored(ack)) {
      this.#outcomeAt = this.#clock.now()
      this.#next()
      let lastSequence = ack.seq - taken.reduce((sum, pending) => sum + pending.unit.length, 0)
      for (const pending of taken) {
        lastSequence += pending.unit.length
        pending.resolve({ kind: 'stored', lastSequence })
      }
    } else {
      await Promise.all(taken.map(this.#settle))
      this.#next()
    }
    if (!this.#underWay && this.#queue.length === 0) for (const wake of this.#waiters.splice(0)) wake()
  }

  /** Sends the waiting writes before the answered writers continue, so that the server works meanwhile. */
  #next(): void {
    this.#underWay = false
    this.#flush()
  }

  /** A server states its size limit only when a connection begins, and the limit may have risen since. */
  #askLimit(): void {
    const now = this.#clock.now()
    if (now - this.#limitAskedAt < limitAskMs) return
    this.#limitAskedAt = now
    void this.#nc.reconnect().catch(() => {})
  }

  /** `null`: the server stored nothing, for a reason that may pass. */
  async #outcomeOf(ack: PubAck, unit: readonly Write[]): Promise<WriteOutcome | null> {
    if (isStored(ack)) return { kind: 'stored', lastSequence: ack.seq }
    return ack.error?.err_code === wrongLastMessage
      ? this.#line.unlessCut(() => refusedOrLanded(this.#stream, unit))
      : null
  }

  /** Writes one unit until its outcome is known. */
  readonly #settle = async (pending: Pending): Promise<void> => {
    let fault: unknown
    while (this.#clock.now() - pending.since < giveUpMs && !this.#nc.isClosed()) {
      try {
        await this.#line.up(outcomeWaitMs)
        const ack = await this.#publisher.send(pending.unit)
        const outcome = await this.#outcomeOf(ack, pending.unit)
        if (outcome !== null) {
          this.#outcomeAt = this.#clock.now()
          return pending.resolve(outcome)
        }
        fault = new Error(ack.error?.description ?? 'the server gave no sequence')
      } catch (error) {
        // The entry does not become smaller. Another try would only delay the other writes.
        if (error instanceof InvalidArgumentError) {
          this.#askLimit()
          return pending.reject(
            new BeaverError(
              'too_large',
              `The journal cannot store an entry of ${bytesOf(pending.unit)} bytes: ${messageOf(error)}`,
              { cause: error },
            ),
          )
        }
        if (
          error instanceof RequestError &&
          error.isNoResponders() &&
          !(await this.#stream.exists().catch(() => true))
        )
          return pending.reject(
            new BeaverError(
              'stream_missing',
              `The journal stream ${this.#stream.name} does not exist, because somebody deleted it.`,
              { cause: error },
            ),
          )
        fault = error
      }
      await pause(this.#clock, retryPauseMs, never)
    }
    pending.reject(
      new BeaverError(
        'unreachable',
        `The journal could not be written for ${giveUpMs / 1000} s: ${messageOf(fault)}`,
        { cause: fault },
      ),
    )
  }
}

/** Takes the units for one batch (G4) from the front of the queue. */
function takeBatch(queue: Pending[]): Pending[] {
  const taken: Pending[] = []
  const touched = new Set<string>()
  let messages = 0
  let bytes = 0
  while (queue.length > 0 && messages < messagesMax()) {
    const next = queue[0] as Pending
    const full = messages + next.unit.length > batchMessagesMax || bytes + bytesOf(next.unit) > batchBytesMax
    if (messages > 0 && (full || next.touches.some((name) => touched.has(name)))) break
    queue.shift()
    taken.push(next)
    messages += next.unit.length
    bytes += bytesOf(next.unit)
    for (const name of next.touches) touched.add(name)
  }
  return taken
}

/** A refusal may come from our own earlier write, if its answer was lost. */
async function refusedOrLanded(stream: GroupCommitStream, unit: readonly Write[]): Promise<WriteOutcome> {
  let lastSequence = 0
  for (const [subject, { payload }] of new Map(unit.map((write) => [write.subject, write]))) {
    const last = await stream.lastMessage(subject)
    if (last === null || !Buffer.from(payload).equals(last.payload)) return { kind: 'refused' }
    lastSequence = last.sequence
  }
  return { kind: 'stored', lastSequence }
}
