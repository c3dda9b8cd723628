// Defines the tables of the read model. The SQL of each operation is beside the operation. Every row is a
// function of the journal alone: no clock, no random key. `task_key` numbers the logs in the order in which
// the stream first named them. A changed table needs a higher `schemaVersion`. Older files are built again.
import type { CheckAnswer } from '@beaver/contracts'
import type { UsagePart } from '@beaver/core'
import type { FailureClass } from '@beaver/core/supervision'
import {
  count,
  initially,
  integer,
  integerOrNull,
  numbered,
  onlyRow,
  primary,
  sum,
  type RowOf,
  table,
  text,
  textOrNull,
} from './table.ts'

export const schemaVersion = 22

/**
 * The `application_id` of a Beaver read model ("BVRM"). A file of another program is never taken for a read
 * model.
 */
export const applicationId = 0x4256524d

/** The parts of a total, such as the tokens of a cache, are counted in the total, too. */
const usageColumns = {
  input_tokens: sum(),
  output_tokens: sum(),
  calls: sum(),
  ...({
    cached_input_tokens: sum(),
    cache_write_tokens: sum(),
    reasoning_tokens: sum(),
    audio_input_tokens: sum(),
    audio_output_tokens: sum(),
    unknown_calls: sum(),
    estimated_calls: sum(),
  } satisfies Record<UsagePart, unknown>),
}
export const usageCounts = Object.keys(usageColumns) as readonly (keyof typeof usageColumns)[]

/** By what kind of name a list finds a task. */
export type TaskNameKind = 'workflow' | 'skill' | 'profile' | 'model' | 'failure'

/**
 * The tables with rows of their own, in the order of a dump. The full-text index is made from `transcript`.
 */
export const tables = {
  /** Where the projector stands: one row, written with the rows it accounts for. */
  checkpoint: table('checkpoint', ['id'], {
    id: onlyRow(),
    stream: text(),
    sequence: integer(),
    events: integer(),
  }),
  /**
   * `unsigned` counts the records without a signature from before the journal had an operator. `daemon` is
   * the owner: null before the first claim, after a release and while the task waits without a daemon. What
   * it waits for then is in `waits_for` (person, provider, limit or client), `wake_at` and `wait_reason`. The events
   * of a retry up to `copied_to` are copies. `budgets` are those that bound it, as JSON, with what was given
   * more.
   */
  tasks: table(
    'tasks',
    ['task_key'],
    {
      task_key: primary(integer()),
      tenant: text(),
      session_id: text(),
      task_id: text(),
      status: initially(text(), 'submitted'),
      text: textOrNull(),
      skill: textOrNull(),
      workspace: textOrNull(),
      source: textOrNull(),
      submitted_by: textOrNull(),
      user_id: textOrNull(),
      title: textOrNull(),
      workflow: textOrNull(),
      profile: textOrNull(),
      previous_task_id: textOrNull(),
      retry_of: textOrNull(),
      submitted_at: textOrNull(),
      started_at: textOrNull(),
      ended_at: textOrNull(),
      last_event_at: textOrNull(),
      daemon: textOrNull(),
      waits_for: textOrNull(),
      wake_at: textOrNull(),
      wait_reason: textOrNull(),
      claims: count(),
      cancel_reason: textOrNull(),
      dead_lettered: count(),
      budgets: textOrNull(),
      agents: count(),
      input_tokens: count(),
      output_tokens: count(),
      calls: count(),
      provider: textOrNull(),
      model: textOrNull(),
      simulated: integerOrNull(),
      failure_class: textOrNull<FailureClass>(),
      failure_message: textOrNull(),
      final_output: textOrNull(),
      outputs: textOrNull(),
      root_run_id: textOrNull(),
      epoch: count(),
      last_taskseq: count(),
      head_hash: text(),
      chain_ok: initially(integer(), 1),
      unsigned: count(),
      copied_to: count(),
      /** How many events are in an archive: no other row knows of them. */
      archived_events: count(),
    },
    { constraint: 'unique (tenant, session_id, task_id)' },
  ),
  /**
   * The sessions, with their first and their newest task. `user_id` is that of the newest task that was
   * submitted.
   */
  sessions: table('sessions', ['session_id', 'tenant'], {
    tenant: text(),
    session_id: text(),
    user_id: textOrNull(),
    tasks: integer(),
    first_key: integer(),
    newest_key: integer(),
  }),
  /**
   * The names by which a list finds a task: each workflow and skill that it asked for or that ran in it, its
   * profile, each model that answered it, and the class of its failure. `user_id` is the owner of the task.
   */
  task_names: table(
    'task_names',
    ['task_key', 'kind', 'name'],
    { task_key: integer(), kind: text<TaskNameKind>(), name: text(), user_id: textOrNull() },
    { withoutRowid: true },
  ),
  /**
   * Between which keys the tasks are that were submitted in an hour (YYYY-MM-DDTHH, UTC). The keys are almost in
   * the order of time, but the clocks of daemons differ.
   */
  task_hours: table(
    'task_hours',
    ['hour'],
    { hour: primary(text()), first_key: integer(), last_key: integer() },
    { withoutRowid: true },
  ),
  /** How many tasks there are of each status: counting them takes longer than a query may. */
  task_counts: table('task_counts', ['status'], { status: primary(text()), n: integer() }),
  /**
   * Every event as it was journaled. `data` is JSON text; null when its blob is missing. `type` is short
   * (`run_started`) when this version knows it, else as on the wire.
   */
  events: table('events', ['task_key', 'taskseq'], {
    task_key: integer(),
    taskseq: integer(),
    epoch: integer(),
    type: text(),
    run_id: textOrNull(),
    time: text(),
    data: textOrNull(),
    blob_sha256: textOrNull(),
    hash: text(),
    sequence: integer(),
  }),
  /**
   * `reserved_taskseq`: the place of the reservation for a call of a model that may be under way.
   * `changed_taskseq`: the last event of the run.
   */
  runs: table('runs', ['task_key', 'run_id'], {
    task_key: integer(),
    run_id: text(),
    parent_run_id: textOrNull(),
    agent_name: text(),
    team_run_id: textOrNull(),
    node_id: textOrNull(),
    attempt_index: integer(),
    source: text(),
    status: text(),
    started_at: text(),
    started_taskseq: integer(),
    ended_at: textOrNull(),
    max_tool_iterations: integer(),
    tool_iterations: count(),
    restarts: count(),
    input_tokens: count(),
    output_tokens: count(),
    calls: count(),
    provider: textOrNull(),
    model: textOrNull(),
    execution_mode: textOrNull(),
    skills: initially(text(), '[]'),
    skill_selection: textOrNull(),
    context: textOrNull(),
    reserved_taskseq: integerOrNull(),
    changed_taskseq: count(),
    results_compacted: count(),
    history_dropped: count(),
    summaries: count(),
    finish_reason: textOrNull(),
    output: textOrNull(),
    output_taskseq: integerOrNull(),
    failure_class: textOrNull<FailureClass>(),
    failure_message: textOrNull(),
  }),
  /**
   * `run_id` and `call_id` are null for a task that is a workflow. `nodes`, `outputs` and `output` are those
   * of the graph as it stands now; it may have grown since the start.
   */
  teams: table('teams', ['task_key', 'team_run_id'], {
    task_key: integer(),
    team_run_id: text(),
    run_id: textOrNull(),
    call_id: textOrNull(),
    workflow: text(),
    task: text(),
    nodes: integer(),
    nodes_at_start: integer(),
    concurrent_nodes_max: integer(),
    outputs: text(),
    output: textOrNull(),
    shared_state: textOrNull(),
    shared_state_changes: count(),
    status: text(),
    message: textOrNull(),
    started_at: text(),
    started_taskseq: integer(),
    ended_at: textOrNull(),
  }),
  /**
   * `added_after` names the node the graph grew after; null for what stood in it from the start. `output` is
   * a code node's. `changed_taskseq`: the last event that changed this row.
   */
  team_nodes: table('team_nodes', ['task_key', 'team_run_id', 'node_id'], {
    task_key: integer(),
    team_run_id: text(),
    node_id: text(),
    declared_index: integer(),
    kind: text(),
    depends_on: text(),
    quorum: integerOrNull(),
    deadline_ms: integerOrNull(),
    added_after: textOrNull(),
    instruction: textOrNull(),
    use_skill: textOrNull(),
    skill_query: textOrNull(),
    allowed_tool_names: textOrNull(),
    tool: textOrNull(),
    arguments: textOrNull(),
    operation: textOrNull(),
    status: initially(text(), 'waiting'),
    run_id: textOrNull(),
    input: textOrNull(),
    output: textOrNull(),
    skip_reason: textOrNull(),
    cancel_reason: textOrNull(),
    evidence_passed: integerOrNull(),
    evidence_taskseq: integerOrNull(),
    failure_class: textOrNull<FailureClass>(),
    failure_message: textOrNull(),
    cause_node_id: textOrNull(),
    started_at: textOrNull(),
    ended_at: textOrNull(),
    changed_taskseq: count(),
  }),
  /**
   * A call is the place it was asked for: providers use the same call id again in a later answer. `approval`
   * is null where none was asked for, else requested, granted or denied.
   */
  tool_calls: table('tool_calls', ['task_key', 'asked_taskseq', 'call_index'], {
    task_key: integer(),
    asked_taskseq: integer(),
    call_index: integer(),
    run_id: textOrNull(),
    call_id: text(),
    tool: text(),
    arguments: textOrNull(),
    approval: textOrNull(),
    approval_subject: textOrNull(),
    approval_rule: textOrNull(),
    approval_hash: textOrNull(),
    /** JSON. */
    approval_preview: textOrNull(),
    approval_requested_at: textOrNull(),
    approval_requested_taskseq: integerOrNull(),
    approval_by: textOrNull(),
    /** On whose behalf. */
    approval_user: textOrNull(),
    approval_reason: textOrNull(),
    approval_decided_at: textOrNull(),
    /** The arguments with which the call was made, if a person changed them. */
    approval_arguments: textOrNull(),
    /** The place of its question that has no answer. */
    asking_taskseq: integerOrNull(),
    /** The place where it went to the client, which has not answered. */
    client_taskseq: integerOrNull(),
    idempotent: integerOrNull(),
    starts: count(),
    started_at: textOrNull(),
    ended_at: textOrNull(),
    duration_ms: integerOrNull(),
    success: integerOrNull(),
    error: textOrNull(),
    result: textOrNull(),
    result_taskseq: integerOrNull(),
  }),
  /** What running calls asked people. `question` is JSON; `action` is null until there is an answer. */
  questions: table('questions', ['task_key', 'taskseq'], {
    task_key: integer(),
    taskseq: integer(),
    run_id: textOrNull(),
    asked_taskseq: integer(),
    call_index: integer(),
    call_id: text(),
    tool: text(),
    question_index: integer(),
    question: text(),
    asked_at: text(),
    action: textOrNull(),
    answer: textOrNull(),
    answered_by: textOrNull(),
    answered_for: textOrNull(),
    reason: textOrNull(),
    answered_at: textOrNull(),
  }),
  /** `purpose`: answer, skill_selection or summary. */
  provider_calls: table('provider_calls', ['task_key', 'taskseq'], {
    task_key: integer(),
    taskseq: integer(),
    run_id: textOrNull(),
    purpose: initially(text(), 'answer'),
    time: text(),
    success: integer(),
    provider: textOrNull(),
    model: textOrNull(),
    response_id: textOrNull(),
    finish_reason: textOrNull(),
    duration_ms: integerOrNull(),
    input_tokens: integerOrNull(),
    output_tokens: integerOrNull(),
    failure_class: textOrNull<FailureClass>(),
    failure_message: textOrNull(),
    http_status: integerOrNull(),
    tries: integerOrNull(),
    retry_in_ms: integerOrNull(),
  }),
  /** What each run used of each model; a run nobody knows is ''. */
  model_usage: table('model_usage', ['task_key', 'run_id', 'provider', 'model'], {
    task_key: integer(),
    run_id: text(),
    provider: text(),
    model: text(),
    ...usageColumns,
  }),
  /**
   * The same for each day (UTC), tenant, user, workflow, skill and profile, so that a sum over many tasks
   * reads few rows. The rows of a model are side by side.
   */
  usage_by_day: table(
    'usage_by_day',
    ['day', 'tenant', 'provider', 'model', 'user_id', 'workflow', 'skill', 'profile'],
    {
      /** YYYY-MM-DD, UTC. */
      day: text(),
      tenant: text(),
      /** '': no user. */
      user_id: text(),
      /** The workflow of the team to which the run belongs. '': the run belongs to no team. */
      workflow: text(),
      /** The skills that the run had at the time of the call, with commas between them. '': none. */
      skill: text(),
      /** The profile that the request of the task names. '': it names none. */
      profile: text(),
      provider: text(),
      model: text(),
      ...usageColumns,
    },
    { withoutRowid: true },
  ),
  evidence_checks: table('evidence_checks', ['task_key', 'taskseq', 'check_index'], {
    task_key: integer(),
    taskseq: integer(),
    check_index: integer(),
    team_run_id: text(),
    node_id: text(),
    run_id: text(),
    field: text(),
    requirement: text(),
    status: text<CheckAnswer['status']>(),
    detail: text(),
    rests_on: text(),
  }),
  /** Worth knowing, and failed nothing. */
  team_diagnostics: table('team_diagnostics', ['task_key', 'taskseq'], {
    task_key: integer(),
    taskseq: integer(),
    team_run_id: text(),
    node_id: text(),
    code: text(),
    message: text(),
  }),
  /**
   * The requests that steer a task. Their texts are in `events`. `given_taskseq`: the message in which the
   * root agent was given the text.
   */
  steers: table('steers', ['task_key', 'taskseq'], {
    task_key: integer(),
    taskseq: integer(),
    request_id: text(),
    given_taskseq: integerOrNull(),
  }),
  /** What the audit found. `record` holds a record that has no place of its own in `events`. */
  audit_findings: table('audit_findings', ['finding_id'], {
    finding_id: numbered(),
    task_key: integer(),
    taskseq: integerOrNull(),
    kind: text(),
    message: text(),
    sequence: integer(),
    record: textOrNull(),
  }),
  /**
   * The entries of system logs, which are no tasks. `fault` says why a record does not follow the one before
   * it, and `untrusted` why its signature does not count. Neither is an event.
   */
  system_events: table('system_events', ['sequence', 'record_index'], {
    sequence: integer(),
    record_index: integer(),
    name: text(),
    taskseq: integer(),
    epoch: integer(),
    type: text(),
    source: text(),
    time: text(),
    data: textOrNull(),
    hash: text(),
    signature: textOrNull(),
    fault: textOrNull(),
    untrusted: textOrNull(),
  }),
  /** The tree over the journal (@beaver/core, tree/): one leaf for each message, up to `sequence`. */
  tree: table('tree', ['id'], { id: onlyRow(), sequence: integer() }),
  /** Up to 256 neighbouring hashes of a level of the tree, in base64. */
  tree_tiles: table(
    'tree_tiles',
    ['level', 'tile'],
    { level: integer(), tile: integer(), hashes: text() },
    { withoutRowid: true },
  ),
  /** Where the numbers of the stream jump: up to `sequence`, `missing` numbers belong to no message. */
  tree_gaps: table('tree_gaps', ['sequence'], { sequence: primary(integer()), missing: integer() }),
  /** The checkpoints of the system log, each compared with the tree. `fault` says why one does not fit. */
  signed_checkpoints: table('signed_checkpoints', ['sequence', 'record_index'], {
    sequence: integer(),
    record_index: integer(),
    time: text(),
    size: integer(),
    note: text(),
    fault: textOrNull(),
  }),
  /**
   * Messages of the journal that are no records. `subject` names one whose subject is none of Beaver's; such
   * a message has no log.
   */
  quarantine: table('quarantine', ['sequence'], {
    sequence: primary(integer()),
    tenant: textOrNull(),
    session_id: textOrNull(),
    task_id: textOrNull(),
    subject: textOrNull(),
    reason: text(),
    bytes: integer(),
    sha256: text(),
    excerpt: text(),
  }),
  /**
   * The visible transcript: what people and the model said, what tools answered, and what failed (the role
   * failure). `folded` is the text without accents; null where it is the same.
   */
  transcript: table('transcript', ['position'], {
    position: numbered(),
    task_key: integer(),
    taskseq: integer(),
    run_id: textOrNull(),
    role: text(),
    name: textOrNull(),
    text: text(),
    folded: textOrNull(),
  }),
}
export const tableNames = Object.keys(tables) as readonly (keyof typeof tables)[]

/**
 * How far the full-text index goes: one row. It is not a function of the journal alone (text-index.ts), and so
 * no part of a dump.
 */
export const textIndex = table('text_index', ['id'], { id: onlyRow(), position: integer() })

/** The tasks whose words the index `tasks_fts` does not have, or has as they were. It is no part of a dump either. */
export const unindexedTasks = table('unindexed_tasks', ['task_key'], { task_key: primary(integer()) })

const indexes = `
create index tasks_by_id on tasks (task_id);
create index tasks_by_session on tasks (session_id, task_key);
create index tasks_by_user on tasks (user_id, task_key) where user_id is not null;
create index tasks_open_by_session on tasks (tenant, session_id) where ended_at is null;
create index tasks_by_status on tasks (status, task_key);
create index tasks_open on tasks (tenant, last_event_at) where ended_at is null;
create index tasks_open_newest on tasks (task_key) where ended_at is null;
create index tasks_by_user_status on tasks (user_id, status, task_key) where user_id is not null;
create index tasks_open_by_user on tasks (user_id, task_key) where ended_at is null and user_id is not null;
create index tasks_by_workflow on tasks (workflow, task_key);
create index tasks_failed on tasks (task_key) where failure_class is not null;
create index tasks_failed_by_user on tasks (user_id, task_key) where failure_class is not null and user_id is not null;
create index task_names_by_name on task_names (kind, name, task_key);
create index task_names_by_user on task_names (user_id, kind, name, task_key) where user_id is not null;
create index tasks_open_by_owner on tasks (tenant, daemon, last_event_at) where ended_at is null;
create index tasks_waiting on tasks (task_key) where waits_for is not null;
create index tasks_broken on tasks (task_key) where chain_ok = 0;
create index tasks_by_retried on tasks (retry_of) where retry_of is not null;
create unique index sessions_by_newest on sessions (newest_key);
create index sessions_by_user on sessions (user_id, newest_key);
create index runs_reserved on runs (task_key) where reserved_taskseq is not null;
create index tool_calls_by_call on tool_calls (task_key, run_id, call_id);
create index tool_calls_approved on tool_calls (task_key, approval_requested_taskseq) where approval is not null;
create index tool_calls_open on tool_calls (task_key, run_id) where ended_at is null;
create index questions_open on questions (task_key) where action is null;
create index usage_by_day_of_user on usage_by_day (user_id, day);
create index evidence_checks_by_node on evidence_checks (task_key, team_run_id, node_id);
create index team_diagnostics_by_team on team_diagnostics (task_key, team_run_id);
create index audit_findings_by_task on audit_findings (task_key, finding_id);
create index system_events_by_name on system_events (name, sequence, record_index);
`

/**
 * The owner is in the index, so that a search for one user reads nothing of others: the first task of the user,
 * between marks; no user is 0.
 */
const fullText = `drop view if exists searched_texts;
create view searched_texts as select position, coalesce(folded, transcript.text) as text,
  '<' || coalesce((select min(first.task_key) from tasks as first where first.user_id = tasks.user_id), 0) || '>' as owner from transcript join tasks using (task_key);
create virtual table transcript_fts using fts5(text, owner, content='searched_texts', content_rowid='position', tokenize='trigram');
create virtual table tasks_fts using fts5(text, owner, content='', contentless_delete=1, tokenize='trigram');
`
/** The SQL that creates everything. */
export const schema = [
  ...[...Object.values(tables), textIndex, unindexedTasks].map((each) => each.create),
  indexes,
  fullText,
].join('\n')

export type TaskRow = RowOf<typeof tables.tasks>
export type SessionRow = RowOf<typeof tables.sessions>
export type RunRow = RowOf<typeof tables.runs>
export type CallRow = RowOf<typeof tables.tool_calls>
export type TeamRow = RowOf<typeof tables.teams>
export type CheckRow = RowOf<typeof tables.evidence_checks>
export type UsageRow = RowOf<typeof tables.model_usage>
export type DayUsageRow = RowOf<typeof tables.usage_by_day>

/** The names in `skills` of a run: a name alone, or with the mark that the skill is the workspace's own. */
export const skillNames = (json: string): string[] =>
  (JSON.parse(json) as readonly (string | { readonly name: string })[]).map((each) =>
    typeof each === 'string' ? each : each.name,
  )

/** The hour of a time, as `task_hours` has it. */
export const hourOf = (time: string): string => time.slice(0, 'YYYY-MM-DDTHH'.length)
