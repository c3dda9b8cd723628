// Defines the table of what running calls asked people.

export const questionTables = `
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
