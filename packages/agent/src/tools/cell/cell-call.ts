// What goes into a cell and what comes out: plain data.
import type { ToolContext } from '../tool.ts'

export interface CellCall {
  /** URL of the module that exports the tool. */
  readonly module: string
  readonly tool: string
  readonly args: unknown
  readonly at: Pick<ToolContext, 'workspace' | 'taskId' | 'sessionId' | 'runId' | 'callId'>
}

export type CellAnswer =
  | { readonly kind: 'done'; readonly content: string }
  | { readonly kind: 'input' | 'failure'; readonly code: string; readonly message: string }
  | { readonly kind: 'crash'; readonly message: string }

/** The cell has loaded the tool and makes the call now. */
export interface CellStarted {
  readonly kind: 'started'
}

/** From outside into a running cell. */
export interface CellAbort {
  readonly abort: string
}

/** How long a cell may tidy up after the abort before it is killed. */
export const cellGraceMs = 200
/** Objects of a cell; what lies outside V8's heap (buffers) is not counted. */
export const cellHeapMbMax = 256
/** What a cell prints goes to the log, as far as this. */
export const cellOutputBytesMax = 65_536
export const cellLinesMax = 200
