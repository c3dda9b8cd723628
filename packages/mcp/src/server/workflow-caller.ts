// WorkflowCaller and WorkflowTasks: the ports through which the MCP server reaches a daemon. The command line implements them.
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

/** A call that goes on without its client. */
export interface WorkflowTask {
  readonly taskId: string
  /** RFC 3339. */
  readonly createdAt: string
  /** When something happened last. RFC 3339. */
  readonly updatedAt: string
  /** How far it is, for people. */
  readonly message: string
  /** `null`: it has not ended. */
  readonly outcome: WorkflowOutcome | null
}

export type WorkflowTaskResult = { readonly ok: true; readonly task: WorkflowTask } | { readonly ok: false; readonly error: CallError }

/** Nothing here ever rejects. The tasks outlive the server. */
export interface WorkflowTasks {
  /** Resolves when the task is durable. */
  start(workflow: string, args: JsonObject): Promise<WorkflowTaskResult>
  /** Only a task that was started here is found; otherwise the code is `not_found`. */
  look(taskId: string): Promise<WorkflowTaskResult>
  /** Asks a task to stop, and answers with the task as it is then. One that has ended stays as it is. */
  cancel(taskId: string): Promise<WorkflowTaskResult>
}
