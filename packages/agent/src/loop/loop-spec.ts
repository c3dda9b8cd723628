// What an AgentLoop is started with, what it asks of its host, and what it ends with. All of it crosses a thread: plain data.
import {
  type ChatMessage,
  type DataOf,
  type Draft,
  type EvidenceRequirement,
  type ExecutionGraph,
  type Failure,
  factsOf,
  type RecordedEvent,
  type RunFacts,
  type RunState,
  type Usage,
} from '@beaver/core'

/** `root`: the whole task. `worker`: one node of a team; it never sees a workflow tool (D-09). */
export type LoopPart =
  | { readonly kind: 'root'; readonly text: string; readonly skill: string | null }
  | {
      readonly kind: 'worker'
      readonly task: string
      readonly instruction: string
      readonly dependencies: readonly { readonly node_id: string; readonly output: string }[]
      readonly requiredEvidence: readonly EvidenceRequirement[]
      readonly skill: string | null
      readonly allowedToolNames: readonly string[] | null
    }

export interface LoopSpec {
  readonly start: Omit<DataOf<'run_started'>, 'tools'>
  readonly taskId: string
  readonly sessionId: string
  readonly workspace: string
  readonly part: LoopPart
  /** The visible transcript of the session's earlier tasks. */
  readonly history: readonly ChatMessage[]
  /** The run's events so far, when it is taken up again; `null` for a new run. */
  readonly resume: readonly RecordedEvent[] | null
}

/** What a team gives back to the loop that called for it. */
export interface TeamResult {
  readonly team_run_id: string
  readonly outcome: 'complete' | 'incomplete' | 'cancelled'
  readonly final_output: string
  readonly outputs: readonly { readonly node_id: string; readonly output: string }[]
  readonly message: string | null
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

/** The process's side of a loop. Calls are narrow and typed; nothing is shared. */
export interface LoopHost {
  /**
   * Resolves when the events are durable, with the `taskseq` of the first. Rejects when the task is no longer ours.
   * `end` is how the run ends with these events, `null` when it goes on.
   */
  append(drafts: readonly Draft[], end: LoopEnd | null): Promise<number>
  /** Runs a team for a workflow call; the same call again gives the same team. */
  runTeam(callId: string, graph: ExecutionGraph): Promise<TeamResult>
}

/** How an ended run ended. */
export function loopEndOf(run: RunState): LoopEnd {
  return {
    status: run.status === 'completed' || run.status === 'cancelled' ? run.status : 'failed',
    facts: factsOf(run),
    failure: run.failure,
    usage: run.usage,
    provider: run.provider,
    model: run.model,
  }
}
