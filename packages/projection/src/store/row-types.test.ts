import { expect, test } from 'vitest'
import { openReadModel } from '../read-model.ts'
import { callColumns, newCall, newRun, newTask, runColumns, taskColumns } from './row-types.ts'
import { dayUsageColumns, usageColumns } from './usage-rows.ts'

const tables = {
  tasks: taskColumns,
  runs: runColumns,
  tool_calls: callColumns,
  model_usage: usageColumns,
  usage_by_day: dayUsageColumns,
}

test.each(Object.entries(tables))('the columns of %s are those of the table', (table, columns) => {
  using model = openReadModel(':memory:', { readBlob: () => Promise.reject(new Error('no blobs')) })
  expect(
    model.sql.all<{ name: string }>('select name from pragma_table_info(?)', [table]).map(({ name }) => name),
  ).toEqual([...columns])
})

test('a new row has what the table would give it', () => {
  using model = openReadModel(':memory:', { readBlob: () => Promise.reject(new Error('no blobs')) })
  const { sql } = model
  sql.run(
    "insert into tasks (task_key, tenant, session_id, task_id, head_hash) values (1, 't', 's', 'id', 'h')",
  )
  expect(sql.one('select * from tasks')).toEqual(
    newTask({ task_key: 1, tenant: 't', session_id: 's', task_id: 'id', head_hash: 'h' }),
  )
  const call = { task_key: 1, asked_taskseq: 2, call_index: 0, run_id: 'r', call_id: 'c', tool: 'x' }
  sql.run(
    "insert into tool_calls (task_key, asked_taskseq, call_index, run_id, call_id, tool) values (1, 2, 0, 'r', 'c', 'x')",
  )
  expect(sql.one('select * from tool_calls')).toEqual(newCall(call))
  const begun = {
    parent_run_id: null,
    agent_name: 'a',
    team_run_id: null,
    node_id: null,
    attempt_index: 1,
    source: 'task',
    status: 'assembling',
  }
  const run = {
    task_key: 1,
    run_id: 'r',
    ...begun,
    started_at: 'now',
    started_taskseq: 2,
    max_tool_iterations: 3,
  }
  sql.run(
    `insert into runs (task_key, run_id, agent_name, attempt_index, source, status, started_at, started_taskseq, max_tool_iterations)
     values (1, 'r', 'a', 1, 'task', 'assembling', 'now', 2, 3)`,
  )
  expect(sql.one('select * from runs')).toEqual(newRun(run))
})
