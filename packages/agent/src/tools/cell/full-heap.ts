// Recognises how V8 and Node.js report a full heap. No other file knows this. Node.js ends a thread with an
// error that has a code. V8 aborts a process without a code, so its last words on standard error are looked
// for. They are the same since V8 4.
import { type CellAnswer, type CellCall, cellHeapMbMax } from './cell-call.ts'

const lastWords = 'JavaScript heap out of memory'

/**
 * Whether a worker thread ended with this error because its heap was full.
 *
 * @example
 * isFullHeap(new Error('It is closed.')) // => false
 */
export function isFullHeap(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

/**
 * Reads what a process writes to standard error.
 *
 * @returns whether the heap was full, as far as the output says
 */
export function fullHeapListener(): (chunk: Buffer) => boolean {
  let full = false
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    if (full) return true
    const heard = Buffer.concat([rest, chunk])
    full = heard.includes(lastWords)
    rest = heard.subarray(-lastWords.length)
    return full
  }
}

/** What the model reads about a call that filled the heap of its cell. */
export function outOfMemory({ tool }: CellCall): CellAnswer {
  return {
    kind: 'failure',
    code: 'out_of_memory',
    message: `${tool} used more than ${cellHeapMbMax} MB and was stopped. Ask it for less at a time.`,
  }
}
