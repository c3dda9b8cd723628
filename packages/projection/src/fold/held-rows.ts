// Rows that are held in memory while a batch is applied: read at most once, changed as plain objects, written once at its end.
// An event changes its task's row, its run's row and its call's row; written one by one, these changes are most of the work.
// H1. What a writer sees is what the table would hold if each change had been written at once. H2. New rows are written in the
//     order in which they were added. H3. Held is what one batch touches; nothing outlives the batch.
import type { Sql, SqlValue } from '../store/sql.ts'

/** A row of a table: its columns, all of them. */
export type Row = Record<string, SqlValue>

export class HeldRows<R extends object> {
  readonly #sql: Sql
  readonly #columns: readonly string[]
  readonly #insert: string
  readonly #update: string
  readonly #keys: readonly string[]
  readonly #added: R[] = []
  readonly #changed = new Set<R>()
  readonly #new = new Set<R>()

  /** @param columns all columns of the table, the key's among them */
  constructor(sql: Sql, of: { table: string; keys: readonly string[]; columns: readonly string[] }) {
    this.#sql = sql
    this.#columns = of.columns
    this.#keys = of.keys
    const others = of.columns.filter((column) => !of.keys.includes(column))
    this.#insert = `insert into ${of.table} (${of.columns.join(', ')}) values (${of.columns.map(() => '?').join(', ')})`
    this.#update = `update ${of.table} set ${others.map((column) => `${column} = ?`).join(', ')} where ${of.keys.map((key) => `${key} = ?`).join(' and ')}`
  }

  /** Adds a row that the table does not have. */
  add(row: R): R {
    this.#added.push(row)
    this.#new.add(row)
    return row
  }

  /** A row that was read from the table, or added here, has changed. */
  changed(row: R): void {
    if (!this.#new.has(row)) this.#changed.add(row)
  }

  /** Writes what was added and changed. */
  save(): void {
    const value = (row: R, column: string): SqlValue => (row as Row)[column] ?? null
    const others = this.#columns.filter((column) => !this.#keys.includes(column))
    for (const row of this.#added)
      this.#sql.run(
        this.#insert,
        this.#columns.map((column) => value(row, column)),
      )
    for (const row of this.#changed)
      this.#sql.run(
        this.#update,
        [...others, ...this.#keys].map((column) => value(row, column)),
      )
  }
}
