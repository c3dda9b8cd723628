// Serves the call inside a cell: it imports the module, finds the tool by name, and makes the one call. The
// answer is plain data of bounded size. What only the host of a loop has is refused, by name.
import type { Clock } from '@beaver/core'
import { type Port, PortCalls } from '@beaver/core/port-calls'
import { exportedTools } from '../exported-tools.ts'
import { newestProgress } from '../newest-progress.ts'
import { boundedText, resultText } from '../result-text.ts'
import { failureOf, thrownText, ToolFailure } from '../tool-failure.ts'
import type { ToolContext } from '../tool.ts'
import type { Cell, CellAnswer, CellCall, CellHome } from './cell-call.ts'

/** Core's own clock would load all of core in each cell. */
const clock: Clock = {
  now: () => performance.now(),
  after(delayMs, act) {
    const timer = setTimeout(act, delayMs)
    return { cancel: () => clearTimeout(timer) }
  },
}
/** Of a message. What is outside of the cell bounds it again. */
const charsMax = 20_000

/** Serves the call that comes over the port. */
export function serveCell(port: Port): void {
  const cell: Cell = {
    call(call, signal) {
      const stop = new AbortController()
      signal.addEventListener('abort', () => stop.abort(thrownText(signal.reason)), { once: true })
      return serveCall(call, stop.signal, home)
    },
  }
  const home = new PortCalls(port, { served: () => cell }).remote<CellHome>(0, {
    started: 'note',
    progress: 'note',
  })
}

/** Never rejects. */
async function serveCall(call: CellCall, signal: AbortSignal, home: CellHome): Promise<CellAnswer> {
  const progress = newestProgress(clock, ({ progress: done, total, message }) =>
    home.progress({
      progress: done,
      total,
      message: typeof message === 'string' ? message.slice(0, charsMax) : undefined,
    }),
  )
  try {
    const tool = (await exportedTools(call.module)).find(({ name }) => name === call.tool)
    if (tool === undefined)
      return { kind: 'crash', message: `its module does not export it in a cell (${call.module}).` }
    home.started()
    return {
      kind: 'done',
      content: boundedText(
        resultText(call.tool, await tool.invoke(call.args, contextOf(call, signal, progress.tell))),
      ),
    }
  } catch (error) {
    return failureOf(error) ?? { kind: 'crash', message: thrownText(error) }
  } finally {
    progress.end()
  }
}

function contextOf(
  { at, tool }: CellCall,
  signal: AbortSignal,
  progress: ToolContext['progress'],
): ToolContext {
  const refuse = (what: string) => (): Promise<never> =>
    Promise.reject(
      new ToolFailure(
        'not_in_a_cell',
        `${tool} runs in a cell of its own, which has no ${what}. Its author must make it inline.`,
      ),
    )
  return {
    ...at,
    sharedState: null,
    skills: [],
    memory: refuse('memory'),
    searchSessions: refuse('search of sessions'),
    callExternal: refuse('external tool'),
    ask: refuse('way to ask a person'),
    permission: () => ({ decision: 'deny', explicit: false }),
    reads() {
      throw new ToolFailure(
        'not_in_a_cell',
        `${tool} runs in a cell of its own, which cannot tell what it reads. Its author must declare "reads", or make it inline.`,
      )
    },
    progress,
    signal,
  }
}
