// What a worker thread writes about itself into shared memory: that its event loop turns, and which calls are
// at work. The main thread can read it even if the thread cannot answer. What follows is decided in
// thread-watch.ts and shard.ts. The thread is the only writer, and the main thread is the only reader. A call
// costs the writer a few stores and no message. A call is listed before its first line runs, until its tool
// is done, which may be after the call has a result. If the list is full, further calls are not listed: only
// the beats watch them.
import type { ThreadWork } from '@beaver/agent'
import { ownThreadId } from './processor-wait.ts'

/** How often the thread's event loop shows that it turns. */
export const beatMs = 200

const callsMax = 512
const beatAt = 0
/** The loop that reads an answer of the model right now; 0: none. */
const readerAt = 1
/** The end of the part of the list that was ever used: the reader need not look further. */
const usedAt = 2
/** The id of the thread (processor-wait.ts). */
const threadAt = 3
const headWords = 4
// Of a call: the loop (0: the place is free), the tool, its time, and a number that tells two calls in one
// place apart.
const [loopOf, toolOf, timeoutOf, numberOf] = [0, 1, 2, 3]
const callWords = 4

const ownFlag = 1 << 30

export const newVitals = (): SharedArrayBuffer =>
  new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * (headWords + callsMax * callWords))

/** A call whose tool is at work in the thread. */
export interface CallAtWork {
  /** Its place in the list and its number there: two readings of one call have the same. */
  readonly place: number
  readonly number: number
  readonly loop: number
  readonly tool: string
  readonly timeoutMs: number
  /** The tool is the user's, not built in. */
  readonly own: boolean
}

export interface VitalsReading {
  readonly beats: number
  /** The loop that reads an answer of the model right now, in one go. */
  readonly reader: number | null
  readonly calls: readonly CallAtWork[]
  /** The id of the thread. 0: it is not known. */
  readonly thread: number
}

/** @param tools by the numbers under which the thread lists them */
export function readVitals(vitals: Int32Array, tools: readonly string[]): VitalsReading {
  const word = (at: number): number => Atomics.load(vitals, at)
  const calls: CallAtWork[] = []
  for (let place = 0; place < word(usedAt); place++) {
    const at = headWords + place * callWords
    const loop = word(at + loopOf)
    if (loop === 0) continue
    const tool = word(at + toolOf)
    calls.push({
      ...{
        place,
        loop,
        number: word(at + numberOf),
        timeoutMs: word(at + timeoutOf),
        own: (tool & ownFlag) !== 0,
      },
      tool: tools[tool & ~ownFlag] ?? 'a tool',
    })
  }
  return { beats: word(beatAt), reader: word(readerAt) || null, calls, thread: word(threadAt) }
}

export interface VitalsWriter {
  /** Lists work of a loop; the function it returns takes it off the list. */
  begin(loop: number, work: ThreadWork): () => void
}

/** Starts the beats, which go on until the thread ends. */
export function writeVitals(vitals: Int32Array, tools: readonly string[]): VitalsWriter {
  const numbers = new Map(tools.map((tool, number) => [tool, number]))
  const free: number[] = []
  let used = 0
  let last = 0
  Atomics.store(vitals, threadAt, ownThreadId())
  setInterval(() => Atomics.add(vitals, beatAt, 1), beatMs).unref()

  return {
    begin(loop, work) {
      if (work.kind === 'answer') {
        Atomics.store(vitals, readerAt, loop)
        return () => void Atomics.store(vitals, readerAt, 0)
      }
      const place = free.pop() ?? (used < callsMax ? used++ : null)
      if (place === null) return () => undefined
      const at = headWords + place * callWords
      Atomics.store(vitals, at + toolOf, (numbers.get(work.tool) ?? tools.length) | (work.own ? ownFlag : 0))
      Atomics.store(vitals, at + timeoutOf, Math.min(work.timeoutMs, 2 ** 31 - 1))
      Atomics.store(vitals, at + numberOf, ++last | 0)
      Atomics.store(vitals, usedAt, used)
      // Last: from here on the call is seen.
      Atomics.store(vitals, at + loopOf, loop)
      return () => {
        Atomics.store(vitals, at + loopOf, 0)
        free.push(place)
      }
    },
  }
}
