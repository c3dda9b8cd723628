// Group commit: what all tasks of a daemon append is written in atomic batches, so that they share the disk's syncs.
// G1. The messages of one unit land together or not at all, one after the other in the stream. G2. A refused batch is written again unit by unit, so that only
//     the unit whose expectation failed is refused. G3. After an unknown outcome the same message is written again with the
//     same expectation: it lands once, because a second landing is refused, and a refusal is checked against what is there.
// G4. Bounds: `batchMessagesMax` messages and `batchBytesMax` bytes a batch (a larger unit is one of its own), `unitMessagesMax`
//     messages a unit, one batch under way, `outcomeWaitMs` per write, `giveUpMs` in all.
import { BeaverError, type Clock, isOn, messageOf, pause, steadyClock } from '@beaver/core'
import { headers, InvalidArgumentError, type Msg, type NatsConnection, RequestError } from '@nats-io/nats-core'
import { lineOf } from './line.ts'

export interface Write {
  readonly subject: string
  /** The sequence of the last message that `fence` matches; 0 for none; `null` for no fence of its own within its unit. */
  readonly expectedSequence: number | null
  /** A filter of subjects; absent: the message's own subject. */
  readonly fence?: string
  readonly payload: Uint8Array
}

/** What lands together. */
export interface WriteUnit {
  readonly writes: readonly Write[]
  /**
   * Names of what its fences look at. The server checks a fence against what is stored, not against the batch under way, so that two
   * units which share a name never go in one batch.
   */
  readonly touches: readonly string[]
}

export type WriteOutcome = { readonly kind: 'stored'; readonly lastSequence: number } | { readonly kind: 'refused' }

export interface GroupCommit {
  /** Writes the messages of a unit together. Those of one subject stand next to each other. */
  write(unit: WriteUnit): Promise<WriteOutcome>
  /** For how long the oldest write has had no outcome, in milliseconds; 0 when none is under way. */
  readonly waitingMs: number
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
}

interface Pending {
  readonly unit: readonly Write[]
  readonly touches: readonly string[]
  readonly since: number
  resolve(outcome: WriteOutcome): void
  reject(error: unknown): void
}

interface PubAck {
  readonly stream?: string
  readonly seq?: number
  readonly error?: { readonly err_code?: number; readonly code?: number; readonly description?: string }
}

/** A refusal carries a sequence too: 0. */
const isStored = (ack: PubAck): ack is PubAck & { seq: number } => ack.error === undefined && ack.seq !== undefined && ack.seq > 0

const bytesOf = (unit: readonly Write[]): number => unit.reduce((sum, write) => sum + write.payload.length, 0)

const wrongLastSequence = new Set([10_071, 10_164])
const batchMessagesMax = 200
/** Of a batch; with the switch `group_commit` off each unit is written alone. */
const messagesMax = (): number => (isOn('group_commit') ? batchMessagesMax : 1)
const batchBytesMax = 8 * 1024 * 1024
/** What the server takes as one batch. */
const unitMessagesMax = 1_000
const outcomeWaitMs = 5_000
const giveUpMs = 60_000
const retryPauseMs = 100
const never = new AbortController().signal

export interface GroupCommitStream {
  readonly name: string
  lastMessage(subject: string): Promise<{ sequence: number; payload: Uint8Array } | null>
  exists(): Promise<boolean>
}

export function groupCommit(nc: NatsConnection, stream: GroupCommitStream, clock: Clock = steadyClock): GroupCommit {
  const queue: Pending[] = []
  const waiters: (() => void)[] = []
  /** Those under way, and since when they wait. */
  const open = new Map<Pending, number>()
  const line = lineOf(nc)
  let underWay = false
  let batchesSent = 0
  let scheduled = false
  const writer = Math.random().toString(36).slice(2, 10) // a batch id only has to differ among the batches now open

  function schedule(): void {
    if (scheduled || underWay || queue.length === 0) return
    scheduled = true
    // After everything the present callback leads to: what arrived with one message, or with one answer, goes together.
    process.nextTick(flush)
  }

  function flush(): void {
    scheduled = false
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
    if (taken.length === 0) return
    underWay = true
    for (const pending of taken) open.set(pending, pending.since)
    void commit(taken).finally(() => taken.forEach((pending) => open.delete(pending)))
  }

  /** One batch for many units; whatever is not plainly stored is settled unit by unit. */
  async function commit(taken: readonly Pending[]): Promise<void> {
    const ack = taken.length === 1 ? null : await send(taken.flatMap((pending) => pending.unit)).catch(() => null)
    if (ack !== null && isStored(ack)) {
      next()
      let lastSequence = ack.seq - taken.reduce((sum, pending) => sum + pending.unit.length, 0)
      for (const pending of taken) {
        lastSequence += pending.unit.length
        pending.resolve({ kind: 'stored', lastSequence })
      }
    } else {
      await Promise.all(taken.map(settle))
      next()
    }
    if (!underWay && queue.length === 0) for (const wake of waiters.splice(0)) wake()
  }

  /** What waited meanwhile is sent before those who were answered go on: the server works while they do. */
  function next(): void {
    underWay = false
    flush()
  }

  async function settle(pending: Pending): Promise<void> {
    let fault: unknown
    while (clock.now() - pending.since < giveUpMs && !nc.isClosed()) {
      try {
        await line.up(outcomeWaitMs)
        const ack = await send(pending.unit)
        if (isStored(ack)) return pending.resolve({ kind: 'stored', lastSequence: ack.seq })
        if (wrongLastSequence.has(ack.error?.err_code ?? 0)) return pending.resolve(await refusedOrLanded(pending.unit))
        fault = new Error(ack.error?.description ?? 'the server gave no sequence')
      } catch (error) {
        // It will not become smaller: waiting would only keep the others from being written.
        if (error instanceof InvalidArgumentError)
          return pending.reject(
            new BeaverError('too_large', `The journal cannot hold an entry of ${bytesOf(pending.unit)} bytes: ${messageOf(error)}`, { cause: error }),
          )
        if (error instanceof RequestError && error.isNoResponders() && !(await stream.exists().catch(() => true)))
          return pending.reject(new BeaverError('stream_missing', `The journal stream ${stream.name} does not exist: somebody deleted it.`, { cause: error }))
        fault = error
      }
      await pause(clock, retryPauseMs, never)
    }
    pending.reject(new BeaverError('unreachable', `The journal could not be written for ${giveUpMs / 1000} s: ${messageOf(fault)}`, { cause: fault }))
  }

  /** A refusal may be the echo of our own earlier write whose answer was lost. */
  async function refusedOrLanded(unit: readonly Write[]): Promise<WriteOutcome> {
    let lastSequence = 0
    for (const [subject, { payload }] of new Map(unit.map((write) => [write.subject, write]))) {
      const last = await stream.lastMessage(subject)
      if (last === null || !Buffer.from(payload).equals(last.payload)) return { kind: 'refused' }
      lastSequence = last.sequence
    }
    return { kind: 'stored', lastSequence }
  }

  async function send(writes: readonly Write[]): Promise<PubAck> {
    const batch = `${writer}${(batchesSent++).toString(36)}`
    let answer: Msg | null = null
    for (let i = 0; i < writes.length; i++) {
      const write = writes[i] as Write
      const head = headers()
      if (write.expectedSequence !== null) head.set('Nats-Expected-Last-Subject-Sequence', String(write.expectedSequence))
      if (write.fence !== undefined) head.set('Nats-Expected-Last-Subject-Sequence-Subject', write.fence)
      if (writes.length > 1) {
        head.set('Nats-Batch-Id', batch)
        head.set('Nats-Batch-Sequence', String(i + 1))
      }
      if (i < writes.length - 1) {
        nc.publish(write.subject, write.payload, { headers: head })
        continue
      }
      if (writes.length > 1) head.set('Nats-Batch-Commit', '1')
      answer = await line.request(write.subject, write.payload, { headers: head, timeout: outcomeWaitMs })
    }
    return answer === null ? {} : answer.json<PubAck>()
  }

  return {
    write: ({ writes, touches }) =>
      new Promise((resolve, reject) => {
        if (writes.length > unitMessagesMax)
          return reject(new BeaverError('internal', `The journal cannot write ${writes.length} messages together; ${unitMessagesMax} is the most.`))
        queue.push({ unit: writes, touches, since: clock.now(), resolve, reject })
        schedule()
      }),
    get waitingMs() {
      const oldest = Math.min(...open.values(), queue[0]?.since ?? Infinity)
      return oldest === Infinity ? 0 : clock.now() - oldest
    },
    settled: () => (!underWay && queue.length === 0 ? Promise.resolve() : new Promise((resolve) => void waiters.push(resolve))),
  }
}
