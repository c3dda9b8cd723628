// Every event a journal may hold: its name, version and the shape of its data. Past tense, immutable, versioned.
// E1. What was written is read for ever: who changes a shape adds a step to upcast.ts, and test/golden holds them to it. E2. Field names are snake_case: they are data.
// E3. What another event already says is not said again: outputs are the content of an `assistant_message_added`.
import { z } from 'zod'
import { toolCall, usage } from '../chat.ts'
import { evidenceCheck } from '../evidence/requirement.ts'
import { failure } from '../failure/failure-class.ts'
import { executionGraph, executionNode } from '../graph/execution-graph.ts'
import { runId, sessionId, taskId, teamRunId } from '../ids.ts'
import { jsonObject } from '../json.ts'
import { sharedStateChange } from '../team/shared-state.ts'

const count = z.number().int().nonnegative()

/** What a client asks for. */
export const taskRequest = z.object({
  text: z.string(),
  workspace: z.string(),
  skill: z.string().nullable(),
  source: z.string(),
  /** A workflow to run as it is, without a root agent; absent: a root agent has the task. */
  workflow: z.object({ name: z.string(), arguments: jsonObject }).optional(),
  /** The profile of the root agent; absent: the default one. */
  profile: z.string().optional(),
  /** Answers are streamed and published live, for somebody who follows; absent: not. */
  stream: z.boolean().optional(),
  /** What becomes of calls that need an approval; absent: as the daemon is configured. `refuse`: nobody can answer. */
  approvals: z.enum(['wait', 'refuse']).optional(),
  /** For the record: what the client calls the task, and whom it is for. */
  title: z.string().optional(),
  user_id: z.string().optional(),
  /** The ended task that this one takes up again, with what completed of it. */
  retry_of: taskId.optional(),
})
export type TaskRequest = z.infer<typeof taskRequest>

export const nodeOutput = z.object({ node_id: z.string(), output: z.string() })
export type NodeOutput = z.infer<typeof nodeOutput>

/** What a task ended with; `outputs` in declared order. */
export const taskResult = z.object({
  final_output: z.string(),
  outputs: z.array(nodeOutput),
  usage,
  provider: z.string().nullable(),
  model: z.string().nullable(),
  simulated: z.boolean(),
  failure: failure.nullable(),
})
export type TaskResult = z.infer<typeof taskResult>

/** `refused`: the path leads out of the workspace. */
const foundFile = z.object({
  path: z.string(),
  found: z.enum(['file', 'folder', 'other', 'missing', 'refused', 'unreadable']),
  bytes: count.nullable(),
})

const contextPart = z.object({
  part: z.enum(['base', 'session', 'execution', 'profile', 'memory', 'routing', 'skills', 'history', 'message', 'tools']),
  tokens_estimated: count,
})
export type ContextPart = z.infer<typeof contextPart>

/** Where a copied event was first recorded. Its usage is 0 in the copy: it was paid there. */
const copiedFrom = z.object({ task_id: taskId, taskseq: z.number().int().positive() })

const teamNode = z.object({ team_run_id: teamRunId, node_id: z.string() })

export const eventData = {
  // The task.
  task_submitted: z.object({
    task_id: taskId,
    session_id: sessionId,
    tenant: z.string(),
    /** The task accepted before this one in the same session; it must have ended before this one starts (D-47). */
    previous_task_id: taskId.nullable(),
    request: taskRequest,
  }),
  task_claimed: z.object({ daemon: z.string() }),
  task_released: z.object({ daemon: z.string(), reason: z.string() }),
  /**
   * The daemon let go of a task that only waits: for a person, for a provider that is away, or for its turn under a limit.
   * `wait_ms`: after how long it is looked at again at the latest; `until`: the same as a time of the journal's clock, RFC 3339.
   */
  task_suspended: z.object({
    daemon: z.string(),
    waits_for: z.enum(['person', 'provider', 'limit']),
    wait_ms: count,
    until: z.string(),
    reason: z.string(),
  }),
  /**
   * The `events` events behind this one are copies of those that a retry keeps of the log of `task_id`, as that log ended at `taskseq`
   * with `hash`. `previous_task_id`: the task before that one in the session, whose history the runs continue.
   */
  task_log_copied: z.object({ task_id: taskId, taskseq: z.number().int().positive(), hash: z.string(), previous_task_id: taskId.nullable(), events: count }),
  task_cancel_requested: z.object({ reason: z.string() }),
  task_dead_lettered: z.object({ claims: count }),
  task_completed: taskResult,
  task_incomplete: taskResult,
  task_failed: taskResult,
  task_cancelled: taskResult,

  // A run of one AgentLoop.
  run_started: z.object({
    run_id: runId,
    parent_run_id: runId.nullable(),
    attempt_index: z.number().int().positive(),
    agent_name: z.string(),
    team_run_id: teamRunId.nullable(),
    node_id: z.string().nullable(),
    source: z.string(),
    max_tool_iterations: z.number().int().positive(),
    tools: z.array(z.string()),
  }),
  tool_scope_applied: z.object({ allowed: z.array(z.string()), effective: z.array(z.string()), dropped: z.array(z.string()) }),
  /** The SkillAssembler looked for a skill: what recall found, what the model chose of it; `failure` when it could not be asked. */
  skill_selection_recorded: z.object({
    query: z.string(),
    recall: z.enum(['embedding', 'lexical']),
    candidates: z.array(z.object({ name: z.string(), score: z.number() })),
    chosen: z.array(z.string()),
    usage,
    provider_name: z.string().nullable(),
    model: z.string().nullable(),
    failure: failure.nullable(),
    copied_from: copiedFrom.optional(),
  }),
  skill_activation_snapshotted: z.object({
    skills: z.array(z.object({ name: z.string(), sha256: z.string(), content: z.string() })),
  }),
  /** `context`: what each part of the first prompt costs, in estimated tokens. */
  system_prompt_snapshotted: z.object({ content: z.string(), context: z.array(contextPart).optional() }),
  user_message_added: z.object({ content: z.string() }),
  execution_mode_selected: z.object({
    task_id: taskId,
    attempt_index: z.number().int().positive(),
    execution_mode: z.enum(['team', 'single']),
    routing_source: z.literal('main_agent_first_turn'),
    primary_template_skill: z.string(),
    ignored_template_skills: z.array(z.string()),
    workflow_tool: z.string().nullable(),
    content: z.null(),
  }),
  /** `retry_in_ms`: 0 when the fallback is asked at once, `null` when nobody is asked again. `duration_ms`: what the try took. */
  provider_call_failed: z.object({
    failure,
    tries: z.number().int().positive(),
    retry_in_ms: count.nullable(),
    status: z.number().nullable(),
    provider_name: z.string().optional(),
    duration_ms: count.optional(),
  }),
  /**
   * The conversation was too long for the model. From here on these tool results are told to it as references only, and the
   * oldest `history_messages_dropped` messages of the session's history not at all; absent: as many as before.
   */
  context_compacted: z.object({
    results: z.array(z.object({ call_id: z.string(), tool_name: z.string(), chars: count, kept_chars: count.optional() })),
    history_messages_dropped: count.optional(),
  }),
  /** It was too long still. From here on this summary stands for the `messages_dropped` messages after the run's own. */
  context_summarized: z.object({
    content: z.string(),
    messages_dropped: z.number().int().positive(),
    usage,
    provider_name: z.string(),
    model: z.string(),
    copied_from: copiedFrom.optional(),
  }),
  assistant_message_added: z.object({
    content: z.string().nullable(),
    tool_calls: z.array(toolCall),
    finish_reason: z.string(),
    usage,
    provider_name: z.string(),
    model: z.string(),
    response_id: z.string().nullable(),
    duration_ms: count,
    copied_from: copiedFrom.optional(),
  }),
  /** A call the graph asks for, without a model: the run of a tool node. */
  tool_call_requested: z.object({ call: toolCall }),
  /** The call waits for a person. `subject`: what it would act on, as permission patterns see it; `rule`: which one asks. */
  approval_requested: z.object({ call_id: z.string(), tool_name: z.string(), subject: z.string(), rule: z.string().nullable() }),
  approval_granted: z.object({ call_id: z.string(), by: z.string() }),
  approval_denied: z.object({ call_id: z.string(), by: z.string(), reason: z.string() }),
  tool_call_started: z.object({ call_id: z.string(), tool_name: z.string(), idempotent: z.boolean() }),
  tool_result_recorded: z.object({
    call_id: z.string(),
    tool_name: z.string(),
    success: z.boolean(),
    content: z.string(),
    /** A code when `success` is false: `tool_crash`, `invalid_arguments`, `in_doubt`, … */
    error: z.string().nullable(),
    duration_ms: count,
  }),
  /** What stood at the paths a node's evidence names, looked up in the run's workspace after its last answer. */
  workspace_files_checked: z.object({ files: z.array(foundFile) }),
  run_completed: z.object({ finish_reason: z.string(), tool_iterations: count, usage }),
  run_failed: z.object({ failure, tool_iterations: count, usage }),
  run_cancelled: z.object({ reason: z.string(), tool_iterations: count, usage }),
  /** `suspect_tools`: the tools whose calls were under way in the thread that was lost; absent: none. */
  run_restarted: z.object({ failure, restarts: z.number().int().positive(), suspect_tools: z.array(z.string()).optional() }),

  // A team run.
  task_team_run_started: z.object({
    team_run_id: teamRunId,
    /** The run that called for the team, and its call; `null` for a task that is a workflow without a root agent. */
    run_id: runId.nullable(),
    call_id: z.string().nullable(),
    graph: executionGraph,
    concurrent_nodes_max: z.number().int().positive(),
  }),
  /** `input`: what the graph's program gave the node; `null` when it starts as it stands in the graph. */
  node_started: teamNode.extend({ run_id: runId, input: jsonObject.nullable() }),
  /** A code node's outcome: it completed, with this output. */
  node_computed: teamNode.extend({ output: z.string() }),
  node_skipped: teamNode.extend({ reason: z.string() }),
  /** The graph grew, by what followed from `node_id`. `edges` lead to nodes that have not started. */
  graph_extended: teamNode.extend({
    nodes: z.array(executionNode),
    edges: z.array(z.tuple([z.string(), z.string()])),
    outputs: z.array(z.string()).min(1),
    output: z.string().nullable(),
  }),
  node_evidence_evaluated: teamNode.extend({ run_id: runId, passed: z.boolean(), checks: z.array(evidenceCheck) }),
  node_completed: teamNode.extend({ run_id: runId }),
  /** `run_id` is `null` for a node that failed before it could start. */
  node_failed: teamNode.extend({ run_id: runId.nullable(), failure }),
  node_blocked: teamNode.extend({ cause_node_id: z.string() }),
  node_cancel_requested: teamNode.extend({ reason: z.string() }),
  node_cancelled: teamNode.extend({ reason: z.string() }),
  /** Something worth knowing that failed nothing: a plan that had to be repaired, a member it named that does not exist. */
  team_diagnostic_recorded: teamNode.extend({ code: z.string(), message: z.string() }),
  /** `run_id`: the run that changed it; `null` when the graph's program did. */
  shared_state_changed: z.object({ team_run_id: teamRunId, run_id: runId.nullable(), change: sharedStateChange }),
  task_team_run_completed: z.object({ team_run_id: teamRunId, outcome: z.literal('complete') }),
  task_team_run_failed: z.object({ team_run_id: teamRunId, outcome: z.enum(['incomplete', 'cancelled']), message: z.string() }),
} as const satisfies Record<string, z.ZodType>

export type EventType = keyof typeof eventData
export type DataOf<T extends EventType> = z.infer<(typeof eventData)[T]>

/** What happened, before the journal gives it its place. `runId` names the run it belongs to, if any. */
export type DomainEvent = { [T in EventType]: { readonly type: T; readonly runId?: string; readonly data: DataOf<T> } }[EventType]

/** Hidden events are for the record; they never become part of a prompt or a transcript (SE-07). */
export const visibleEventTypes: ReadonlySet<EventType> = new Set(['user_message_added', 'assistant_message_added', 'tool_result_recorded'])

export const terminalTaskEvents = ['task_completed', 'task_incomplete', 'task_failed', 'task_cancelled'] as const
export type TerminalTaskEvent = (typeof terminalTaskEvents)[number]

export function isTerminalTaskEvent(type: string): type is TerminalTaskEvent {
  return (terminalTaskEvents as readonly string[]).includes(type)
}

/** One event, written `event('task_claimed', { daemon })` or, for a run's, `event('run_started', data, runId)`. */
export function event<T extends EventType>(type: T, data: DataOf<T>, ofRun?: string): DomainEvent {
  return (ofRun === undefined ? { type, data } : { type, runId: ofRun, data }) as DomainEvent
}
