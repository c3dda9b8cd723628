// What both kinds of cells have in common at their end.
import { thrownText } from '../tool-failure.ts'
import { type CellAbort, type CellAnswer, type CellCall, cellHeapMbMax, cellOutputBytesMax } from './cell-call.ts'

export const abortOf = (signal: AbortSignal): CellAbort => ({ abort: thrownText(signal.reason) })

export function outOfMemory({ tool }: CellCall): CellAnswer {
  return { kind: 'failure', code: 'out_of_memory', message: `${tool} used more than ${cellHeapMbMax} MB and was stopped. Ask it for less at once.` }
}

/** Takes what a cell prints to our standard error: the daemon's log. */
export function boundedOutput(write: (chunk: Buffer) => void = (chunk) => void process.stderr.write(chunk)): (chunk: Buffer) => void {
  let room = cellOutputBytesMax
  return (chunk) => {
    if (room > 0) write(chunk.subarray(0, room))
    room -= chunk.length
  }
}
