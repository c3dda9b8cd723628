// The whole read model as text. Equal journals give equal dumps, whatever the batches were.
import { canonicalJson } from '@beaver/core'
import { createHash } from 'node:crypto'
import { tableNames } from './schema.ts'
import type { Sql } from './sql.ts'

/** One line for each row, `table<TAB>canonical JSON`. Tables and rows have a fixed order. */
export function* dumpLines(sql: Sql): Generator<string> {
  for (const table of tableNames) {
    const key = sql.all<{ name: string }>('select name from pragma_table_info(?) where pk > 0 order by pk', [
      table,
    ])
    const order = key.map((column) => column.name).join(', ')
    for (const row of sql.each(`select * from ${table} order by ${order}`))
      yield `${table}\t${canonicalJson(row)}`
  }
}

/** The SHA-256 of the dump. */
export function digestOf(sql: Sql): string {
  const sum = createHash('sha256')
  for (const line of dumpLines(sql)) sum.update(line).update('\n')
  return sum.digest('hex')
}
