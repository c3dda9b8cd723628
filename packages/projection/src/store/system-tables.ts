// Defines the tables for what belongs to no task: the system logs, the tree over the journal, and messages
// that are no records.

export const systemTables = `-- The entries of system logs, which are no tasks. \`fault\` says why a record does not follow the one before it,
-- and \`untrusted\` why its signature does not count. Neither is an event.
create table system_events (
  sequence integer not null,
  record_index integer not null,
  name text not null,
  taskseq integer not null,
  epoch integer not null,
  type text not null,
  source text not null,
  time text not null,
  data text,
  hash text not null,
  signature text,
  fault text,
  untrusted text,
  primary key (sequence, record_index)
) strict;
create index system_events_by_name on system_events (name, sequence, record_index);

-- The tree over the journal (@beaver/core, tree/): one leaf for each message, up to \`sequence\`.
create table tree (
  id integer primary key check (id = 1),
  sequence integer not null
) strict;

-- Up to 256 neighbouring hashes of a level of the tree, in base64.
create table tree_tiles (
  level integer not null,
  tile integer not null,
  hashes text not null,
  primary key (level, tile)
) strict, without rowid;

-- Where the numbers of the stream jump: up to \`sequence\`, \`missing\` numbers belong to no message.
create table tree_gaps (
  sequence integer primary key,
  missing integer not null
) strict;

-- The checkpoints of the system log, each compared with the tree. \`fault\` says why one does not fit.
create table signed_checkpoints (
  sequence integer not null,
  record_index integer not null,
  time text not null,
  size integer not null,
  note text not null,
  fault text,
  primary key (sequence, record_index)
) strict;

-- Messages of the journal that are no records. \`subject\` names one whose subject is none of Beaver's; such a message has no log.
create table quarantine (
  sequence integer primary key,
  tenant text,
  session_id text,
  task_id text,
  subject text,
  reason text not null,
  bytes integer not null,
  sha256 text not null,
  excerpt text not null
) strict;
`
