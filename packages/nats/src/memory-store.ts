// The MemoryStore port on a JetStream key-value bucket. Each tenant has one key, and each of its users has
// one more for the list `user` (D-67). A change is written only over the revision from which it was decided.
// A value that cannot be read is reported and never overwritten. `read` answers from the values that the
// watch has seen.
// M4. No refusal depends on the watch alone: the stream's leader is asked before a change is refused as
// missing, full or already there. At most `waitingMax` changes wait at a time. Each change has at most
// `triesMax` tries, and none begins after `giveUpMs`.
import {
  BeaverError,
  changeMemory,
  type Clock,
  emptyMemory,
  type MemoryAnswer,
  type MemoryChange,
  type MemoryLimits,
  type MemoryOwner,
  type MemorySnapshot,
  type MemoryStore,
  type MemoryTarget,
  messageOf,
  pause,
  systemClock,
} from '@beaver/core'
import { jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { isRefusedWith, noMessage, wrongLastMessage, wrongLastMessageAgain } from './api-refusal.ts'
import { type MemoryWatch, type SeenValue, type WatchedBucket, watchMemories } from './memory-watch.ts'
import { placeOfBucket } from './stream-place.ts'
import { encodeToken, type Subjects } from './subjects.ts'

interface Written {
  readonly snapshot: MemorySnapshot
  readonly answer: MemoryAnswer
}

const waitingMax = 1_000
const triesMax = 50
const giveUpMs = 20_000
const writeMsMax = 2_000
const readyMsMax = 10_000
const pauseMsMax = 200

/**
 * Opens the bucket, makes it if it does not exist, and reads all its values.
 * @throws {BeaverError} `start_failed`
 */
export async function natsMemoryStore(
  nc: NatsConnection,
  subjects: Subjects,
  limits: MemoryLimits,
  { clock = systemClock, random = Math.random }: { clock?: Clock; random?: () => number } = {},
): Promise<NatsMemoryStore> {
  const bucket = subjects.memoryBucket
  const js = jetstream(nc, { timeout: 5_000 })
  const known = new KnownMemories()
  try {
    const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 5_000 })
    const kv = await new Kvm(js).create(bucket, {
      description: 'Beaver: what agents remember',
      history: 1,
      storage: StorageType.File,
      // Without direct reads each value comes from the stream's leader, so it is never stale (M4).
      allow_direct: false,
      ...(await placeOfBucket(jsm, subjects)),
    })
    const unfollow = await known.follow(nc, { js, jsm, bucket, readyMsMax }, clock)
    return new NatsMemoryStore({ kv, bucket, known, unfollow, limits, clock, random })
  } catch (cause) {
    throw new BeaverError('start_failed', `The memory ${bucket} cannot be opened: ${messageOf(cause)}`, {
      cause,
    })
  }
}

interface KvMemoryParts {
  readonly kv: KV
  readonly bucket: string
  readonly known: KnownMemories
  readonly unfollow: () => Promise<void>
  readonly limits: MemoryLimits
  readonly clock: Clock
  readonly random: () => number
}

export class NatsMemoryStore implements MemoryStore {
  readonly #parts: KvMemoryParts
  /** The newest change of each key that has one under way: changes of one process follow one another. */
  readonly #turns = new Map<string, Promise<unknown>>()
  readonly #closing = new AbortController()
  #waiting = 0

  constructor(parts: KvMemoryParts) {
    this.#parts = parts
  }

  async read(owner: MemoryOwner): Promise<MemorySnapshot> {
    return {
      memory: this.#known(keyOf(owner, 'memory')).memory,
      user: this.#known(keyOf(owner, 'user')).user,
    }
  }

  async change(owner: MemoryOwner, change: MemoryChange): Promise<MemoryAnswer> {
    if (this.#waiting >= waitingMax) return unavailable(new Error(`${waitingMax} changes wait already`))
    const key = keyOf(owner, change.target)
    this.#waiting++
    const turn = (this.#turns.get(key) ?? Promise.resolve())
      .then(() => this.#write(key, change))
      .catch(unavailable)
    this.#turns.set(key, turn)
    const answer = await turn
    this.#waiting--
    if (this.#turns.get(key) === turn) this.#turns.delete(key)
    return answer
  }

  /** Stops the watch, and waits for the changes under way. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([this.#parts.unfollow(), ...this.#turns.values()])
  }

  #known(key: string): MemorySnapshot {
    const { known, bucket } = this.#parts
    const { snapshot } = known.get(key) ?? noMemory
    if (snapshot === null) throw new BeaverError('memory_corrupt', corrupt(bucket, key).message)
    return snapshot
  }

  async #write(key: string, change: MemoryChange): Promise<MemoryAnswer> {
    const { kv, bucket, known, limits, clock, random } = this.#parts
    const until = clock.now() + giveUpMs
    /** A value whose write had no answer, so that it may be stored. */
    let sent: Written | null = null
    let held = known.get(key)
    for (let tries = 1; ; tries++) {
      let writing: Written | null = null
      try {
        const guessed = held !== null
        held ??= await this.#current(key)
        if (held.snapshot === null) return corrupt(bucket, key)
        if (sent !== null && same(sent.snapshot, held.snapshot)) return sent.answer
        const { answer, next } = changeMemory(held.snapshot, change, limits)
        if (next !== null) {
          writing = { snapshot: next, answer }
          const revision = await kv.put(key, memoryText(next), {
            previousSeq: held.revision,
            timeout: writeMsMax,
          })
          known.keep(key, { revision, snapshot: next })
          return answer
        }
        if (!guessed) return answer
        tries--
      } catch (error) {
        if (!wasRefused(error)) sent = writing ?? sent
        if (tries >= triesMax || clock.now() >= until) return unavailable(error)
        await pause(clock, random() * Math.min(pauseMsMax, 2 ** tries), this.#closing.signal)
      }
      held = null
    }
  }

  /** Asks the stream's leader. */
  async #current(key: string): Promise<MemoryValue> {
    const { kv, known } = this.#parts
    const entry = await kv.get(key).catch((error: unknown) => {
      if (isRefusedWith(error, noMessage)) return null
      throw error
    })
    const held = entry === null ? noMemory : readMemory(entry)
    known.keep(key, held)
    return held
  }
}

const keyOf = ({ tenant, user }: MemoryOwner, target: MemoryTarget): string =>
  user === null || target === 'memory' ? encodeToken(tenant) : `${encodeToken(tenant)}.${encodeToken(user)}`

const same = (a: MemorySnapshot, b: MemorySnapshot): boolean =>
  JSON.stringify([a.memory, a.user]) === JSON.stringify([b.memory, b.user])

/** Whether another writer was faster, so that our value is surely not stored. */
const wasRefused = (error: unknown): boolean => isRefusedWith(error, wrongLastMessage, wrongLastMessageAgain)

const corrupt = (bucket: string, key: string): MemoryAnswer & { ok: false } => ({
  ok: false,
  code: 'memory_corrupt',
  message: `The memory under the key ${key} of the bucket ${bucket} cannot be read: this version does not know its form. Beaver did not change it. Read it with "nats kv get ${bucket} ${key}". Correct it, or delete the key to start with an empty memory.`,
})

const unavailable = (error: unknown): MemoryAnswer => ({
  ok: false,
  code: 'memory_unavailable',
  message: `The memory could not be changed: ${messageOf(error)}. The change may or may not have been applied. Try again later.`,
})

// The newest value of each key that this process has seen (memory-watch.ts). A known value only moves
// forward. A watch that ends is started again and begins with all values.

const watchPauseMs = 500

class KnownMemories {
  readonly #values = new Map<string, MemoryValue>()

  get(key: string): MemoryValue | null {
    return this.#values.get(key) ?? null
  }

  keep(key: string, value: MemoryValue): void {
    if (value.revision > (this.#values.get(key)?.revision ?? 0)) this.#values.set(key, value)
  }

  /**
   * Takes in all values and each change, until the returned function is called. Resolves after all values.
   */
  async follow(nc: NatsConnection, bucket: WatchedBucket, clock: Clock): Promise<() => Promise<void>> {
    const begin = (): Promise<MemoryWatch> =>
      watchMemories(nc, bucket, (seen) => this.keep(seen.key, readMemory(seen)))
    const stopping = new AbortController()
    let watch = await begin()
    const following = (async (): Promise<void> => {
      while (!stopping.signal.aborted) {
        await watch.ended
        if (stopping.signal.aborted || nc.isClosed()) return
        await pause(clock, watchPauseMs, stopping.signal)
        await watch.stop()
        watch = await begin().catch(() => watch)
        if (stopping.signal.aborted) await watch.stop()
      }
    })()
    return async () => {
      stopping.abort()
      await Promise.all([watch.stop(), following])
    }
  }
}

// The value of one key. A value that cannot be read is not an empty memory, but a deleted key is one.

interface MemoryValue {
  readonly revision: number
  /** `null` if the value cannot be read. */
  readonly snapshot: MemorySnapshot | null
}

const version = 1
const stored = z.strictObject({
  version: z.literal(version),
  memory: z.array(z.string()),
  user: z.array(z.string()),
})

const noMemory: MemoryValue = { revision: 0, snapshot: emptyMemory }

function readMemory(entry: SeenValue): MemoryValue {
  if (entry.operation !== 'PUT') return { revision: entry.revision, snapshot: emptyMemory }
  try {
    const { memory, user } = stored.parse(entry.json())
    return { revision: entry.revision, snapshot: { memory, user } }
  } catch {
    return { revision: entry.revision, snapshot: null }
  }
}

const memoryText = (snapshot: MemorySnapshot): string => JSON.stringify({ version, ...snapshot })
