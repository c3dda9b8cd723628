// What an AgentLoop is started with, what it asks of its host, and what it ends with. All of it crosses a thread: plain data.
import {
  type ChatMessage,
  type DataOf,
  type DomainEvent,
  type Draft,
  type EvidenceRequirement,
  type ExecutionGraph,
  type Failure,
  factsOf,
  type JsonObject,
  type LiveDelta,
  type MemoryAnswer,
  type MemoryChange,
  type MemorySnapshot,
  type RecordedEvent,
  type RunFacts,
  type RunState,
  type SessionSearchHit,
  type SessionSearchRequest,
  type SharedStateChange,
  type SharedStateResult,
  type SuspectTools,
  type Usage,
} from '@beaver/core'
import type { ExternalCall, ExternalResult } from '../tools/external-tools.ts'

/** `root`: the whole task. `worker`: one agent node of a team; it never sees a workflow tool (D-09). `tool`: a tool node. */
export type LoopPart =
  /** `profile`: `null` for the default one. */
  | { readonly kind: 'root'; readonly text: string; readonly skill: string | null; readonly profile: string | null }
  | {
      readonly kind: 'worker'
      readonly task: string
      readonly instruction: string
      readonly dependencies: readonly { readonly node_id: string; readonly output: string }[]
      readonly requiredEvidence: readonly EvidenceRequirement[]
      readonly validationRules?: readonly EvidenceRequirement[]
      readonly evidenceContract?: string | null
      readonly skill: string | null
      readonly allowedToolNames: readonly string[] | null
      /** What kind of skill it needs, when none is named (D-40). */
      readonly skillQuery: string | null
      /** What its graph says about the agent besides; empty for nothing. */
      readonly systemPrompt: string
      /** Its team has a shared state: it gets the tool `team_shared_state` (D-51). */
      readonly sharedState: boolean
    }
  | { readonly kind: 'tool'; readonly tool: string; readonly arguments: JsonObject }

export interface LoopSpec {
  readonly start: Omit<DataOf<'run_started'>, 'tools'>
  readonly taskId: string
  readonly sessionId: string
  readonly workspace: string
  readonly part: LoopPart
  /** The visible transcript of the session's earlier tasks. */
  readonly history: readonly ChatMessage[]
  /** The memory as it stood when the run began; `unreadable`: why it cannot be used. */
  readonly memory: MemorySnapshot | { readonly unreadable: string }
  /** Somebody follows: answers are streamed. */
  readonly stream: boolean
  /** The run's events so far, when it is taken up again; `null` for a new run. */
  readonly resume: readonly RecordedEvent[] | null
  /**
   * The run's next provider call has its turn under the limits of this daemon already: its last pause was one with `admitted`, and
   * this daemon let go of it. `false` everywhere else, also for a run that another daemon let go of.
   */
  readonly admitted: boolean
  /** Tools that may have killed an owner of the task: their calls run in a process of their own. Absent: none. */
  readonly suspectTools?: SuspectTools
}

/** Code that is not the loop's own and runs in its thread: what the thread is held up by, or dies of. */
export type ThreadWork =
  /** `own`: the tool is the user's, not built in. */
  | { readonly kind: 'tool'; readonly tool: string; readonly timeoutMs: number; readonly own: boolean }
  /** An answer of the model is read, from its bytes to its end in one go. */
  | { readonly kind: 'answer' }

/** A change, or a look at what stands at a path: the empty path is the whole state. */
export type SharedStateAccess = SharedStateChange | { readonly action: 'get'; readonly path: string }

/** No team was started, and why: for the model. */
export interface TeamRefusal {
  readonly refused: { readonly code: string; readonly message: string }
}

/** What a team gives back to the loop that called for it. */
export interface TeamResult {
  readonly team_run_id: string
  readonly outcome: 'complete' | 'incomplete' | 'cancelled'
  readonly final_output: string
  readonly outputs: readonly { readonly node_id: string; readonly output: string }[]
  readonly message: string | null
  /** What stopped it from outside, such as its deadline. */
  readonly stopped: Failure | null
  /** The nodes that failed, in declared order. */
  readonly failures: readonly { readonly node_id: string; readonly failure: Failure }[]
}

export interface LoopEnd {
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly facts: RunFacts
  readonly failure: Failure | null
  readonly usage: Usage
  readonly provider: string | null
  readonly model: string | null
}

/** What a person, or the configuration, decided about a call. It is durable, at `taskseq`. */
export interface ApprovalDecision {
  readonly event: Extract<DomainEvent, { type: 'approval_granted' | 'approval_denied' }>
  readonly taskseq: number
}

/** What a loop waits for, and for how long. `reason` is for a person. */
export interface PauseRequest {
  readonly ms: number
  readonly waitsFor: 'provider' | 'limit'
  readonly reason: string
  /** The run has a turn reserved for the moment when the pause is over: whoever takes it up then sets `LoopSpec.admitted`. Absent: none. */
  readonly admitted?: boolean
}

/** The process's side of a loop. Calls are narrow and typed; nothing is shared. */
export interface LoopHost {
  /**
   * Resolves when the events are durable, with the `taskseq` of the first. Rejects when the task is no longer ours.
   * `end` is how the run ends with these events, `null` when it goes on.
   */
  append(drafts: readonly Draft[], end: LoopEnd | null): Promise<number>
  /**
   * Asked before a model or a tool is: a process that was stopped may have lost the task meanwhile. Resolves while the task is ours,
   * rejects when it is not. `null`: it was ours a moment ago. Absent: nobody else can own it.
   */
  readonly stillOurs?: () => Promise<unknown> | null
  /** Runs a team for a workflow call; the same call again gives the same team. */
  runTeam(callId: string, graph: ExecutionGraph): Promise<TeamResult | TeamRefusal>
  /** Reads or changes the state of the run's team; a change is durable when it resolves. */
  sharedState(access: SharedStateAccess): Promise<SharedStateResult>
  /** Waits for the decision about a call whose `approval_requested` is durable. */
  approval(callId: string): Promise<ApprovalDecision>
  /** Changes the memory of the tenant; durable when it resolves with `ok`. */
  memory(change: MemoryChange): Promise<MemoryAnswer>
  /** @throws an Error that says why, for the model */
  searchSessions(request: SessionSearchRequest): Promise<readonly SessionSearchHit[]>
  /** Calls a tool of the daemon's process; aborting `signal` ends the call there. */
  callExternal(call: ExternalCall, signal: AbortSignal): Promise<ExternalResult>
  /**
   * Waits before a provider is asked again. Resolves after `ms`, or at once when `signal` aborts; never rejects. The host may drop
   * the loop meanwhile, without an event, and start it again later from the journal: `signal` aborts with a `LoopDropped` then.
   */
  pause(request: PauseRequest, signal: AbortSignal): Promise<void>
  /** Published live; nobody waits for it. */
  delta(delta: Pick<LiveDelta, 'call' | 'offset' | 'text'>): void
  /** Says that such work begins in this thread; the function it returns says that it is over. Absent: nobody watches the thread. */
  readonly works?: (work: ThreadWork) => () => void
}

/** What the result of a run is checked against; a root's is against nothing. */
export function requirementsOfPart(part: LoopPart): readonly EvidenceRequirement[] {
  return part.kind === 'worker' ? [...part.requiredEvidence, ...(part.validationRules ?? [])] : []
}

/** How an ended run ended. @param requirements what its facts are for; absent: all of them are kept */
export function loopEndOf(run: RunState, requirements?: readonly EvidenceRequirement[]): LoopEnd {
  return {
    status: run.status === 'completed' || run.status === 'cancelled' ? run.status : 'failed',
    facts: factsOf(run, requirements),
    failure: run.failure,
    usage: run.usage,
    provider: run.provider,
    model: run.model,
  }
}
