// A table of the read model, defined once. Its columns give the SQL that creates it, the types of its rows, the
// values of a new row, and the statements that write rows. What only one operation needs, such as a sum in an
// `update`, is SQL beside the operation. The texts of statements are made once, when the table is defined.
import type { Sql, SqlValue } from './sql.ts'

/** @typeParam Initial its value in a new row that says nothing about it; `undefined`: a new row must have it */
export interface Column<
  Value extends SqlValue = SqlValue,
  Initial extends SqlValue | undefined = SqlValue | undefined,
> {
  /** What follows the name of the column in the SQL that creates the table. */
  readonly sql: string
  readonly initial: Initial
  /** Only for the type: the values of the column. */
  readonly value?: Value
}
type Columns = Readonly<Record<string, Column>>
type ValueOf<C extends Column> = C extends Column<infer Value> ? Value : never

/** A row with all of its columns. It is mutable: it belongs to the batch that holds it. */
export type RowOf<T> = T extends Table<infer C> ? Values<C, keyof C> : never
/** What a new row must say. */
export type NeededOf<T> = T extends Table<infer C> ? Values<C, Needed<C>> : never
/** A row as it is added: what may be left out has its initial value then. */
type NewRow<T> =
  T extends Table<infer C>
    ? Values<C, Needed<C>> & { [Name in Exclude<keyof C, Needed<C>>]?: ValueOf<C[Name]> | undefined }
    : never
type Values<C extends Columns, Names extends keyof C> = { -readonly [Name in Names]: ValueOf<C[Name]> }
type Needed<C extends Columns> = {
  [Name in keyof C]: C[Name]['initial'] extends undefined ? Name : never
}[keyof C]

export const text = <Value extends string = string>(): Column<Value, undefined> => ({
  sql: 'text not null',
  initial: undefined,
})
export const textOrNull = <Value extends string = string>(): Column<Value | null, null> => ({
  sql: 'text',
  initial: null,
})
export const integer = (): Column<number, undefined> => ({ sql: 'integer not null', initial: undefined })
export const integerOrNull = (): Column<number | null, null> => ({ sql: 'integer', initial: null })
/** A column that has this value where nothing else is said. */
export const initially = <Value extends SqlValue>(
  { sql }: Column<Value, undefined>,
  initial: Value,
): Column<Value, Value> => ({
  sql: `${sql} default ${typeof initial === 'string' ? `'${initial}'` : initial}`,
  initial,
})
export const count = (): Column<number, number> => initially(integer(), 0)
/** As `count`, but SQL itself has no default. */
export const sum = (): Column<number, number> => ({ ...integer(), initial: 0 })
/** The only column of a key. */
export const primary = <Value extends SqlValue>({
  sql,
  initial,
}: Column<Value, undefined>): Column<Value, undefined> => ({
  sql: sql.replace('not null', 'primary key'),
  initial,
})
/** SQLite numbers the rows. */
export const numbered = (): Column<number, null> => ({ sql: 'integer primary key', initial: null })
/** The key of a table with one row. */
export const onlyRow = (): Column<number, number> => ({
  sql: 'integer primary key check (id = 1)',
  initial: 1,
})

export interface Table<C extends Columns = Columns> {
  readonly name: string
  readonly columns: readonly (keyof C & string)[]
  readonly key: readonly (keyof C & string)[]
  /** The SQL that creates the table. */
  readonly create: string
  /** Statements that take the values of a row, in the order of its columns. */
  readonly insert: string
  readonly insertIfNew: string
  readonly put: string
  /** A statement that takes the values of the columns `updated`: those of the key are last. */
  readonly update: string
  readonly updated: readonly (keyof C & string)[]
  /** What a new row need not say: `{ ...initial, … }` is a row with all of its columns. */
  readonly initial: Values<C, Exclude<keyof C, Needed<C>>>
  /** The values of a new row that says nothing, in the order of its columns; `null` for what it must say. */
  readonly defaults: readonly SqlValue[]
}

export function table<C extends Columns>(
  name: string,
  key: readonly (keyof C & string)[],
  columns: C,
  {
    constraint,
    withoutRowid = false,
  }: { readonly constraint?: string; readonly withoutRowid?: boolean } = {},
): Table<C> {
  const names = Object.keys(columns) as (keyof C & string)[]
  const defaults = names.map((each) => columns[each]?.initial ?? null)
  const others = names.filter((each) => !key.includes(each))
  const lines = names.map((each) => `${each} ${columns[each]?.sql}`)
  if (key.length > 1) lines.push(`primary key (${key.join(', ')})`)
  if (constraint !== undefined) lines.push(constraint)
  const kind = withoutRowid ? 'strict, without rowid' : 'strict'
  const insert = `insert into ${name} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`
  const replaced = others.map((each) => `${each} = excluded.${each}`).join(', ')
  const changed = others.map((each) => `${each} = ?`).join(', ')
  return {
    name,
    columns: names,
    key,
    create: `create table ${name} (\n  ${lines.join(',\n  ')}\n) ${kind};`,
    insert,
    insertIfNew: `${insert} on conflict do nothing`,
    put: `${insert} on conflict (${key.join(', ')}) do update set ${replaced}`,
    update: `update ${name} set ${changed} where ${key.map((each) => `${each} = ?`).join(' and ')}`,
    updated: [...others, ...key],
    initial: Object.fromEntries(names.map((each, at) => [each, defaults[at]])) as Table<C>['initial'],
    defaults,
  }
}

/** Adds a row that the table does not have. */
export function insert<T extends Table>(sql: Sql, into: T, row: NewRow<T> | RowOf<T>): void {
  sql.run(into.insert, valuesOf(into, row))
}

/** Adds a row unless the table has one with this key. Returns how many rows were added. */
export function insertIfNew<T extends Table>(sql: Sql, into: T, row: NewRow<T>): number {
  return sql.run(into.insertIfNew, valuesOf(into, row))
}

/** Adds a row, or replaces the one with this key. */
export function put<T extends Table>(sql: Sql, into: T, row: NewRow<T>): void {
  sql.run(into.put, valuesOf(into, row))
}

/** Writes a row that was read from the table. */
export function update<T extends Table>(sql: Sql, into: T, row: RowOf<T>): void {
  const values = row as Readonly<Record<string, SqlValue>>
  sql.run(
    into.update,
    into.updated.map((column) => values[column] ?? null),
  )
}

function valuesOf({ columns, defaults }: Table, row: object): SqlValue[] {
  const values = row as Readonly<Record<string, SqlValue | undefined>>
  return columns.map((column, at) => values[column] ?? defaults[at] ?? null)
}
