// What goes into a cell and what comes out of it: plain data.
import type { ToolContext, ToolProgress } from '../tool.ts'

export interface CellCall {
  /** The URL of the module that exports the tool. */
  readonly module: string
  readonly tool: string
  readonly args: unknown
  readonly at: Pick<ToolContext, 'workspace' | 'taskId' | 'sessionId' | 'runId' | 'callId' | 'teamContext'>
}

export type CellAnswer =
  | { readonly kind: 'done'; readonly content: string }
  | { readonly kind: 'input' | 'failure'; readonly code: string; readonly message: string }
  | { readonly kind: 'crash'; readonly message: string }

/** The cell has loaded the tool and makes the call now. */
export interface CellStarted {
  readonly kind: 'started'
}

/** How far the call is. */
export interface CellProgress {
  readonly kind: 'progress'
  readonly update: ToolProgress
}

/** A message from outside to a running cell. */
export interface CellAbort {
  readonly abort: string
}

/** How long a cell may clean up after the abort before it is killed. */
export const cellGraceMs = 200
/** The heap limit of a cell. Memory outside V8's heap (buffers) is not counted. */
export const cellHeapMbMax = 256
/** How much of a cell's output goes to the log. */
export const cellOutputBytesMax = 65_536
export const cellLinesMax = 200
