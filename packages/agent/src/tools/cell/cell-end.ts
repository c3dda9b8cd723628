// How both kinds of cells are called, and what is done with what comes out of them.
import { type Logger, silentLogger, threadFacts } from '@beaver/core'
import { type Port, PortCalls } from '@beaver/core/port-calls'
import { z } from 'zod'
import { callScope } from '../call-scope.ts'
import {
  type Cell,
  type CellAnswer,
  type CellCall,
  type CellHome,
  cellLinesMax,
  cellOutputBytesMax,
} from './cell-call.ts'
import type { ToolProgress } from '../tool.ts'

const answers = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('done'), content: z.string() }),
  z.object({ kind: z.enum(['input', 'failure']), code: z.string(), message: z.string() }),
  z.object({ kind: z.literal('crash'), message: z.string() }),
])
const noAnswer: CellAnswer = { kind: 'crash', message: 'it sent a message that is no answer.' }

/**
 * Makes the call in a cell. A tool shares the way out of its cell, so what comes out may be anything.
 *
 * @returns a promise that never rejects; if the cell ends without an answer, it does not settle
 */
export function callCell(
  port: Port,
  { call, signal, ...home }: { readonly call: CellCall; readonly signal: AbortSignal } & CellHome,
): Promise<CellAnswer> {
  const served: CellHome = {
    started: home.started,
    progress: (update: unknown) => {
      if (typeof update === 'object' && update !== null) home.progress(update as ToolProgress)
    },
  }
  const cell = new PortCalls(port, { served: () => served }).remote<Cell>(0, {})
  return cell.call(call, signal).then(
    (sent: unknown) => answers.safeParse(sent).data ?? noAnswer,
    () => noAnswer,
  )
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
