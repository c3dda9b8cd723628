import { expect, test } from 'vitest'
import { openReadModel } from '../read-model.ts'
import { tables } from './schema.ts'
import type { Sql } from './sql.ts'
import { insert, insertIfNew, put, type Table, update } from './table.ts'

const readBlob = (): Promise<never> => Promise.reject(new Error('no blobs'))
const opened = () => openReadModel(':memory:', { readBlob })
const nodes = tables.team_nodes
const node = {
  task_key: 1,
  team_run_id: 't',
  node_id: 'n',
  declared_index: 0,
  kind: 'agent',
  depends_on: '[]',
}
const rowOf = (more: object) => ({ ...nodes.initial, ...node, ...more })
const nodesIn = (sql: Sql): unknown[] => sql.all('select * from team_nodes')

test.each(Object.values<Table>(tables))('the columns and the key of $name are those of SQL', (table) => {
  using model = opened()
  const columns = model.sql.all<{ name: string; pk: number }>(
    'select name, pk from pragma_table_info(?) order by cid',
    [table.name],
  )
  expect(columns.map(({ name }) => name)).toEqual(table.columns)
  const key = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
  expect(key.map(({ name }) => name)).toEqual(table.key)
})

test('a new row has what SQL would give it', () => {
  using model = opened()
  model.sql.run(
    `insert into team_nodes (task_key, team_run_id, node_id, declared_index, kind, depends_on) values (1, 't', 'n', 0, 'agent', '[]')`,
  )
  expect(nodesIn(model.sql)).toEqual([rowOf({})])
})

test('a row is inserted once, replaced by its key and updated as a whole', () => {
  using model = opened()
  const { sql } = model
  insert(sql, nodes, { ...node, tool: undefined, quorum: 2 })
  expect(insertIfNew(sql, nodes, { ...node, quorum: 3 })).toBe(0)
  expect(nodesIn(sql)).toEqual([rowOf({ quorum: 2 })])
  put(sql, nodes, { ...node, tool: 'read_file' })
  const row = rowOf({ tool: 'read_file' })
  expect(nodesIn(sql)).toEqual([row])
  row.status = 'running'
  update(sql, nodes, row)
  expect(nodesIn(sql)).toEqual([row])
})

test('SQL numbers the rows of a table without another key', () => {
  using model = opened()
  const finding = { task_key: 1, kind: 'repeat', message: 'No.', sequence: 5 }
  for (let i = 0; i < 2; i++) insert(model.sql, tables.audit_findings, finding)
  expect(model.sql.all('select finding_id from audit_findings')).toEqual([
    { finding_id: 1 },
    { finding_id: 2 },
  ])
})
