// What a worker thread writes about itself into shared memory, so that the main thread can read it even if
// the thread cannot answer: the beats of its event loop, and the calls at work. The thread is the only
// writer. A call is listed before its first line runs and until its tool is done, which may be after the call
// has a result. If the list is full, only the beats watch further calls.
import type { ThreadWork } from '@beaver/agent'
import { ownThreadId } from './processor-wait.ts'

/** The interval of the beats. */
export const beatMs = 200

const callsMax = 512
const beatAt = 0
/** The loop that reads an answer of the model right now; 0: none. */
const readerAt = 1
/** The end of the used part of the list. */
const usedAt = 2
/** The id of the thread (processor-wait.ts). */
const threadAt = 3
const headWords = 4
// The fields of a call: the loop (0: the place is free), the tool, its time, and a number that distinguishes
// two calls in one place.
const [loopOf, toolOf, timeoutOf, numberOf] = [0, 1, 2, 3]
const callWords = 4

const ownFlag = 1 << 30

export const newVitals = (): SharedArrayBuffer =>
  new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * (headWords + callsMax * callWords))

/** A call whose tool is at work in the thread. */
export interface CallAtWork {
  /** Its place in the list with its number there; the same in two readings of one call. */
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
  /** The loop that reads an answer of the model right now, without a pause. */
  readonly reader: number | null
  readonly calls: readonly CallAtWork[]
  /** The kernel's id of the thread. 0: not known. */
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
  /** Lists work of a loop. @returns a function that takes it off the list */
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
      // Last, because this store makes the call visible.
      Atomics.store(vitals, at + loopOf, loop)
      return () => {
        Atomics.store(vitals, at + loopOf, 0)
        free.push(place)
      }
    },
  }
}
