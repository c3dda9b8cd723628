// Defines what an AgentLoop is started with, what it asks of its host, and what it ends with. Specs and
// results cross threads as plain data.
import type {
  ChatMessage,
  ClientTool,
  DataOf,
  DomainEvent,
  JsonObject,
  LiveDelta,
  LiveProgress,
  MemoryAnswer,
  MemoryChange,
  MemorySnapshot,
  SessionSearchHit,
  SessionSearchRequest,
  Usage,
} from '@beaver/core'
import type { CallBound } from '@beaver/core/budget'
import { type EvidenceRequirement, factsOf, type RunFacts } from '@beaver/core/evidence'
import type { FramedText, RunState, RunStatus, SuspectTools, TeamDiagnostic } from '@beaver/core/fold'
import type { ExecutionGraph, SharedStateResult } from '@beaver/core/graph'
import type { ImagePart } from '@beaver/core/images'
import type { Draft, RecordedEvent } from '@beaver/core/journal'
import type { Failure } from '@beaver/core/supervision'
import type { Taint } from '@beaver/core/taint'
import type { OutwardTrace } from '@beaver/core/trace'
import type { TeamContext } from '@beaver/workflows'
import type { Skill } from '../skills/skill.ts'
import type { CallDescription } from '../tools/external-tools.ts'
import type { AskPerson, ExternalCall, ExternalResult, SharedStateAccess } from '../tools/tool.ts'

/**
 * `root`: the whole task. `worker`: one agent node of a team, which never sees a workflow tool (D-09).
 * `tool`: a tool node.
 */
export type LoopPart =
  /**
   * `profile`: `null` for the default profile. `instructions`: what the client asks beside the task,
   * `images`: what it shows, `clientTools`: the tools whose calls it makes itself. Absent: nothing.
   */
  | {
      readonly kind: 'root'
      readonly text: string
      readonly skill: string | null
      readonly profile: string | null
      readonly instructions?: string
      readonly images?: readonly ImagePart[]
      readonly clientTools?: readonly ClientTool[]
    }
  | {
      readonly kind: 'worker'
      readonly task: string
      readonly instruction: FramedText
      readonly dependencies: readonly { readonly node_id: string; readonly output: string }[]
      readonly requiredEvidence: readonly EvidenceRequirement[]
      readonly validationRules?: readonly EvidenceRequirement[]
      readonly evidenceContract?: string | null
      readonly skill: string | null
      readonly allowedToolNames: readonly string[] | null
      /**
       * The profile of the task's root, whose inventory is a ceiling (D-65). `null`: the default profile.
       * Absent: the task has no root.
       */
      readonly profile?: string | null
      /** The kind of skill that the worker needs if none is named (D-40). */
      readonly skillQuery: string | null
      /** What the graph adds to the agent's system prompt. Empty: nothing. */
      readonly systemPrompt: string
      /**
       * Whether the team has a shared state. If it has one, the worker gets the tool `team_shared_state`
       * (D-51).
       */
      readonly sharedState: boolean
      /**
       * What was written for the worker by people, or by an agent that had read nothing but their words.
       * Default: nothing was.
       */
      readonly trustedText?: string
    }
  | { readonly kind: 'tool'; readonly tool: string; readonly arguments: JsonObject }

/** What a loop is started with. Plain data, because it crosses a thread. */
export interface LoopSpec {
  readonly start: Omit<DataOf<'run_started'>, 'tools'>
  readonly taskId: string
  readonly sessionId: string
  readonly workspace: string
  readonly part: LoopPart
  /** The team of a worker or of a tool node. Absent: the run belongs to no team. */
  readonly teamContext?: TeamContext
  /** The visible transcript of the session's earlier tasks. */
  readonly history: readonly ChatMessage[]
  /** The memory as it was when the run began. `unreadable`: why it cannot be used. */
  readonly memory: MemorySnapshot | { readonly unreadable: string }
  /**
   * What the final text of the task must rest on: the facts of each run are kept for it. Default: nothing.
   */
  readonly taskEvidence?: readonly EvidenceRequirement[]
  /** The skills of the workspace of the task, which nobody configured. Default: there are none. */
  readonly workspaceSkills?: readonly Skill[]
  /** The only skills that the run may have. Absent: all that are loaded. */
  readonly skills?: readonly string[]
  /** The time zone of the user. Absent: it is not known. */
  readonly timeZone?: string
  /** Whether nobody can answer. If so, the run has no tool that only asks. Default: somebody can. */
  readonly unattended?: boolean
  /** Whether somebody follows. If so, answers are streamed. */
  readonly stream: boolean
  /** The run's earlier events if it is resumed. `null` for a new run. */
  readonly resume: readonly RecordedEvent[] | null
  /**
   * Whether the next provider call of the run has its turn under this daemon's limits already: the last pause
   * had `admitted`, and this daemon dropped the run in it. `false` in all other cases, also if another daemon
   * dropped the run.
   */
  readonly admitted: boolean
  /** The texts with which the task was steered so far, also those that the run was given. Default: none. */
  readonly steers?: readonly Steer[]
  /**
   * The trace of the task, of which models and tools are told. It is not journaled: each daemon computes the
   * same. Default: nobody is told.
   */
  readonly trace?: OutwardTrace
  /** Whether a budget bounds the calls of the run, so that each is reserved. Default: nothing is bounded. */
  readonly budgeted?: Budgeted
  /**
   * Tools that may have killed an owner of the task: calls of those that come from a module run in a process
   * of their own. Default: none.
   */
  readonly suspectTools?: SuspectTools
}

/** Which calls of a run are reserved: those of models, and those of tools if a budget bounds them. */
export interface Budgeted {
  readonly toolCalls: boolean
}

/** What a call needs at most before it may begin. */
export type CallNeeds =
  | ({ readonly kind: 'model'; readonly provider: string; readonly model: string } & CallBound)
  | { readonly kind: 'tool'; readonly tool: string }

/** What became of a reservation. `cancelled`: the run ended, or its loop was dropped, before it was decided. */
export type Granted =
  /** `outputTokensMax`: how many tokens the answer may have; `null`: nobody has to bound it. */
  | { readonly kind: 'granted'; readonly outputTokensMax: number | null }
  | { readonly kind: 'refused'; readonly failure: Failure }
  | { readonly kind: 'cancelled' }

/** Where events were written. */
export interface Appended {
  /** `taskseq` of the first event. */
  readonly first: number
  /** The reservation that was written with them. `null`: nothing was reserved. */
  readonly granted: Extract<Granted, { kind: 'granted' }> | null
}

/** A text with which a person steers the task. It is durable. */
export interface Steer {
  readonly requestId: string
  readonly text: string
}

/** Foreign code that runs in the loop's thread and may block or kill the thread. */
export type ThreadWork =
  /** `own`: the tool belongs to the user and is not built in. */
  | { readonly kind: 'tool'; readonly tool: string; readonly timeoutMs: number; readonly own: boolean }
  /** An answer of the model is read at once, from its first byte to its end. */
  | { readonly kind: 'answer' }

/** Why no team was started, for the model. */
export interface TeamRefusal {
  readonly refused: { readonly code: string; readonly message: string }
}

/** What a team returns to the loop that called it. */
export interface TeamRunResult {
  readonly team_run_id: string
  readonly outcome: 'complete' | 'incomplete' | 'cancelled'
  readonly final_output: string
  readonly outputs: readonly { readonly node_id: string; readonly output: string }[]
  readonly message: string | null
  /** What stopped the team from outside, such as its deadline. */
  readonly stopped: Failure | null
  /** The nodes that failed, in declared order. */
  readonly failures: readonly { readonly node_id: string; readonly failure: Failure }[]
  /** What deviated from the plan and failed nothing, such as a fallback. Absent: nothing did. */
  readonly diagnostics?: readonly TeamDiagnostic[]
  /** The labels of what its members have read. Absent: there are none. */
  readonly taint?: Taint
}

/** How a loop ended. */
export interface LoopEnd {
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly facts: RunFacts
  readonly failure: Failure | null
  readonly usage: Usage
  readonly provider: string | null
  readonly model: string | null
  /**
   * Whether the output had to fit a JSON Schema and does, so that its text is JSON. Absent: any text was an
   * answer.
   */
  readonly structured?: true
  /** The labels of what the run has read. Absent: no text of the run is used. */
  readonly taint?: Taint
  /**
   * Of a root that called tools: the ids of the calls of each answer, in the order of the answers (D-60).
   * Absent: there are none.
   */
  readonly callsOfAnswers?: readonly (readonly string[])[]
  /** The ids of the requests to steer whose texts the run was given. Absent: there are none. */
  readonly steersGiven?: readonly string[]
}

/** What a person or the configuration decided about a call. The decision is durable at `taskseq`. */
export interface ApprovalDecision {
  readonly event: Extract<DomainEvent, { type: 'approval_granted' | 'approval_denied' }>
  readonly taskseq: number
}

/** The answer to a question of a call, as it was recorded. It is durable at `taskseq`. */
export interface QuestionSettled {
  readonly event: Extract<DomainEvent, { type: 'question_answered' }>
  readonly taskseq: number
}

/** The client's answer to a call of one of its tools. It is durable at `taskseq`. */
export interface ClientAnswered {
  readonly event: Extract<DomainEvent, { type: 'client_call_answered' }>
  readonly taskseq: number
}

/** What a loop waits for, and for how long. `reason` is for a person. */
export interface PauseRequest {
  readonly ms: number
  readonly waitsFor: 'provider' | 'limit'
  readonly reason: string
  /**
   * Whether a turn is reserved for the end of the pause. If so, `LoopSpec.admitted` is set when the run is
   * resumed. Default: no turn is reserved.
   */
  readonly admitted?: boolean
}

/** What the host must know of a question in order to wait for its answer. */
export interface AskedOfPerson {
  readonly callId: string
  readonly index: number
  /** For how long the answer is waited for. `undefined`: as long as the daemon allows. */
  readonly timeoutMs: number | undefined
}

/** The daemon's side of a loop. Its calls are narrow and typed, and nothing is shared. */
export interface LoopHost {
  /**
   * Resolves when the events are durable. Rejects if the task no longer belongs to this daemon. `end` is how
   * the run ends with these events, or `null` if it continues. `next`: the call of a model to which they lead;
   * it is reserved in the same entry if it fits at once. Resolves with `null`, and writes nothing, if the run
   * would complete although the task was steered meanwhile: `steers` then has a text that the run was not
   * given.
   */
  append(
    drafts: readonly Draft[],
    end: LoopEnd | null,
    next?: Extract<CallNeeds, { kind: 'model' }> | null,
  ): Promise<Appended | null>
  /**
   * Reserves a call. Resolves when the reservation is durable, which may take until a person gives more, or
   * with the reason why the run has to end. Resolves at once with `cancelled` when `signal` aborts. Called only
   * if the run is `budgeted`.
   */
  reserve(needs: CallNeeds, signal: AbortSignal): Promise<Granted>
  /**
   * The texts with which the task was steered, in order, also those that the run was given. Absent: nobody
   * steers this run.
   */
  readonly steers?: () => readonly Steer[]
  /**
   * Called before a model or a tool is asked, because a process that was stopped may have lost the task
   * meanwhile. Resolves if the task still belongs to this daemon, and rejects if not. `null`: it belonged to
   * this daemon a moment ago, or no other daemon can own the task.
   */
  stillOurs(): Promise<unknown> | null
  /**
   * Runs a team for a workflow call. The same call again gives the same team. `graph`: `null` if the call
   * cannot be planned (any more); then only a team that it has started goes on. `taint`: the labels of the
   * run that calls.
   */
  runTeam(callId: string, graph: ExecutionGraph | null, taint: Taint): Promise<TeamRunResult | TeamRefusal>
  /**
   * The result of the team that a call of this run started. `null` if there is none, or if it has not ended.
   */
  teamOf(callId: string): Promise<TeamRunResult | null>
  /**
   * Reads or changes the state of the run's team. A change is durable when the promise resolves. `taint`: the
   * labels of this run, and of the state.
   */
  sharedState(
    access: SharedStateAccess,
    taint: Taint,
  ): Promise<SharedStateResult & { readonly taint?: Taint }>
  /** Waits for the decision about a call. The call's `approval_requested` must be durable. */
  approval(callId: string): Promise<ApprovalDecision>
  /**
   * Waits for the answer to a question of a call. Its `question_asked` must be durable. Aborting `signal`
   * ends the wait, which then never resolves.
   */
  answer(question: AskedOfPerson, signal: AbortSignal): Promise<QuestionSettled>
  /**
   * Waits for the client's answer to a call. Its `client_call_requested` must be durable. Aborting `signal`
   * ends the wait, which then never resolves.
   */
  clientAnswer(callId: string, signal: AbortSignal): Promise<ClientAnswered>
  /** Changes the memory of the tenant. The change is durable when the promise resolves with `ok`. */
  memory(change: MemoryChange): Promise<MemoryAnswer>
  /** @throws an Error that gives the reason to the model */
  searchSessions(request: SessionSearchRequest): Promise<readonly SessionSearchHit[]>
  /** Describes a call of a tool of the daemon's process before it runs. `null`: the process cannot. */
  describeExternal(call: ExternalCall): Promise<CallDescription | null>
  /**
   * Calls a tool of the daemon's process. Aborting `signal` ends the call there. `ask` asks a person for the
   * tool.
   */
  callExternal(call: ExternalCall, signal: AbortSignal, ask: AskPerson): Promise<ExternalResult>
  /** Makes a payload durable under its SHA-256. */
  storeBlob(sha256: string, bytes: Uint8Array): Promise<void>
  /** The payload under a SHA-256; `null` if it was removed. */
  loadBlob(sha256: string): Promise<Uint8Array | null>
  /**
   * Waits before a provider is asked again. Resolves after `ms`, or at once when `signal` aborts; never
   * rejects. The host may drop the loop meanwhile without an event, and start it again later from the
   * journal. In this case `signal` aborts with a `LoopDropped`.
   */
  pause(request: PauseRequest, signal: AbortSignal): Promise<void>
  /** Publishes a piece of text live. The loop does not wait for it. */
  delta(delta: Pick<LiveDelta, 'call' | 'offset' | 'text'>): void
  /** Publishes how far a call is. The loop does not wait for it. */
  progress(update: Omit<LiveProgress, 'run_id' | 'agent_name' | 'node_id'>): void
  /**
   * Reports that such work begins in this thread. The returned function reports its end. Absent: nobody
   * watches the thread.
   */
  readonly works?: (work: ThreadWork) => () => void
  /** Called once, with a function that tells what the run is doing at any time. Absent: nobody asks. */
  readonly shows?: (status: () => RunStatus) => void
}

type Demands = Pick<LoopSpec, 'part' | 'taskEvidence'>

/** The requirements that the result of a run is checked against. Those of a root are those of the task. */
export function requirementsOfRun({ part, taskEvidence = [] }: Demands): readonly EvidenceRequirement[] {
  if (part.kind === 'worker') return [...part.requiredEvidence, ...(part.validationRules ?? [])]
  return part.kind === 'root' ? taskEvidence : []
}

/** The requirements for which the facts of a run are kept: its own, and those of the task. */
export function factsWanted(spec: Demands): readonly EvidenceRequirement[] {
  return spec.part.kind === 'root'
    ? requirementsOfRun(spec)
    : [...requirementsOfRun(spec), ...(spec.taskEvidence ?? [])]
}

/**
 * Returns how an ended run ended.
 *
 * @param requirements what the run's facts are for. Default: all facts are kept.
 * @example
 * import { startRun } from '@beaver/core/fold'
 *
 * loopEndOf(run).status // => 'completed'
 * loopEndOf(startRun(run.start)).status // => 'failed'
 */
export function loopEndOf(run: RunState, requirements?: readonly EvidenceRequirement[]): LoopEnd {
  return {
    status: run.status === 'completed' || run.status === 'cancelled' ? run.status : 'failed',
    facts: factsOf(run, requirements),
    failure: run.failure,
    usage: run.usage,
    provider: run.provider,
    model: run.model,
    taint: run.taint,
    ...(run.status === 'completed' && run.start.output_schema !== undefined ? { structured: true } : {}),
    ...(run.steersGiven.length > 0 ? { steersGiven: run.steersGiven } : {}),
    ...(run.start.team_run_id === null && run.callsOfAnswers.length > 0
      ? { callsOfAnswers: run.callsOfAnswers }
      : {}),
  }
}
