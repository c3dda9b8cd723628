// `quarantine`: the messages of the journal that are no records, oldest first.
import type { QueryOutput } from '@beaver/contracts'
import { page } from './page.ts'
import type { Query } from './query.ts'

type Row = QueryOutput<'quarantine'>['messages'][number]

export const quarantine: Query<'quarantine'> = (sql, { sequence, after, limit }) => {
  const { where, values } =
    sequence === undefined
      ? { where: 'sequence > ?', values: [after] }
      : { where: 'sequence = ?', values: [sequence] }
  const rows = sql.each<Row>(`select * from quarantine where ${where} order by sequence limit ?`, [
    ...values,
    limit + 1,
  ])
  const { items, more, next } = page(rows, limit, {
    item: (row) => ({ ...row }),
    cursor: (row) => row.sequence,
  })
  return {
    total: sql.one<{ n: number }>('select count(*) as n from quarantine').n,
    messages: items,
    more,
    next,
  }
}
