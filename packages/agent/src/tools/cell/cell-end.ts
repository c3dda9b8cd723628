// What both kinds of cells have in common at their end.
import { thrownText } from '../tool-failure.ts'
import { type CellAbort, cellOutputBytesMax } from './cell-call.ts'

export const abortOf = (signal: AbortSignal): CellAbort => ({ abort: thrownText(signal.reason) })

/** Takes what a cell prints to our standard error: the daemon's log. */
export function boundedOutput(write: (chunk: Buffer) => void = (chunk) => void process.stderr.write(chunk)): (chunk: Buffer) => void {
  let room = cellOutputBytesMax
  return (chunk) => {
    if (room > 0) write(chunk.subarray(0, room))
    room -= chunk.length
  }
}
