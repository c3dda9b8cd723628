// Every event that a journal may contain: its name and the shape of its data. Versions of a shape are defined
// in upcast.ts. Every event that was ever written stays readable: a change of a shape needs a step in
// upcast.ts. test/golden checks this. Field names are in snake_case, because they are stored data. A fact is
// recorded once. For example, an output is the content of an `assistant_message_added` and is not repeated
// elsewhere.
import { z } from 'zod'
import { providerState, toolCall, usage } from '../chat.ts'
import { evidenceCheck, evidenceRequirement } from '../evidence/requirement.ts'
import { outputFault } from '../evidence/structured-output.ts'
import { failure } from '../failure/failure-class.ts'
import { executionGraph, executionNode } from '../graph/execution-graph.ts'
import { runId, sessionId, taskId, teamRunId } from '../ids.ts'
import { jsonObject, jsonValue } from '../json.ts'
import { imagePart } from '../images/image-part.ts'
import { modelSettings } from '../model-settings.ts'
import { callPreview, foundFile } from './call-preview.ts'
import { question, questionAnswer } from '../question/question.ts'
import { taint } from '../taint/taint.ts'
import { sharedStateChange } from '../team/shared-state.ts'

const count = z.number().int().nonnegative()

/** What a client asks for. */
export const taskRequest = z.object({
  text: z.string(),
  workspace: z.string(),
  skill: z.string().nullable(),
  source: z.string(),
  /**
   * The workflow that the task runs without a root agent. If it is absent, a root agent works on the task.
   */
  workflow: z.object({ name: z.string(), arguments: jsonObject }).optional(),
  /** The profile of the root agent. Default: the default profile. */
  profile: z.string().optional(),
  /** Whether answers are streamed and published live, for a client that follows the task. Default: false. */
  stream: z.boolean().optional(),
  /**
   * What happens to calls that need an approval. `refuse` means that nobody can answer. Default: the daemon's
   * configuration.
   */
  approvals: z.enum(['wait', 'refuse']).optional(),
  /** For the record only: the client's name for the task, and the user for whom the task is. */
  title: z.string().optional(),
  user_id: z.string().optional(),
  /** The time zone of the user, such as `Europe/Zurich`. Default: not known. */
  time_zone: z.string().optional(),
  /** What the final text of the task must rest on. Default: nothing. */
  required_evidence: z.array(evidenceRequirement).optional(),
  /** The JSON Schema of the final answer. Default: any text. */
  output_schema: jsonObject.optional(),
  /**
   * The model that the root agent asks, and how, before what its profile and the endpoint say, field by
   * field. Default: as they say.
   */
  model: z.string().optional(),
  model_settings: modelSettings.optional(),
  /** The only skills that the agents of the task may have. Default: all that are loaded. */
  skills: z.array(z.string()).optional(),
  /** The ended task that this task retries, with the results that are kept of it. */
  retry_of: taskId.optional(),
  /** What the client asks of the root agent beside its task, such as a style. Default: nothing. */
  instructions: z.string().optional(),
  /**
   * A conversation that the client kept, oldest first. The root agent is given it after the history of the
   * session. Default: none.
   */
  history: z.array(z.object({ role: z.enum(['user', 'assistant']), content: z.string() })).optional(),
  /**
   * The earlier task of the session with which the history that the root agent is given ends. Default: the
   * newest one.
   */
  history_until: taskId.optional(),
  /**
   * The images that the root agent is shown with its task, as they were when the task was accepted. Default:
   * none.
   */
  images: z.array(imagePart).optional(),
})
export type TaskRequest = z.infer<typeof taskRequest>

/** The output of one node of a graph. */
export const nodeOutput = z.object({ node_id: z.string(), output: z.string() })
export type NodeOutput = z.infer<typeof nodeOutput>

/** The result of an ended task. `outputs` are in declared order. */
export const taskResult = z.object({
  final_output: z.string(),
  outputs: z.array(nodeOutput),
  usage,
  provider: z.string().nullable(),
  model: z.string().nullable(),
  simulated: z.boolean(),
  failure: failure.nullable(),
  /**
   * The verdict on each requirement of the task. If it is absent, the task has none, or it ended without a
   * text.
   */
  evidence: z.array(evidenceCheck).optional(),
  /**
   * The answer as a value, if the task completed and the answer had to fit a JSON Schema. `final_output` is
   * its canonical JSON.
   */
  output: jsonValue.optional(),
  /** The labels of the answer. If it is absent, the answer has none. */
  taint: taint.optional(),
})
export type TaskResult = z.infer<typeof taskResult>

/**
 * The result of a task that failed. `unfit_output`: the last text of the agent, if the task failed because of
 * this text: it does not fit its JSON Schema (`output_invalid`), or does not rest on the required evidence
 * (`evidence_missing`). It is no answer, but it is paid for.
 */
export const failedResult = taskResult.extend({ unfit_output: z.string().optional() })
export type FailedResult = z.infer<typeof failedResult>

const contextPart = z.object({
  part: z.enum([
    'base',
    'session',
    'execution',
    'profile',
    'memory',
    'routing',
    'skills',
    'history',
    'message',
    'tools',
  ]),
  tokens_estimated: count,
})
/** The size of one part of the first prompt, in estimated tokens. */
export type ContextPart = z.infer<typeof contextPart>

/**
 * The event that this event is a copy of. The copy has a usage of 0, because the first task paid for the
 * call.
 */
const copiedFrom = z.object({ task_id: taskId, taskseq: z.number().int().positive() })

const teamNode = z.object({ team_run_id: teamRunId, node_id: z.string() })

/**
 * Who asked, as the connection said, and for which user. A journal of an earlier version says nothing about
 * it. The name is as true as the permissions of the NATS server: it is the name under which the server let
 * the request pass.
 */
const asker = { by: z.string().optional(), user_id: z.string().optional() }
/** Who asked, and for which user. */
export type Asker = { readonly by?: string | undefined; readonly user_id?: string | undefined }

/** The shape of the data of each event, by event type. */
export const eventData = {
  // Events of a task.
  task_submitted: z.object({
    task_id: taskId,
    session_id: sessionId,
    tenant: z.string(),
    /**
     * The task that was accepted before this one in the same session. It must end before this task starts
     * (D-47).
     */
    previous_task_id: taskId.nullable(),
    request: taskRequest,
    by: asker.by,
  }),
  task_claimed: z.object({ daemon: z.string() }),
  task_released: z.object({ daemon: z.string(), reason: z.string() }),
  /**
   * The daemon let go of a task that only waits: for a person, for a provider that is away, or for its turn
   * under a rate limit. `wait_ms`: a daemon looks at the task again after this time at the latest. `until`:
   * that moment by the journal's clock, in RFC 3339.
   */
  task_suspended: z.object({
    daemon: z.string(),
    waits_for: z.enum(['person', 'provider', 'limit']),
    wait_ms: count,
    until: z.string(),
    reason: z.string(),
  }),
  /**
   * The next `events` events are copies. They are what a retry keeps of the log of `task_id`, which ended at
   * `taskseq` with `hash`. `previous_task_id`: the task that came before `task_id` in the session; the runs
   * continue its history.
   */
  task_log_copied: z.object({
    task_id: taskId,
    taskseq: z.number().int().positive(),
    hash: z.string(),
    previous_task_id: taskId.nullable(),
    events: count,
  }),
  task_cancel_requested: z.object({ reason: z.string(), ...asker }),
  /**
   * Somebody steers the task. The root agent is given the text before its next request to the model. A
   * repeated request has the same `request_id`.
   */
  task_steer_requested: z.object({ request_id: z.string(), text: z.string(), ...asker }),
  task_dead_lettered: z.object({ claims: count }),
  task_completed: taskResult,
  task_incomplete: taskResult,
  task_failed: failedResult,
  task_cancelled: taskResult,

  // Events of a run of one AgentLoop.
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
    /** The name of its model in the configuration. If it is absent, the run asks the main model. */
    model: z.string().optional(),
    /**
     * How the run asks its model, beyond what the endpoint sets. If it is absent, it asks as the endpoint
     * sets.
     */
    model_settings: modelSettings.optional(),
    /** The JSON Schema of the run's final answer. If it is absent, any text is an answer. */
    output_schema: jsonObject.optional(),
    /** The labels of what the run is given. If it is absent, it is given a person's words alone. */
    taint: taint.optional(),
  }),
  tool_scope_applied: z.object({
    allowed: z.array(z.string()),
    effective: z.array(z.string()),
    dropped: z.array(z.string()),
  }),
  /**
   * Tools that the run's requests to this provider lack from now on, because it refuses their schemas.
   * `reason`: what the provider said.
   */
  tools_left_out: z.object({
    provider_name: z.string(),
    tools: z.array(z.object({ name: z.string(), reason: z.string() })).min(1),
  }),
  /**
   * The SkillAssembler looked for a skill. `candidates` were found by recall, and the model chose from them.
   * `failure`: the reason why the model could not be asked. `failed_calls`: calls before that which were paid
   * and gave no choice.
   */
  skill_selection_recorded: z.object({
    query: z.string(),
    recall: z.enum(['embedding', 'lexical']),
    candidates: z.array(z.object({ name: z.string(), score: z.number() })),
    chosen: z.array(z.string()),
    usage,
    provider_name: z.string().nullable(),
    model: z.string().nullable(),
    failure: failure.nullable(),
    failed_calls: z.array(z.object({ usage, provider_name: z.string(), model: z.string() })).optional(),
    copied_from: copiedFrom.optional(),
  }),
  /** `from_workspace`: the skill was found in the workspace of the task, and nobody configured it. */
  skill_activation_snapshotted: z.object({
    skills: z.array(
      z.object({
        name: z.string(),
        sha256: z.string(),
        content: z.string(),
        from_workspace: z.boolean().optional(),
      }),
    ),
  }),
  /** `context`: the estimated tokens of each part of the first prompt. */
  system_prompt_snapshotted: z.object({ content: z.string(), context: z.array(contextPart).optional() }),
  /**
   * `steer_request_id`: the message is the text of that request to steer the task. If it is absent, the
   * message is the one with which the run began.
   */
  user_message_added: z.object({
    content: z.string(),
    steer_request_id: z.string().optional(),
    images: z.array(imagePart).optional(),
  }),
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
  /** `retry_in_ms`: 0 if the next model of the route is asked at once, `null` if no provider is asked again. `duration_ms`: how long the try took. `usage`, `model`: what is paid of an answer that
   * is of no use; absent: nothing. */
  provider_call_failed: z.object({
    failure,
    tries: z.number().int().positive(),
    retry_in_ms: count.nullable(),
    status: z.number().nullable(),
    provider_name: z.string().optional(),
    duration_ms: count.optional(),
    usage: usage.optional(),
    model: z.string().optional(),
  }),
  /**
   * The conversation was too long for the model. From here on, the model gets only references to these tool
   * results, and it does not get the oldest `history_messages_dropped` messages of the session's history. If
   * that field is absent, the number does not change.
   */
  context_compacted: z.object({
    results: z.array(
      /**
       * `team`: the result is that of a team, which is read again by the id of the call, because the call
       * again would run the team again.
       */
      z.object({
        call_id: z.string(),
        tool_name: z.string(),
        chars: count,
        kept_chars: count.optional(),
        team: z.boolean().optional(),
      }),
    ),
    /** Calls whose arguments the model no longer receives. */
    arguments: z.array(z.object({ call_id: z.string(), tool_name: z.string(), chars: count })).optional(),
    history_messages_dropped: count.optional(),
    /**
     * No summary could be had: a note takes the place of so many messages that follow the run's own first
     * message.
     */
    messages_dropped: z.number().int().positive().optional(),
    outputs: z
      .array(z.object({ index: count, node_id: z.string().optional(), chars: count, kept_chars: count }))
      .optional(),
    /**
     * Images that the model is no longer shown. `call_id`: of the result that had it; `null` for the message
     * with which the run began.
     */
    images: z.array(z.object({ call_id: z.string().nullable(), sha256: z.string() })).optional(),
  }),
  /**
   * The conversation was still too long. This summary replaces the `messages_dropped` messages that follow
   * the run's own first message.
   */
  context_summarized: z.object({
    content: z.string(),
    messages_dropped: z.number().int().positive(),
    usage,
    provider_name: z.string(),
    model: z.string(),
    copied_from: copiedFrom.optional(),
  }),
  /**
   * A model was asked for a summary, and its answer is none. `reason`: why. The conversation stays as it was.
   */
  summary_refused: z.object({
    reason: z.string(),
    usage,
    provider_name: z.string(),
    model: z.string(),
    copied_from: copiedFrom.optional(),
  }),
  /**
   * `provider_state`: what goes back to this provider with the answer; only an answer with tool calls has it.
   * `delivered_from`: no model wrote this answer. It is the final output of that team, which the call
   * delivered to the user (D-61).
   */
  assistant_message_added: z.object({
    content: z.string().nullable(),
    tool_calls: z.array(toolCall),
    finish_reason: z.string(),
    usage,
    provider_name: z.string(),
    model: z.string(),
    response_id: z.string().nullable(),
    duration_ms: count,
    provider_state: providerState.optional(),
    copied_from: copiedFrom.optional(),
    delivered_from: teamRunId.optional(),
  }),
  /** The last answer does not fit the JSON Schema of the run. The model is asked once to write it again. */
  output_rejected: z.object({ faults: z.array(outputFault).min(1) }),
  /** The graph asks for a call, without a model. Only the run of a tool node has this event. */
  tool_call_requested: z.object({ call: toolCall }),
  /**
   * The call waits for a person. `subject`: what the call would act on, in the form that permission patterns
   * match. `rule`: the rule that asks. `reason`: why the call asks because of what the run has read.
   * `call_hash`: over the tool, its arguments and what the call would change. Absent: written by an older
   * version.
   */
  approval_requested: z.object({
    call_id: z.string(),
    tool_name: z.string(),
    subject: z.string(),
    rule: z.string().nullable(),
    reason: z.string().optional(),
    call_hash: z.string().optional(),
    preview: callPreview.optional(),
  }),
  /**
   * `arguments`: the arguments as the person changed them, the text of a JSON object. The call is made with
   * them. Absent: they were not changed.
   */
  approval_granted: z.object({
    call_id: z.string(),
    by: z.string(),
    call_hash: z.string().optional(),
    arguments: z.string().optional(),
    user_id: asker.user_id,
  }),
  approval_denied: z.object({
    call_id: z.string(),
    by: z.string(),
    call_hash: z.string().optional(),
    reason: z.string(),
    user_id: asker.user_id,
  }),
  tool_call_started: z.object({ call_id: z.string(), tool_name: z.string(), idempotent: z.boolean() }),
  tool_result_recorded: z.object({
    call_id: z.string(),
    tool_name: z.string(),
    success: z.boolean(),
    content: z.string(),
    /** A code if `success` is false: `tool_crash`, `invalid_arguments`, `in_doubt`, … */
    error: z.string().nullable(),
    duration_ms: count,
    /** The labels of the result. If it is absent, the result is the user's own text. */
    taint: taint.optional(),
    /** What the call showed to the model. */
    images: z.array(imagePart).optional(),
  }),
  /**
   * A call that has begun asks a person. A call asks one question after the other; `question_index` numbers
   * them from 0.
   */
  question_asked: z.object({ call_id: z.string(), tool_name: z.string(), question_index: count, question }),
  /** `by`: who answered, or `beaver` if nobody could or did. `reason`: why there is no content. */
  question_answered: z.object({
    call_id: z.string(),
    question_index: count,
    answer: questionAnswer,
    by: z.string(),
    reason: z.string().optional(),
    user_id: asker.user_id,
  }),
  /**
   * What was found at the paths that the node's evidence names. They are looked up in the workspace after the
   * last answer of the run.
   */
  workspace_files_checked: z.object({ files: z.array(foundFile) }),
  run_completed: z.object({ finish_reason: z.string(), tool_iterations: count, usage }),
  run_failed: z.object({ failure, tool_iterations: count, usage }),
  run_cancelled: z.object({ reason: z.string(), tool_iterations: count, usage }),
  /**
   * `suspect_tools`: the tools that had calls under way in the lost thread. If it is absent, there were none.
   */
  run_restarted: z.object({
    failure,
    restarts: z.number().int().positive(),
    suspect_tools: z.array(z.string()).optional(),
  }),

  // Events of a team run.
  task_team_run_started: z.object({
    team_run_id: teamRunId,
    /**
     * The run and the call that started the team; `null` for a task that is a workflow without a root agent.
     */
    run_id: runId.nullable(),
    call_id: z.string().nullable(),
    graph: executionGraph,
    concurrent_nodes_max: z.number().int().positive(),
    /** The labels of the run that called the team. */
    taint: taint.optional(),
  }),
  /** `input`: what the graph's program gave the node; `null` if the node starts as the graph defines it. */
  node_started: teamNode.extend({ run_id: runId, input: jsonObject.nullable() }),
  /** A code node completed with this output. */
  node_computed: teamNode.extend({ output: z.string() }),
  node_skipped: teamNode.extend({ reason: z.string() }),
  /** The graph grew as a consequence of `node_id`. `edges` lead to nodes that have not started. */
  graph_extended: teamNode.extend({
    nodes: z.array(executionNode),
    edges: z.array(z.tuple([z.string(), z.string()])),
    outputs: z.array(z.string()).min(1),
    output: z.string().nullable(),
  }),
  node_evidence_evaluated: teamNode.extend({
    run_id: runId,
    passed: z.boolean(),
    checks: z.array(evidenceCheck),
  }),
  node_completed: teamNode.extend({ run_id: runId }),
  /** `run_id` is `null` for a node that failed before it could start. */
  node_failed: teamNode.extend({ run_id: runId.nullable(), failure }),
  node_blocked: teamNode.extend({ cause_node_id: z.string() }),
  node_cancel_requested: teamNode.extend({ reason: z.string(), ...asker }),
  node_cancelled: teamNode.extend({ reason: z.string() }),
  /**
   * A remark that is worth recording and fails nothing, such as a plan that was repaired, or an unknown
   * member that a plan named.
   */
  team_diagnostic_recorded: teamNode.extend({ code: z.string(), message: z.string() }),
  /**
   * `run_id`: the run that changed the state; `null` if the graph's program changed it. `taint`: the labels
   * of that run.
   */
  shared_state_changed: z.object({
    team_run_id: teamRunId,
    run_id: runId.nullable(),
    change: sharedStateChange,
    taint: taint.optional(),
  }),
  task_team_run_completed: z.object({ team_run_id: teamRunId, outcome: z.literal('complete') }),
  task_team_run_failed: z.object({
    team_run_id: teamRunId,
    outcome: z.enum(['incomplete', 'cancelled']),
    message: z.string(),
  }),
} as const satisfies Record<string, z.ZodType>

/** The name of an event type, without its version. */
export type EventType = keyof typeof eventData
/** The data of an event of this type. */
export type DataOf<T extends EventType> = z.infer<(typeof eventData)[T]>

/**
 * What happened, before the journal assigns its place. `runId` names the run to which the event belongs, if
 * there is one.
 */
export type DomainEvent = {
  [T in EventType]: { readonly type: T; readonly runId?: string; readonly data: DataOf<T> }
}[EventType]

/**
 * The events that may become part of a prompt or a transcript. All other events are hidden and are only for
 * the record (SE-07).
 */
export const visibleEventTypes: ReadonlySet<EventType> = new Set([
  'user_message_added',
  'assistant_message_added',
  'tool_result_recorded',
])

/** The events that end a task. If a log contains several, the first one counts. */
export const terminalTaskEvents = [
  'task_completed',
  'task_incomplete',
  'task_failed',
  'task_cancelled',
] as const
/** The type of an event that ends a task. */
export type TerminalTaskEvent = (typeof terminalTaskEvents)[number]

/**
 * Whether an event of this type ends its task.
 *
 * @example
 * isTerminalTaskEvent('task_completed') // => true
 * isTerminalTaskEvent('run_completed') // => false
 */
export function isTerminalTaskEvent(type: string): type is TerminalTaskEvent {
  return (terminalTaskEvents as readonly string[]).includes(type)
}

/**
 * Makes an event.
 *
 * @param ofRun the run to which the event belongs; absent: it belongs to the task or to a team
 * @example
 * event('task_claimed', { daemon: 'daemon_01k' }) // => { type: 'task_claimed', data: { daemon: 'daemon_01k' } }
 */
export function event<T extends EventType>(type: T, data: DataOf<T>, ofRun?: string): DomainEvent {
  return (ofRun === undefined ? { type, data } : { type, runId: ofRun, data }) as DomainEvent
}
