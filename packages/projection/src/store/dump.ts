// The whole read model as text. Equal journals give equal dumps, whatever the batches were.
import { canonicalJson } from '@beaver/core'
import { createHash } from 'node:crypto'
import { tables } from './schema.ts'
import type { Sql } from './sql.ts'
import type { Table } from './table.ts'

/** One line for each row, `table<TAB>canonical JSON`. Tables and rows have a fixed order. */
export function* dumpLines(sql: Sql): Generator<string> {
  for (const { name, key } of Object.values<Table>(tables))
    for (const row of sql.each(`select * from ${name} order by ${key.join(', ')}`))
      yield `${name}\t${canonicalJson(row)}`
}

/** The SHA-256 of the dump. */
export function digestOf(sql: Sql): string {
  const sum = createHash('sha256')
  for (const line of dumpLines(sql)) sum.update(line).update('\n')
  return sum.digest('hex')
}
