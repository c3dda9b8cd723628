// The MemoryStore port on a JetStream key-value bucket: one key a tenant, its whole memory one JSON value.
// M1. A change is written only over the revision it was decided from; the changes of one process to one memory follow one another.
// M2. What cannot be read is reported, and never written over. M3. `read` is answered from a watch, which only moves forward.
// M4. No refusal rests on the watch alone: the stream's leader is asked before anything is called missing, full or there already.
// M5. Bounds: `waitingMax` changes at a time, `triesMax` writes and `giveUpMs` for each.
import {
  BeaverError,
  changeMemory,
  type Clock,
  emptyMemory,
  type MemoryAnswer,
  type MemoryChange,
  type MemoryLimits,
  type MemorySnapshot,
  type MemoryStore,
  messageOf,
  pause,
  systemClock,
} from '@beaver/core'
import { JetStreamApiError, jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { type KV, Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { type MemoryWatch, type SeenValue, type WatchedBucket, watchMemories } from './memory-watch.ts'
import { encodeToken, type Subjects } from './subjects.ts'

export interface NatsMemoryStore extends MemoryStore {
  /** Stops the watch; changes under way come to their end. */
  close(): Promise<void>
}

/** What stands under a key. */
interface Held {
  readonly revision: number
  /** `null`: it cannot be read. */
  readonly snapshot: MemorySnapshot | null
}

interface Written {
  readonly snapshot: MemorySnapshot
  readonly answer: MemoryAnswer
}

const nothing: Held = { revision: 0, snapshot: emptyMemory }
const waitingMax = 1_000
const triesMax = 50
const giveUpMs = 20_000
const writeMsMax = 2_000
const readyMsMax = 10_000
const pauseMsMax = 200
const watchPauseMs = 500

/**
 * Opens the bucket, or makes it, and reads all there is.
 * @throws {BeaverError} `start_failed`
 */
export async function natsMemoryStore(
  nc: NatsConnection,
  subjects: Subjects,
  limits: MemoryLimits,
  { clock = systemClock, random = Math.random }: { clock?: Clock; random?: () => number } = {},
): Promise<NatsMemoryStore> {
  const bucket = subjects.memoryBucket
  const known = new Map<string, Held>()
  const turns = new Map<string, Promise<unknown>>()
  const closing = new AbortController()
  let waiting = 0
  const js = jetstream(nc, { timeout: 5_000 })
  let kv: KV
  let watched: WatchedBucket
  let watch: MemoryWatch
  try {
    // Without direct reads a value comes from the stream's leader: never stale (M4).
    kv = await new Kvm(js).create(bucket, { description: 'Beaver: what agents remember', history: 1, storage: StorageType.File, allow_direct: false })
    watched = { js, jsm: await jetstreamManager(nc, { checkAPI: false, timeout: 5_000 }), bucket, readyMsMax }
    watch = await watchMemories(nc, watched, learn)
  } catch (cause) {
    throw new BeaverError('start_failed', `The memory ${bucket} cannot be opened: ${messageOf(cause)}`, { cause })
  }
  const following = follow()

  function learn(entry: SeenValue): void {
    keep(entry.key, heldOf(entry))
  }

  function keep(key: string, held: Held): void {
    if (held.revision > (known.get(key)?.revision ?? 0)) known.set(key, held)
  }

  /** A watch that ends is begun again; what is held then still stands, and the new one starts from all there is. */
  async function follow(): Promise<void> {
    while (!closing.signal.aborted) {
      await watch.ended
      if (closing.signal.aborted || nc.isClosed()) return
      await pause(clock, watchPauseMs, closing.signal)
      await watch.stop()
      watch = await watchMemories(nc, watched, learn).catch(() => watch)
      if (closing.signal.aborted) await watch.stop()
    }
  }

  async function current(key: string): Promise<Held> {
    const entry = await kv.get(key).catch((error: unknown) => {
      if (error instanceof JetStreamApiError && error.code === 10_037) return null
      throw error
    })
    const held = entry === null ? nothing : heldOf(entry)
    keep(key, held)
    return held
  }

  async function write(key: string, change: MemoryChange): Promise<MemoryAnswer> {
    const until = clock.now() + giveUpMs
    /** Written without an answer: it may be there. */
    let sent: Written | null = null
    let held = known.get(key) ?? null
    for (let tries = 1; ; tries++) {
      let writing: Written | null = null
      try {
        const guessed = held !== null
        held ??= await current(key)
        if (held.snapshot === null) return corrupt(bucket, key)
        if (sent !== null && same(sent.snapshot, held.snapshot)) return sent.answer
        const { answer, next } = changeMemory(held.snapshot, change, limits)
        if (next !== null) {
          writing = { snapshot: next, answer }
          const revision = await kv.put(key, JSON.stringify({ version, ...next }), { previousSeq: held.revision, timeout: writeMsMax })
          keep(key, { revision, snapshot: next })
          return answer
        }
        if (!guessed) return answer
        tries--
      } catch (error) {
        if (!wasRefused(error)) sent = writing ?? sent
        if (tries >= triesMax || clock.now() >= until) return unavailable(error)
        await pause(clock, random() * Math.min(pauseMsMax, 2 ** tries), closing.signal)
      }
      held = null
    }
  }

  return {
    async read(tenant) {
      const key = encodeToken(tenant)
      const { snapshot } = known.get(key) ?? nothing
      if (snapshot === null) throw new BeaverError('memory_corrupt', corrupt(bucket, key).message)
      return snapshot
    },
    async change(tenant, change) {
      if (waiting >= waitingMax) return unavailable(new Error(`${waitingMax} changes wait already`))
      const key = encodeToken(tenant)
      waiting++
      const turn = (turns.get(key) ?? Promise.resolve()).then(() => write(key, change)).catch(unavailable)
      turns.set(key, turn)
      const answer = await turn
      waiting--
      if (turns.get(key) === turn) turns.delete(key)
      return answer
    },
    async close() {
      closing.abort()
      await Promise.all([watch.stop(), following, ...turns.values()])
    },
  }
}

const version = 1
const stored = z.strictObject({ version: z.literal(version), memory: z.array(z.string()), user: z.array(z.string()) })

/** A key that somebody deleted holds nothing. */
function heldOf(entry: SeenValue): Held {
  if (entry.operation !== 'PUT') return { revision: entry.revision, snapshot: emptyMemory }
  try {
    const { memory, user } = stored.parse(entry.json())
    return { revision: entry.revision, snapshot: { memory, user } }
  } catch {
    return { revision: entry.revision, snapshot: null }
  }
}

const same = (a: MemorySnapshot, b: MemorySnapshot): boolean => JSON.stringify([a.memory, a.user]) === JSON.stringify([b.memory, b.user])

/** Somebody else wrote first: ours is surely not there. */
const wasRefused = (error: unknown): boolean => error instanceof JetStreamApiError && (error.code === 10_071 || error.code === 10_164)

const corrupt = (bucket: string, key: string): MemoryAnswer & { ok: false } => ({
  ok: false,
  code: 'memory_corrupt',
  message: `The memory under the key ${key} of the bucket ${bucket} cannot be read: it is no memory this version knows. It was left as it is. Look at it with "nats kv get ${bucket} ${key}"; correct it, or delete the key to begin anew.`,
})

const unavailable = (error: unknown): MemoryAnswer => ({
  ok: false,
  code: 'memory_unavailable',
  message: `The memory could not be changed: ${messageOf(error)}. Whether it was is not known; try again later.`,
})
