// WorkflowCaller and WorkflowTasks: the ports through which the MCP server reaches a daemon. The command line
// implements them.
import type { JsonObject, Question, QuestionAnswer } from '@beaver/core'

export interface WorkflowOutcome {
  readonly taskId: string
  readonly sessionId: string
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled'
  readonly finalOutput: string
  readonly outputs: readonly { readonly node_id: string; readonly output: string }[]
  /** The reason why it did not complete, or `null` if it did. */
  readonly failure: string | null
  /** What the client must know beside the result, in sentences. */
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

/** A question of an agent that waits, and that the client may answer. */
export interface WorkflowQuestion {
  /** Names it in its task. */
  readonly id: string
  readonly question: Question
}

/** The answers of a client, by the ids of the questions. */
export type WorkflowAnswers = Readonly<Record<string, QuestionAnswer>>

/** The answers to the questions of a task: those that wait, and those that have an answer. */
export type AnswersTo = (questions: readonly WorkflowQuestion[]) => WorkflowAnswers

/** What a task asks its client. `fault`: why the answers before do not count. */
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
  /** Called every few seconds, also when nothing changed: a client takes silence for a call that hangs. */
  readonly onProgress: (progress: WorkflowProgress) => void
  /** Receives what a person has to do, once for each call and each question that waits. */
  readonly onWaits: (message: string) => void
  /**
   * Whether a question of an agent ends the call. Otherwise the call waits until somebody answers elsewhere.
   */
  readonly asks: boolean
}

export interface WorkflowCaller {
  /** Never rejects. If `signal` aborts, the task is cancelled, and the call resolves soon after. */
  call(workflow: string, args: JsonObject, options: WorkflowCallOptions): Promise<WorkflowCallResult>
  /** Goes on with a task that asked its client. Only a task that was started here is found. Never rejects. */
  goOn(taskId: string, answers: AnswersTo, options: WorkflowCallOptions): Promise<WorkflowCallResult>
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
  /** The questions of its agents that wait. */
  readonly questions: readonly WorkflowQuestion[]
}

export type WorkflowTaskResult =
  | { readonly ok: true; readonly task: WorkflowTask }
  | { readonly ok: false; readonly error: CallError }

/** Nothing here ever rejects. The tasks outlive the server. */
export interface WorkflowTasks {
  /** Resolves when the task is durable. */
  start(workflow: string, args: JsonObject): Promise<WorkflowTaskResult>
  /** Only a task that was started here is found; otherwise the code is `not_found`. */
  look(taskId: string): Promise<WorkflowTaskResult>
  /** Asks a task to stop, and answers with the task as it is then. One that has ended stays as it is. */
  cancel(taskId: string): Promise<WorkflowTaskResult>
  /**
   * Answers questions of a task. The code is `invalid_arguments` if an answer does not fit its question, and
   * `conflict` if somebody else has said something else. Answers to nothing are left out.
   */
  answer(taskId: string, answers: AnswersTo): Promise<WorkflowTaskResult>
}
