// SQL over one connection: statements are prepared once, the caller types the rows, and every transaction
// ends. `transaction` commits everything that `act` did, or nothing. An error of a damaged file says so, and
// what to do.
import { invariant } from '@beaver/core'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { namedDamage } from './damage.ts'

export type SqlValue = string | number | null

export interface Sql {
  /** Returns how many rows changed. */
  run(text: string, values?: readonly SqlValue[]): number
  get<Row>(text: string, values?: readonly SqlValue[]): Row | undefined
  /** A row that must exist. */
  one<Row>(text: string, values?: readonly SqlValue[]): Row
  all<Row>(text: string, values?: readonly SqlValue[]): Row[]
  /** Gives the rows one by one. A loop that stops early reads no further. */
  each<Row>(text: string, values?: readonly SqlValue[]): Iterable<Row>
  transaction<T>(act: () => T): T
}

export function sqlOn(db: DatabaseSync): Sql {
  const prepared = new Map<string, StatementSync>()
  const statement = (text: string): StatementSync => {
    let known = prepared.get(text)
    if (known === undefined) prepared.set(text, (known = db.prepare(text)))
    return known
  }
  const asking = <T>(ask: () => T): T => {
    try {
      return ask()
    } catch (error) {
      throw namedDamage(error, db.location())
    }
  }
  const get = <Row>(text: string, values: readonly SqlValue[] = []): Row | undefined =>
    asking(() => statement(text).get(...values) as Row | undefined)
  return {
    run: (text, values = []) => asking(() => Number(statement(text).run(...values).changes)),
    get,
    one: <Row>(text: string, values: readonly SqlValue[] = []) => {
      const row = get<Row>(text, values)
      invariant(row !== undefined, `No row for ${text}`)
      return row
    },
    all: <Row>(text: string, values: readonly SqlValue[] = []) =>
      asking(() => statement(text).all(...values) as Row[]),
    *each<Row>(text: string, values: readonly SqlValue[] = []) {
      const rows = asking(() => statement(text).iterate(...values) as Iterator<Row>)
      try {
        for (let next = asking(() => rows.next()); next.done !== true; next = asking(() => rows.next()))
          yield next.value
      } finally {
        rows.return?.()
      }
    },
    transaction(act) {
      db.exec('begin immediate')
      try {
        const result = act()
        db.exec('commit')
        return result
      } catch (error) {
        if (db.isTransaction) db.exec('rollback')
        throw error
      }
    },
  }
}

/** SQLite has no booleans. */
export const bit = (value: boolean): number => (value ? 1 : 0)

export const truth = (value: number | null): boolean | null => (value === null ? null : value === 1)
