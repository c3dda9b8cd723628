// The parts of the projector's answers that the CLI shows. The projector validates what it is asked and shapes what it answers;
// these types only name the fields.
import type { Failure } from '@beaver/core'

/** What was used of one model; a model that is not named: several together. */
export interface ModelUsage {
  readonly provider: string | null
  readonly model: string | null
  readonly input_tokens: number
  readonly output_tokens: number
  readonly calls: number
}

/** A call that waits for a person. */
export interface WaitingCall {
  readonly task_id: string
  readonly run_id: string | null
  readonly agent_name: string | null
  readonly call_id: string
  readonly tool: string
  readonly subject: string
  readonly requested_at: string | null
}

export interface ApprovalsAnswer {
  readonly calls: readonly WaitingCall[]
  readonly more: boolean
}

/** A call that a person was asked about. */
export interface ApprovalAnswer extends WaitingCall {
  /** `left`: its run ended before anybody answered. */
  readonly state: string
  readonly taskseq: number
  readonly by: string | null
  readonly reason: string | null
}

export interface TaskSummary {
  readonly task_id: string
  readonly session_id: string
  readonly status: string
  readonly text: string | null
  readonly skill: string | null
  readonly submitted_at: string | null
  readonly elapsed_ms: number | null
  readonly agents: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly calls: number
  readonly usage_by_model: readonly ModelUsage[]
  /** How many of its calls wait for a person; `waits_for` is the first of them. */
  readonly waiting: number
  readonly waits_for: WaitingCall | null
  readonly provider: string | null
  readonly model: string | null
  readonly simulated: boolean | null
  readonly failure: Failure | null
  /** What the task itself waits for, without a daemon. */
  readonly wait?: { readonly for: string; readonly until: string | null; readonly reason: string } | null
  readonly ended_at?: string | null
  readonly chain_ok: boolean
}

export interface Paged {
  readonly more: boolean
  readonly next: number | null
}

export interface TasksAnswer extends Paged {
  readonly tasks: readonly TaskSummary[]
}

export interface RunAnswer {
  readonly run_id: string
  readonly agent_name: string
  readonly team_run_id: string | null
  readonly status: string
  readonly started_at: string
  readonly duration_ms: number | null
  readonly tool_calls: number
  readonly tool_calls_failed: number
  readonly restarts: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly usage_by_model: readonly ModelUsage[]
  readonly skills: readonly unknown[]
  readonly skill_selection: {
    readonly recall: string
    readonly candidates: number
    readonly chosen: readonly string[]
    readonly failure: string | null
  } | null
  /** What its first prompt was made of, estimated; `null`: not known. */
  readonly context: readonly { readonly part: string; readonly tokens_estimated: number }[] | null
  /** What the provider counted for its first call. */
  readonly first_input_tokens: number | null
  /** What was left out of a conversation that was too long. */
  readonly results_compacted: number
  readonly history_dropped: number
  readonly summaries: number
  readonly failure: Failure | null
  readonly teams: readonly TeamAnswer[]
  readonly other_runs?: readonly RunAnswer[]
}

export interface TeamAnswer {
  readonly workflow: string
  readonly status: string
  readonly message: string | null
  readonly node_count: number
  readonly node_count_at_start: number
  readonly diagnostics: readonly { readonly taskseq: number; readonly node_id: string; readonly code: string; readonly message: string }[]
  readonly shared_state: unknown
  readonly shared_state_changes: number
  readonly nodes: readonly NodeAnswer[]
}

export interface CheckAnswer {
  readonly field: string
  readonly requirement: unknown
  readonly status: string
  readonly detail: string
  /** `taskseq`s of the events the verdict was read from. */
  readonly rests_on: readonly number[]
}

export interface NodeAnswer {
  readonly node_id: string
  readonly kind: string
  readonly depends_on: readonly string[]
  readonly added_after: string | null
  readonly tool: string | null
  readonly operation: string | null
  readonly status: string
  readonly duration_ms: number | null
  readonly evidence_passed: boolean | null
  readonly evidence: readonly CheckAnswer[]
  readonly failure: Failure | null
  readonly cause_node_id: string | null
  readonly skip_reason: string | null
  readonly cancel_reason: string | null
  /** A computed node's. */
  readonly output: string | null
  readonly output_chars: number | null
  readonly run: RunAnswer | null
}

export interface TaskAnswer {
  readonly task: TaskSummary & {
    readonly workspace: string | null
    readonly daemon: string | null
    readonly claims: number
    readonly cancel_reason: string | null
    readonly workflow: string | null
    readonly profile: string | null
    readonly epoch: number
    readonly last_taskseq: number
    readonly head_hash: string
  }
  readonly runs: readonly RunAnswer[]
  /** Of a task that is a workflow. */
  readonly teams: readonly TeamAnswer[]
  readonly more: boolean
  readonly approvals: readonly ApprovalAnswer[]
  readonly outputs: readonly { readonly node_id: string; readonly output: string; readonly output_chars: number }[]
  readonly final_output: string | null
  readonly final_output_chars: number
  readonly failures: readonly (Failure & { readonly scope: string; readonly name: string })[]
  readonly chain_ok: boolean
  readonly findings: readonly { readonly taskseq: number | null; readonly kind: string; readonly message: string }[]
}

export interface TimelineItem {
  readonly taskseq: number
  readonly kind: string
  readonly actor_name: string
  readonly text: string
  readonly created_at: string
  readonly offset_ms: number | null
  readonly status: string
}

export interface EventItem {
  readonly taskseq: number
  readonly type: string
  readonly epoch: number
  readonly time: string
  readonly run_id: string | null
  readonly data: unknown
  readonly data_bytes: number
  readonly hash: string
}

export interface SearchAnswer extends Paged {
  readonly hits: readonly {
    readonly task_id: string
    readonly taskseq: number
    readonly agent_name: string | null
    readonly role: string
    readonly name: string | null
    readonly time: string
    readonly snippet: string
  }[]
}

export interface StatusAnswer {
  readonly stream: string | null
  readonly sequence: number
  readonly events: number
  readonly tasks: number
  readonly tasks_broken: number
  readonly by_status?: Readonly<Record<string, number>>
  /** Open tasks that no daemon drives, because they only wait. */
  readonly waiting?: number
  readonly findings?: number
  /** The journal's last message; absent or null: not known. */
  readonly stream_sequence?: number | null
  readonly behind?: number | null
  /** Since when there is something to apply and nothing was. */
  readonly behind_since?: string | null
  readonly fault?: { readonly code: string; readonly message: string; readonly since: string } | null
}
