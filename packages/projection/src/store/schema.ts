// Defines the tables of the read model. The SQL of each operation is beside the operation. Every row is a
// function of the journal alone: no clock, no random key. `task_key` numbers the logs in the order in which
// the stream first named them. A changed table needs a higher `schemaVersion`. Older files are built again.
import { systemTables } from './system-tables.ts'

// The tables of what calls of models used, for schema.ts. usage-rows.ts mirrors them. The parts of a total,
// such as the tokens of a cache, are counted in the total, too.
const usageTables = `-- What each run used of each model; a run nobody knows is ''.
create table model_usage (
  task_key integer not null,
  run_id text not null,
  provider text not null,
  model text not null,
  input_tokens integer not null,
  output_tokens integer not null,
  calls integer not null,
  cached_input_tokens integer not null,
  cache_write_tokens integer not null,
  reasoning_tokens integer not null,
  audio_input_tokens integer not null,
  audio_output_tokens integer not null,
  unknown_calls integer not null,
  primary key (task_key, run_id, provider, model)
) strict;

-- The same for each day (UTC), tenant and user, so that a sum over many tasks reads few rows. No user is ''. The users of a model are side by side.
create table usage_by_day (
  day text not null,
  tenant text not null,
  user_id text not null,
  provider text not null,
  model text not null,
  input_tokens integer not null,
  output_tokens integer not null,
  calls integer not null,
  cached_input_tokens integer not null,
  cache_write_tokens integer not null,
  reasoning_tokens integer not null,
  audio_input_tokens integer not null,
  audio_output_tokens integer not null,
  unknown_calls integer not null,
  primary key (day, tenant, provider, model, user_id)
) strict, without rowid;
create index usage_by_day_of_user on usage_by_day (user_id, day);
`

// Defines the table of what running calls asked people.

const questionTables = `
-- What running calls asked people. \`question\` is JSON; \`action\` is null until there is an answer.
create table questions (
  task_key integer not null,
  taskseq integer not null,
  run_id text,
  asked_taskseq integer not null,
  call_index integer not null,
  call_id text not null,
  tool text not null,
  question_index integer not null,
  question text not null,
  asked_at text not null,
  action text,
  answer text,
  answered_by text,
  answered_for text,
  reason text,
  answered_at text,
  primary key (task_key, taskseq)
) strict;
create index questions_open on questions (task_key) where action is null;
`

export const schemaVersion = 16

/**
 * The `application_id` of a Beaver read model ("BVRM"). A file of another program is never taken for a read
 * model.
 */
export const applicationId = 0x4256524d

export const tables = `
-- Where the projector stands: one row, written with the rows it accounts for.
create table checkpoint (
  id integer primary key check (id = 1),
  stream text not null,
  sequence integer not null,
  events integer not null
) strict;

-- \`archived_events\` counts the events that are in an archive: no other row knows of them.
-- \`unsigned\` counts the records without a signature from before the journal had an operator. \`daemon\` is the owner: null before the first claim, after a release and while the task waits without a daemon. What it waits
-- for then is in \`waits_for\` (person, provider or limit), \`wake_at\` and \`wait_reason\`. The events of a retry up to \`copied_to\` are copies.
create table tasks (
  task_key integer primary key,
  tenant text not null,
  session_id text not null,
  task_id text not null,
  status text not null default 'submitted',
  text text,
  skill text,
  workspace text,
  source text,
  submitted_by text,
  user_id text,
  title text,
  workflow text,
  profile text,
  previous_task_id text,
  retry_of text,
  submitted_at text,
  started_at text,
  ended_at text,
  last_event_at text,
  daemon text,
  waits_for text,
  wake_at text,
  wait_reason text,
  claims integer not null default 0,
  cancel_reason text,
  dead_lettered integer not null default 0,
  agents integer not null default 0,
  input_tokens integer not null default 0,
  output_tokens integer not null default 0,
  calls integer not null default 0,
  provider text,
  model text,
  simulated integer,
  failure_class text,
  failure_message text,
  final_output text,
  outputs text,
  root_run_id text,
  epoch integer not null default 0,
  last_taskseq integer not null default 0,
  head_hash text not null,
  chain_ok integer not null default 1,
  unsigned integer not null default 0,
  copied_to integer not null default 0,
  archived_events integer not null default 0,
  unique (tenant, session_id, task_id)
) strict;
create index tasks_by_id on tasks (task_id);
create index tasks_by_session on tasks (session_id, task_key);
create index tasks_by_user on tasks (user_id, task_key) where user_id is not null;
create index tasks_open_by_session on tasks (tenant, session_id) where ended_at is null;
create index tasks_by_status on tasks (status, task_key);
create index tasks_open on tasks (tenant, last_event_at) where ended_at is null;
create index tasks_open_by_owner on tasks (tenant, daemon, last_event_at) where ended_at is null;
create index tasks_waiting on tasks (task_key) where waits_for is not null;
create index tasks_broken on tasks (task_key) where chain_ok = 0;
create index tasks_by_retried on tasks (retry_of) where retry_of is not null;

-- The sessions, with their first and their newest task. \`user_id\` is that of the newest task that was submitted.
create table sessions (
  tenant text not null,
  session_id text not null,
  user_id text,
  tasks integer not null,
  first_key integer not null,
  newest_key integer not null,
  primary key (session_id, tenant)
) strict;
create unique index sessions_by_newest on sessions (newest_key);
create index sessions_by_user on sessions (user_id, newest_key);

-- How many tasks there are of each status: counting them takes longer than a query may.
create table task_counts (
  status text primary key,
  n integer not null
) strict;

-- Every event as it was journaled. \`data\` is JSON text; null when its blob is missing. \`type\` is short (\`run_started\`)
-- when this version knows it, else as on the wire.
create table events (
  task_key integer not null,
  taskseq integer not null,
  epoch integer not null,
  type text not null,
  run_id text,
  time text not null,
  data text,
  blob_sha256 text,
  hash text not null,
  sequence integer not null,
  primary key (task_key, taskseq)
) strict;

create table runs (
  task_key integer not null,
  run_id text not null,
  parent_run_id text,
  agent_name text not null,
  team_run_id text,
  node_id text,
  attempt_index integer not null,
  source text not null,
  status text not null,
  started_at text not null,
  started_taskseq integer not null,
  ended_at text,
  max_tool_iterations integer not null,
  tool_iterations integer not null default 0,
  restarts integer not null default 0,
  input_tokens integer not null default 0,
  output_tokens integer not null default 0,
  calls integer not null default 0,
  provider text,
  model text,
  execution_mode text,
  skills text not null default '[]',
  skill_selection text,
  context text,
  results_compacted integer not null default 0,
  history_dropped integer not null default 0,
  summaries integer not null default 0,
  finish_reason text,
  output text,
  output_taskseq integer,
  failure_class text,
  failure_message text,
  primary key (task_key, run_id)
) strict;

-- \`run_id\` and \`call_id\` are null for a task that is a workflow. \`nodes\`, \`outputs\` and \`output\` are those of the graph as it
-- stands now; it may have grown since the start.
create table teams (
  task_key integer not null,
  team_run_id text not null,
  run_id text,
  call_id text,
  workflow text not null,
  task text not null,
  nodes integer not null,
  nodes_at_start integer not null,
  concurrent_nodes_max integer not null,
  outputs text not null,
  output text,
  shared_state text,
  shared_state_changes integer not null default 0,
  status text not null,
  message text,
  started_at text not null,
  started_taskseq integer not null,
  ended_at text,
  primary key (task_key, team_run_id)
) strict;

-- \`added_after\` names the node the graph grew after; null for what stood in it from the start. \`output\` is a code node's.
create table team_nodes (
  task_key integer not null,
  team_run_id text not null,
  node_id text not null,
  declared_index integer not null,
  kind text not null,
  depends_on text not null,
  quorum integer,
  deadline_ms integer,
  added_after text,
  instruction text,
  use_skill text,
  skill_query text,
  allowed_tool_names text,
  tool text,
  arguments text,
  operation text,
  status text not null default 'waiting',
  run_id text,
  input text,
  output text,
  skip_reason text,
  cancel_reason text,
  evidence_passed integer,
  evidence_taskseq integer,
  failure_class text,
  failure_message text,
  cause_node_id text,
  started_at text,
  ended_at text,
  primary key (task_key, team_run_id, node_id)
) strict;

-- A call is the place it was asked for: providers use the same call id again in a later answer. \`approval\` is null where none
-- was asked for, else requested, granted or denied.
create table tool_calls (
  task_key integer not null,
  asked_taskseq integer not null,
  call_index integer not null,
  run_id text,
  call_id text not null,
  tool text not null,
  arguments text,
  approval text,
  approval_subject text,
  approval_rule text,
  approval_hash text,
  approval_preview text,
  approval_requested_at text,
  approval_requested_taskseq integer,
  approval_by text,
  approval_user text,
  approval_reason text,
  approval_decided_at text,
  approval_arguments text,
  asking_taskseq integer,
  idempotent integer,
  starts integer not null default 0,
  started_at text,
  ended_at text,
  duration_ms integer,
  success integer,
  error text,
  result text,
  result_taskseq integer,
  primary key (task_key, asked_taskseq, call_index)
) strict;
create index tool_calls_by_call on tool_calls (task_key, run_id, call_id);
create index tool_calls_approved on tool_calls (task_key, approval_requested_taskseq) where approval is not null;
create index tool_calls_open on tool_calls (task_key, run_id) where ended_at is null;

-- \`purpose\`: answer, skill_selection or summary.
create table provider_calls (
  task_key integer not null,
  taskseq integer not null,
  run_id text,
  purpose text not null default 'answer',
  time text not null,
  success integer not null,
  provider text,
  model text,
  response_id text,
  finish_reason text,
  duration_ms integer,
  input_tokens integer,
  output_tokens integer,
  failure_class text,
  failure_message text,
  http_status integer,
  tries integer,
  retry_in_ms integer,
  primary key (task_key, taskseq)
) strict;

${usageTables}
create table evidence_checks (
  task_key integer not null,
  taskseq integer not null,
  check_index integer not null,
  team_run_id text not null,
  node_id text not null,
  run_id text not null,
  field text not null,
  requirement text not null,
  status text not null,
  detail text not null,
  rests_on text not null,
  primary key (task_key, taskseq, check_index)
) strict;
create index evidence_checks_by_node on evidence_checks (task_key, team_run_id, node_id);

-- Worth knowing, and failed nothing.
create table team_diagnostics (
  task_key integer not null,
  taskseq integer not null,
  team_run_id text not null,
  node_id text not null,
  code text not null,
  message text not null,
  primary key (task_key, taskseq)
) strict;
create index team_diagnostics_by_team on team_diagnostics (task_key, team_run_id);

-- The requests that steer a task. Their texts are in \`events\`. \`given_taskseq\`: the message in which the root agent was given the text.
create table steers (
  task_key integer not null,
  taskseq integer not null,
  request_id text not null,
  given_taskseq integer,
  primary key (task_key, taskseq)
) strict;

-- What the audit found. \`record\` holds a record that has no place of its own in \`events\`.
create table audit_findings (
  finding_id integer primary key,
  task_key integer not null,
  taskseq integer,
  kind text not null,
  message text not null,
  sequence integer not null,
  record text
) strict;
create index audit_findings_by_task on audit_findings (task_key, finding_id);

${questionTables}${systemTables}
-- The visible transcript: what people and the model said, what tools answered, and what failed (the role failure). \`folded\` is the text without accents; null where it is the
-- same.
create table transcript (
  position integer primary key,
  task_key integer not null,
  taskseq integer not null,
  run_id text,
  role text not null,
  name text,
  text text not null,
  folded text
) strict;
drop view if exists searched_texts;
-- The owner is in the index, so that a search for one user reads nothing of others: the first task of the user, between marks; no user is 0.
create view searched_texts as select position, coalesce(folded, transcript.text) as text,
  '<' || coalesce((select min(first.task_key) from tasks as first where first.user_id = tasks.user_id), 0) || '>' as owner from transcript join tasks using (task_key);
create virtual table transcript_fts using fts5(text, owner, content='searched_texts', content_rowid='position', tokenize='trigram');

-- How far the full-text index goes: one row. Not a function of the journal alone (text-index.ts), and so no part of a dump.
create table text_index (
  id integer primary key check (id = 1),
  position integer not null
) strict;
`

/**
 * The tables with rows of their own, in the order of a dump. The full-text index is made from `transcript`.
 */
export const tableNames = [
  'checkpoint',
  'tasks',
  'sessions',
  'task_counts',
  'events',
  'runs',
  'teams',
  'team_nodes',
  'tool_calls',
  'questions',
  'provider_calls',
  'model_usage',
  'usage_by_day',
  'evidence_checks',
  'team_diagnostics',
  'steers',
  'audit_findings',
  'system_events',
  'tree',
  'tree_tiles',
  'tree_gaps',
  'signed_checkpoints',
  'quarantine',
  'transcript',
] as const
