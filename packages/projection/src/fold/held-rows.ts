// Holds rows in memory while a batch is applied: each is read at most once, changed as a plain object, and
// written once at the end. An event changes the rows of its task, its run and its call. Writing these changes
// one by one would be most of the work. A writer sees what the table would contain if each change had been
// written at once. New rows are written in the order in which they were added. Only rows that one batch
// touches are held. Nothing outlives the batch.
import type { Sql, SqlValue } from '../store/sql.ts'

/** A row of a table, with all of its columns. */
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

  /** @param columns all columns of the table, including those of the key */
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

  /** Notes that a row has changed. The row was read from the table or added here. */
  changed(row: R): void {
    if (!this.#new.has(row)) this.#changed.add(row)
  }

  /** Writes the added and the changed rows. */
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
