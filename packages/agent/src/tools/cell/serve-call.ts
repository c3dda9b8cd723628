// Serves the call inside a cell: it imports the module, finds the tool by name, and makes the one call.
// S1. The answer is plain data of bounded size.
// S2. What only the host of a loop has is refused, by name.
import { exportedTools } from '../exported-tools.ts'
import { boundedText, resultText } from '../result-text.ts'
import { failureOf, thrownText, ToolFailure } from '../tool-failure.ts'
import type { ToolContext } from '../tool.ts'
import type { CellAnswer, CellCall } from './cell-call.ts'

/**
 * Never rejects.
 *
 * @param started called when the tool is loaded
 */
export async function serveCall(call: CellCall, signal: AbortSignal, started: () => void = () => undefined): Promise<CellAnswer> {
  try {
    const tool = (await exportedTools(call.module)).find(({ name }) => name === call.tool)
    if (tool === undefined) return { kind: 'crash', message: `its module does not export it in a cell (${call.module}).` }
    started()
    return { kind: 'done', content: boundedText(resultText(call.tool, await tool.invoke(call.args, contextOf(call, signal)))) }
  } catch (error) {
    return failureOf(error) ?? { kind: 'crash', message: thrownText(error) }
  }
}

function contextOf({ at, tool }: CellCall, signal: AbortSignal): ToolContext {
  const refuse = (what: string) => (): Promise<never> =>
    Promise.reject(new ToolFailure('not_in_a_cell', `${tool} runs in a cell of its own, which has no ${what}. Its author must make it inline.`))
  return {
    ...at,
    sharedState: null,
    skills: [],
    memory: refuse('memory'),
    searchSessions: refuse('search of sessions'),
    callExternal: refuse('external tool'),
    ask: refuse('way to ask a person'),
    permission: () => ({ decision: 'deny', explicit: false }),
    signal,
  }
}
