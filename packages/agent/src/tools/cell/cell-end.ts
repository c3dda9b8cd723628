// What both kinds of cells do with what comes out of them.
import { type Logger, silentLogger, threadFacts } from '@beaver/core'
import { z } from 'zod'
import { callScope } from '../call-scope.ts'
import { thrownText } from '../tool-failure.ts'
import {
  type CellAbort,
  type CellAnswer,
  cellLinesMax,
  cellOutputBytesMax,
  type CellProgress,
  type CellStarted,
} from './cell-call.ts'

export const abortOf = (signal: AbortSignal): CellAbort => ({ abort: thrownText(signal.reason) })

const sentKinds = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('done'), content: z.string() }),
  z.object({ kind: z.enum(['input', 'failure']), code: z.string(), message: z.string() }),
  z.object({ kind: z.literal('crash'), message: z.string() }),
  z.object({ kind: z.literal('started') }),
  z.object({ kind: z.literal('progress'), update: z.looseObject({}) }),
])

/** What a cell sent. A tool shares the way out of its cell, so it may be anything. */
export function sentByCell(sent: unknown): CellAnswer | CellStarted | CellProgress {
  const read = sentKinds.safeParse(sent)
  return read.success
    ? (read.data as CellAnswer | CellStarted | CellProgress)
    : { kind: 'crash', message: 'it sent a message that is no answer.' }
}

/** Takes what a cell prints on both of its outputs into the log of the daemon. */
export interface CellPrints {
  hear(chunk: Buffer): void
  /** Logs the last line if it has no line end, because the cell has ended. */
  end(): void
}

/**
 * Logs each line that a cell prints, up to `cellOutputBytesMax` and `cellLinesMax`.
 *
 * @param logger default: the logger of the call
 */
export function cellPrints(logger: Logger = callScope.current()?.logger ?? silentLogger): CellPrints {
  const decoder = new TextDecoder()
  let [bytesLeft, linesLeft] = [cellOutputBytesMax, cellLinesMax]
  let rest = ''
  let cut = false
  const tell = (line: string): void => {
    if (line.trim() === '' || cut) return
    if (linesLeft-- > 0) threadFacts.printed(logger, { line })
    else cutOff()
  }
  const cutOff = (): void => {
    cut = true
    threadFacts.printedTooMuch(logger, { linesMax: cellLinesMax, bytesMax: cellOutputBytesMax })
  }
  const tellWhole = (): void => {
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    lines.forEach(tell)
  }
  return {
    hear(chunk) {
      if (cut) return
      rest += decoder.decode(chunk.subarray(0, bytesLeft), { stream: true })
      bytesLeft -= chunk.length
      tellWhole()
      if (bytesLeft >= 0) return
      tell(rest)
      if (!cut) cutOff()
    },
    end() {
      tell(rest)
      rest = ''
    },
  }
}
