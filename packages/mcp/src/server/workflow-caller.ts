// The ports through which the MCP server reaches a daemon. The command line implements them.
import type { JsonObject } from '@beaver/core'
import type { Question, QuestionAnswer } from '@beaver/core/question'

export interface WorkflowOutcome {
  readonly taskId: string
  readonly sessionId: string
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled'
  readonly finalOutput: string
  readonly outputs: readonly { readonly node_id: string; readonly output: string }[]
  /** Why it did not complete, or `null` if it did. */
  readonly failure: string | null
  /** Further facts for the client, in sentences. */
  readonly note?: string
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

/** An agent's question that waits, and that the client may answer. */
export interface WorkflowQuestion {
  /** Its id within its task. */
  readonly id: string
  readonly question: Question
}

/** A client's answers, by the ids of the questions. */
export type WorkflowAnswers = Readonly<Record<string, QuestionAnswer>>

/** Chooses the answers to the questions of a task, of which some may have one already. */
export type AnswersTo = (questions: readonly WorkflowQuestion[]) => WorkflowAnswers

/** What a task asks its client. `fault`: why the previous answers do not count. */
export interface AskingWorkflow {
  readonly taskId: string
  readonly questions: readonly WorkflowQuestion[]
  readonly fault?: string
}

export type WorkflowCallResult =
  | { readonly ok: true; readonly result: WorkflowOutcome }
  | { readonly ok: true; readonly asks: AskingWorkflow }
  | { readonly ok: false; readonly error: CallError }

export interface WorkflowCallOptions {
  readonly signal: AbortSignal
  /** Called every few seconds, also without a change: a client takes silence for a call that hangs. */
  readonly onProgress: (progress: WorkflowProgress) => void
  /** Receives what a person must do, once for each call and each waiting question. */
  readonly onWaits: (message: string) => void
  /** Whether an agent's question ends the call. Otherwise the call waits for an answer elsewhere. */
  readonly asks: boolean
}

export interface WorkflowCaller {
  /** Never rejects. If `signal` aborts, the task is cancelled, and the call resolves soon after. */
  call(workflow: string, args: JsonObject, options: WorkflowCallOptions): Promise<WorkflowCallResult>
  /** Continues a task that asked its client. Finds only tasks that were started here. Never rejects. */
  goOn(taskId: string, answers: AnswersTo, options: WorkflowCallOptions): Promise<WorkflowCallResult>
}

/** A call that continues without its client. */
export interface WorkflowTask {
  readonly taskId: string
  /** RFC 3339. */
  readonly createdAt: string
  /** The time of the last change, RFC 3339. */
  readonly updatedAt: string
  /** The progress, for people. */
  readonly message: string
  /** `null`: it has not ended. */
  readonly outcome: WorkflowOutcome | null
  /** The waiting questions of its agents. */
  readonly questions: readonly WorkflowQuestion[]
}

export type WorkflowTaskResult =
  | { readonly ok: true; readonly task: WorkflowTask }
  | { readonly ok: false; readonly error: CallError }

/** Nothing here rejects. The tasks outlive the server. */
export interface WorkflowTasks {
  /** Resolves when the task is durable. */
  start(workflow: string, args: JsonObject): Promise<WorkflowTaskResult>
  /** Finds only tasks that were started here; otherwise the code is `not_found`. */
  look(taskId: string): Promise<WorkflowTaskResult>
  /** Asks a task to stop, and returns its state. An ended task is unchanged. */
  cancel(taskId: string): Promise<WorkflowTaskResult>
  /**
   * Answers questions of a task, and ignores other answers. The code is `invalid_arguments` if an answer does
   * not fit its question, and `conflict` if somebody else answered differently.
   */
  answer(taskId: string, answers: AnswersTo): Promise<WorkflowTaskResult>
}
