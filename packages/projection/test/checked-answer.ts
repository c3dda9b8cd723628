// What a query answers, as a client would read it: held to its contract in both directions.
import { queryContracts, type QueryName, type QueryOutput } from '@beaver/contracts'
import { expect } from 'vitest'
import { answer as answerOf } from '../src/queries/queries.ts'
import type { Around } from '../src/queries/query.ts'
import type { Sql } from '../src/store/sql.ts'

/**
 * The schema accepts the answer as it goes over the wire, and drops nothing of it: a field that no contract
 * names fails the test.
 */
export function answer<Name extends QueryName>(
  sql: Sql,
  name: Name,
  input: unknown,
  around: Partial<Around> = {},
): QueryOutput<Name> {
  const sent: unknown = JSON.parse(JSON.stringify(answerOf(sql, name, input, around)))
  const read = queryContracts[name].output.parse(sent)
  expect(read).toStrictEqual(sent)
  return read
}
