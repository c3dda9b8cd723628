// The rows of one task as text, to compare those of two read models. What only numbers the rows of a file is
// left out.
import { canonicalJson } from '@beaver/core'
import { tableNames } from './schema.ts'
import type { Sql } from './sql.ts'

/** A row of a table, without the columns that number it. */
export interface TaskRowText {
  readonly table: string
  readonly columns: Readonly<Record<string, unknown>>
  readonly text: string
}

const ofNoTask = new Set<string>([
  'checkpoint',
  'sessions',
  'task_counts',
  'usage_by_day',
  'system_events',
  'tree',
  'tree_tiles',
  'tree_gaps',
  'signed_checkpoints',
  'quarantine',
])
const tables = tableNames.filter((name) => !ofNoTask.has(name))

/** The rows of the tables in a fixed order. */
export function* taskRows(sql: Sql, taskKey: number): Generator<TaskRowText> {
  for (const table of tables) {
    const order = sql
      .all<{ name: string }>('select name from pragma_table_info(?) where pk > 0 order by pk', [table])
      .map(({ name }) => name)
    for (const row of sql.each<Record<string, unknown>>(
      `select * from ${table} where task_key = ? order by ${order.join(', ')}`,
      [taskKey],
    )) {
      const { task_key: _key, position: _position, finding_id: _finding, ...columns } = row
      yield { table, columns, text: `${table}\t${canonicalJson(columns)}` }
    }
  }
}
