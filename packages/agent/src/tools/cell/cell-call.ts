// What goes into a cell and what comes out of it: plain data.
import type { ToolContext, ToolProgress } from '../tool.ts'

export interface CellCall {
  /** The URL of the module that exports the tool. */
  readonly module: string
  readonly tool: string
  readonly args: unknown
  readonly at: Pick<
    ToolContext,
    'workspace' | 'taskId' | 'sessionId' | 'runId' | 'callId' | 'teamContext' | 'trace'
  >
}

export type CellAnswer =
  | { readonly kind: 'done'; readonly content: string }
  | { readonly kind: 'input' | 'failure'; readonly code: string; readonly message: string }
  | { readonly kind: 'crash'; readonly message: string }

/** What a cell does. It is number 0 of its port. */
export interface Cell {
  /** Makes the one call. The tool is given the reason of `signal` as a text. Never rejects. */
  call(call: CellCall, signal: AbortSignal): Promise<CellAnswer>
}

/** What a cell tells while it makes the call. It is number 0 of the port. */
export interface CellHome {
  /** The cell has loaded the tool and makes the call now. */
  started(): void
  progress(update: ToolProgress): void
}

/** How long a cell may clean up after the abort before it is killed. */
export const cellGraceMs = 200
/** The heap limit of a cell. Memory outside V8's heap (buffers) is not counted. */
export const cellHeapMbMax = 256
/** How much of a cell's output goes to the log. */
export const cellOutputBytesMax = 65_536
export const cellLinesMax = 200
