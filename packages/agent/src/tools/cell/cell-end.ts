// What both kinds of cells do at their end.
import { type Logger, silentLogger, threadFacts } from '@beaver/core'
import { callScope } from '../call-scope.ts'
import { thrownText } from '../tool-failure.ts'
import { type CellAbort, cellLinesMax, cellOutputBytesMax } from './cell-call.ts'

export const abortOf = (signal: AbortSignal): CellAbort => ({ abort: thrownText(signal.reason) })

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
