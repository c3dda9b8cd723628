// WorkflowCaller: the port through which the MCP server reaches a daemon. The command line implements it.
import type { JsonObject } from '@beaver/core'

export interface WorkflowOutcome {
  readonly taskId: string
  readonly sessionId: string
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled'
  readonly finalOutput: string
  readonly outputs: readonly { readonly node_id: string; readonly output: string }[]
  /** The reason why it did not complete, or `null` if it did. */
  readonly failure: string | null
}

export interface WorkflowProgress {
  /** It never decreases. */
  readonly done: number
  readonly total: number | null
  readonly message: string
}

export interface CallError {
  readonly code: string
  /** Says what happened and what to do. */
  readonly message: string
  /** The place in the arguments, if there is one. */
  readonly path?: string
}

export type WorkflowCallResult = { readonly ok: true; readonly result: WorkflowOutcome } | { readonly ok: false; readonly error: CallError }

export interface WorkflowCaller {
  /** Never rejects. If `signal` aborts, the task is cancelled, and the call resolves soon after. */
  call(
    workflow: string,
    args: JsonObject,
    options: { readonly signal: AbortSignal; readonly onProgress: (progress: WorkflowProgress) => void },
  ): Promise<WorkflowCallResult>
}
