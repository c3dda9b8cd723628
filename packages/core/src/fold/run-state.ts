// The state of one run, folded from its events (evolve-run.ts). An AgentLoop is restored from it, and prompts
// and screens are views of it.
import type { Doer } from '../telling/doer.ts'
import type { ChatMessage, ToolCall, Usage } from '../chat.ts'
import type { ToolChoice } from '../client-tool.ts'
import { noUsage } from '../usage.ts'
import type { DataOf } from '../events/catalog.ts'
import type { Failure } from '../failure/failure-class.ts'
import type { Question } from '../question/question.ts'
import { type DueCall, nothingFailed } from './due-call.ts'
import type { ImagePart } from '../images/image-part.ts'
import { noTurns, type SameTurns } from './same-turns.ts'
import { cleanTaint, type Taint } from '../taint/taint.ts'

/** What a run is doing. The last three are final. */
export type RunStatus =
  | 'assembling'
  | 'thinking'
  | 'acting'
  | 'waiting_for_approval'
  | 'waiting_for_answer'
  | 'waiting_for_client'
  | 'finalizing'
  | 'completed'
  | 'failed'
  | 'cancelled'

/** A question of a call; `answer` is `null` until somebody answers. */
export interface AskedQuestion {
  readonly index: number
  readonly question: Question
  readonly answer: Pick<DataOf<'question_answered'>, 'answer' | 'by' | 'user_id' | 'reason'> | null
}

/** What the client answered to a call of one of its tools. */
export type ClientAnswer = Pick<DataOf<'client_call_answered'>, 'content' | 'error' | 'by' | 'user_id'>

/** A tool call of the last answer. If a person changed its arguments, `arguments` are those of the person. */
export interface OpenCall extends ToolCall {
  /** Whether the effect may have begun. After a crash, the outcome of such a call is in doubt. */
  readonly started: boolean
  readonly idempotent: boolean
  /** The state of the approval; `null` if none was requested. */
  readonly approval: 'requested' | 'granted' | 'denied' | null
  /** The hash of what the person was shown. `null`: nobody was asked, or an older version asked. */
  readonly callHash: string | null
  /** Who refused the call, and why. */
  readonly denial: (Doer & { readonly reason: string }) | null
  /** Who changed the arguments, and what the model had sent. `null`: nobody changed them. */
  readonly edited: (Doer & { readonly asked: string }) | null
  /** What the call asked a person, in order. */
  readonly questions: readonly AskedQuestion[]
  /** Whether the last question has no answer. */
  readonly asking: boolean
  /** Whether the call is with the client, which has not answered. */
  readonly atClient: boolean
  /** What the client answered; `null` until it does. */
  readonly clientAnswer: ClientAnswer | null
  /** The content of the result; `null` until it is recorded. */
  readonly result: string | null
  /** Whether the result is that of a success; `false` until it is recorded. */
  readonly success: boolean
  /** What the result shows. Absent: no image. */
  readonly images?: readonly ImagePart[]
}

/** A tool result as evidence: which tool was called, and whether it succeeded. */
export interface ToolFact {
  readonly taskseq: number
  readonly tool: string
  readonly success: boolean
  /** The `taskseq` of the answer that asked for the call. */
  readonly askedSeq?: number
  /**
   * The arguments with which the call was made. They and the result are left out if no requirement reads
   * them.
   */
  readonly arguments?: string
  readonly result?: string
}

/** Files as evidence: what was found at the paths that the requirements of a node name. */
export interface FilesFact {
  readonly taskseq: number
  readonly found: DataOf<'workspace_files_checked'>['files']
}

/** Which tools the next answers of a run may or must call. */
export interface CurrentChoice {
  /** `null`: the model chooses. */
  readonly tools: ToolChoice | null
  /** The `toolIterations` of the run when the choice was made: a call after that meets it. */
  readonly since: number
}

/** The state of a run. */
export interface RunState {
  readonly start: DataOf<'run_started'>
  readonly status: RunStatus
  readonly messages: readonly ChatMessage[]
  /**
   * The index in `messages` where the session's history belongs: before the message with which this run
   * began.
   */
  readonly historyIndex: number
  /** How many of the oldest messages of the history are left out because the conversation was too long. */
  readonly historyDropped: number
  /** The skills that were activated when the run began. */
  readonly skills: DataOf<'skill_activation_snapshotted'>['skills']
  readonly calls: readonly OpenCall[]
  readonly facts: readonly ToolFact[]
  readonly files: FilesFact | null
  /** The number of answers from the provider. */
  readonly answers: number
  /** The number of calls of models that have an outcome, whatever it is. The next call has this number. */
  readonly modelCalls: number
  /** The number of answers that asked for tools. */
  readonly toolIterations: number
  /** What the task or, since then, its client asks of the next answers. */
  readonly choice: CurrentChoice
  /** How many turns in a row were the same, up to the last one. */
  readonly sameTurns: SameTurns
  /** How often results were left out since the last answer because the conversation was too long. */
  readonly compactions: number
  /** How often a summary replaced messages since the last answer because the conversation was too long. */
  readonly summaries: number
  /**
   * How often what was asked for as a summary was none, since the last answer or the last change of the
   * conversation.
   */
  readonly summariesRefused: number
  /**
   * The ids of the calls of each answer that called tools, in the order of the answers. A summary does not
   * remove them.
   */
  readonly callsOfAnswers: readonly (readonly string[])[]
  /**
   * The failed tries of the next provider call. A try that asks the main provider and then the fallback
   * counts once.
   */
  readonly tries: number
  /** The failures of the next provider call by class, and how long the run has waited for it. */
  readonly due: DueCall
  readonly restarts: number
  /** How many threads were lost while a call of the tool was under way in them, by tool. */
  readonly suspectTools: Readonly<Record<string, number>>
  readonly usage: Usage
  readonly finishReason: string | null
  readonly outputText: string
  /** How many answers were refused because they did not fit the JSON Schema of the run. */
  readonly outputsRejected: number
  /** Whether the refused answer is asked for again. */
  readonly repairing: boolean
  /** The ids of the requests to steer whose texts the run was given. */
  readonly steersGiven: readonly string[]
  /** The `taskseq` of the answer that contains `outputText`. */
  readonly outputSeq: number
  readonly provider: string | null
  readonly model: string | null
  readonly executionMode: 'team' | 'single' | null
  /** The names of the tools that requests to a provider do not have, by provider. */
  readonly toolsLeftOut: Readonly<Record<string, readonly string[]>>
  readonly failure: Failure | null
  /** The labels of everything that the run was given and has read. */
  readonly taint: Taint
  /** The labels at the last answer. Its calls are judged by them, also those that begin later. */
  readonly askedTaint: Taint
}

/** The choice of a run whose client asks for none. */
export const choiceOfTask = ({ tool_choice: tools }: RunState['start']): CurrentChoice => ({
  tools: tools ?? null,
  since: 0,
})

/**
 * The state of a run at its start.
 *
 * @example
 * startRun(run.start).status // => 'assembling'
 */
export function startRun(start: DataOf<'run_started'>): RunState {
  return {
    start,
    status: 'assembling',
    messages: [],
    historyIndex: 0,
    historyDropped: 0,
    skills: [],
    calls: [],
    facts: [],
    files: null,
    answers: 0,
    modelCalls: 0,
    toolIterations: 0,
    choice: choiceOfTask(start),
    sameTurns: noTurns,
    compactions: 0,
    summaries: 0,
    summariesRefused: 0,
    callsOfAnswers: [],
    tries: 0,
    due: nothingFailed,
    restarts: 0,
    suspectTools: {},
    usage: noUsage,
    finishReason: null,
    outputText: '',
    outputsRejected: 0,
    repairing: false,
    steersGiven: [],
    outputSeq: 0,
    provider: null,
    model: null,
    executionMode: null,
    toolsLeftOut: {},
    failure: null,
    taint: start.taint ?? cleanTaint,
    askedTaint: start.taint ?? cleanTaint,
  }
}

/**
 * Whether the run has ended: it completed, failed or was cancelled.
 *
 * @example
 * runEnded(startRun(run.start)) // => false
 * runEnded(run) // => true
 */
export const runEnded = (run: RunState): boolean =>
  run.status === 'completed' || run.status === 'failed' || run.status === 'cancelled'
