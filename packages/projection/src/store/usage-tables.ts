// The tables of what calls of models used, for schema.ts. usage-rows.ts mirrors them. The parts of a total,
// such as the tokens of a cache, are counted in the total, too.
export const usageTables = `-- What each run used of each model; a run nobody knows is ''.
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
