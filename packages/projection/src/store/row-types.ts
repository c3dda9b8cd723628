// The rows of the tables that a batch holds in memory: their columns in TypeScript, and the values of a new
// row. They mirror schema.ts, and a test compares them. The rows are mutable: they belong to the batch that
// holds them.
import type { FailureClass } from '@beaver/core'

/** A row of `tasks`. */
export interface TaskRow {
  task_key: number
  tenant: string
  session_id: string
  task_id: string
  status: string
  text: string | null
  skill: string | null
  workspace: string | null
  source: string | null
  submitted_by: string | null
  user_id: string | null
  title: string | null
  workflow: string | null
  profile: string | null
  previous_task_id: string | null
  submitted_at: string | null
  started_at: string | null
  ended_at: string | null
  last_event_at: string | null
  daemon: string | null
  retry_of: string | null
  waits_for: string | null
  wake_at: string | null
  wait_reason: string | null
  claims: number
  cancel_reason: string | null
  dead_lettered: number
  agents: number
  input_tokens: number
  output_tokens: number
  calls: number
  provider: string | null
  model: string | null
  simulated: number | null
  failure_class: FailureClass | null
  failure_message: string | null
  final_output: string | null
  outputs: string | null
  root_run_id: string | null
  epoch: number
  last_taskseq: number
  head_hash: string
  chain_ok: number
  unsigned: number
  copied_to: number
  /** How many events are in an archive. */
  archived_events: number
}

/** A row of `sessions`. */
export interface SessionRow {
  readonly tenant: string
  readonly session_id: string
  readonly user_id: string | null
  readonly tasks: number
  readonly first_key: number
  readonly newest_key: number
}

/** A row of `runs`. */
export interface RunRow {
  task_key: number
  run_id: string
  parent_run_id: string | null
  agent_name: string
  team_run_id: string | null
  node_id: string | null
  attempt_index: number
  source: string
  status: string
  started_at: string
  started_taskseq: number
  ended_at: string | null
  max_tool_iterations: number
  tool_iterations: number
  restarts: number
  input_tokens: number
  output_tokens: number
  calls: number
  provider: string | null
  model: string | null
  execution_mode: string | null
  skills: string
  skill_selection: string | null
  context: string | null
  results_compacted: number
  history_dropped: number
  summaries: number
  finish_reason: string | null
  output: string | null
  output_taskseq: number | null
  failure_class: FailureClass | null
  failure_message: string | null
}

/** A row of `tool_calls`. */
export interface CallRow {
  task_key: number
  asked_taskseq: number
  call_index: number
  run_id: string | null
  call_id: string
  tool: string
  arguments: string | null
  approval: string | null
  approval_subject: string | null
  approval_rule: string | null
  approval_hash: string | null
  /** JSON. */
  approval_preview: string | null
  approval_requested_at: string | null
  approval_requested_taskseq: number | null
  approval_by: string | null
  /** On whose behalf. */
  approval_user: string | null
  approval_reason: string | null
  approval_decided_at: string | null
  /** The arguments with which the call was made, if a person changed them. */
  approval_arguments: string | null
  /** The place of its question that has no answer. */
  asking_taskseq: number | null
  idempotent: number | null
  starts: number
  started_at: string | null
  ended_at: string | null
  duration_ms: number | null
  success: number | null
  error: string | null
  result: string | null
  result_taskseq: number | null
}

export const taskColumns = [
  'task_key',
  'tenant',
  'session_id',
  'task_id',
  'status',
  'text',
  'skill',
  'workspace',
  'source',
  'submitted_by',
  'user_id',
  'title',
  'workflow',
  'profile',
  'previous_task_id',
  'retry_of',
  'submitted_at',
  'started_at',
  'ended_at',
  'last_event_at',
  'daemon',
  'waits_for',
  'wake_at',
  'wait_reason',
  'claims',
  'cancel_reason',
  'dead_lettered',
  'agents',
  'input_tokens',
  'output_tokens',
  'calls',
  'provider',
  'model',
  'simulated',
  'failure_class',
  'failure_message',
  'final_output',
  'outputs',
  'root_run_id',
  'epoch',
  'last_taskseq',
  'head_hash',
  'chain_ok',
  'unsigned',
  'copied_to',
  'archived_events',
] as const satisfies readonly (keyof TaskRow)[]
export const runColumns = [
  'task_key',
  'run_id',
  'parent_run_id',
  'agent_name',
  'team_run_id',
  'node_id',
  'attempt_index',
  'source',
  'status',
  'started_at',
  'started_taskseq',
  'ended_at',
  'max_tool_iterations',
  'tool_iterations',
  'restarts',
  'input_tokens',
  'output_tokens',
  'calls',
  'provider',
  'model',
  'execution_mode',
  'skills',
  'skill_selection',
  'context',
  'results_compacted',
  'history_dropped',
  'summaries',
  'finish_reason',
  'output',
  'output_taskseq',
  'failure_class',
  'failure_message',
] as const satisfies readonly (keyof RunRow)[]
export const callColumns = [
  'task_key',
  'asked_taskseq',
  'call_index',
  'run_id',
  'call_id',
  'tool',
  'arguments',
  'approval',
  'approval_subject',
  'approval_rule',
  'approval_hash',
  'approval_preview',
  'approval_requested_at',
  'approval_requested_taskseq',
  'approval_by',
  'approval_user',
  'approval_reason',
  'approval_decided_at',
  'approval_arguments',
  'asking_taskseq',
  'idempotent',
  'starts',
  'started_at',
  'ended_at',
  'duration_ms',
  'success',
  'error',
  'result',
  'result_taskseq',
] as const satisfies readonly (keyof CallRow)[]
const emptyTask = {
  status: 'submitted',
  text: null,
  skill: null,
  workspace: null,
  source: null,
  submitted_by: null,
  user_id: null,
  title: null,
  workflow: null,
  profile: null,
  previous_task_id: null,
  submitted_at: null,
  started_at: null,
  ended_at: null,
  last_event_at: null,
  daemon: null,
  retry_of: null,
  waits_for: null,
  wake_at: null,
  wait_reason: null,
  claims: 0,
  cancel_reason: null,
  dead_lettered: 0,
  agents: 0,
  input_tokens: 0,
  output_tokens: 0,
  calls: 0,
  provider: null,
  model: null,
  simulated: null,
  failure_class: null,
  failure_message: null,
  final_output: null,
  outputs: null,
  root_run_id: null,
  epoch: 0,
  last_taskseq: 0,
  chain_ok: 1,
  unsigned: 0,
  copied_to: 0,
  archived_events: 0,
}

export const newTask = (
  row: Pick<TaskRow, 'task_key' | 'tenant' | 'session_id' | 'task_id' | 'head_hash'>,
): TaskRow => ({ ...emptyTask, ...row })

const emptyRun = {
  parent_run_id: null,
  team_run_id: null,
  node_id: null,
  ended_at: null,
  tool_iterations: 0,
  restarts: 0,
  input_tokens: 0,
  output_tokens: 0,
  calls: 0,
  provider: null,
  model: null,
  execution_mode: null,
  skills: '[]',
  skill_selection: null,
  context: null,
  results_compacted: 0,
  history_dropped: 0,
  summaries: 0,
  finish_reason: null,
  output: null,
  output_taskseq: null,
  failure_class: null,
  failure_message: null,
}

/** The fields with which a run begins. */
export type BegunRun = Pick<
  RunRow,
  | 'run_id'
  | 'parent_run_id'
  | 'agent_name'
  | 'team_run_id'
  | 'node_id'
  | 'attempt_index'
  | 'source'
  | 'status'
  | 'started_at'
  | 'started_taskseq'
  | 'max_tool_iterations'
>

export const newRun = (row: BegunRun & Pick<RunRow, 'task_key'>): RunRow => ({ ...emptyRun, ...row })

const emptyCall = {
  arguments: null,
  approval: null,
  approval_subject: null,
  approval_rule: null,
  approval_hash: null,
  approval_preview: null,
  approval_requested_at: null,
  approval_requested_taskseq: null,
  approval_by: null,
  approval_user: null,
  approval_reason: null,
  approval_decided_at: null,
  approval_arguments: null,
  asking_taskseq: null,
  idempotent: null,
  starts: 0,
  started_at: null,
  ended_at: null,
  duration_ms: null,
  success: null,
  error: null,
  result: null,
  result_taskseq: null,
}

export const newCall = (
  row: Pick<CallRow, 'task_key' | 'asked_taskseq' | 'call_index' | 'run_id' | 'call_id' | 'tool'> &
    Partial<CallRow>,
): CallRow => ({
  ...emptyCall,
  ...row,
})
