// What a value of JSON is for a reader: a text that is JSON itself, a diff, or rows of equal objects. Pure.

/** The object or list that a text writes in JSON. `undefined`: the text is something else. */
export function jsonIn(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text) as object
  } catch {
    return undefined
  }
}

/** Whether a text is a unified diff. */
export const isDiff = (text: string): boolean =>
  /^(?:diff |index |--- )/.test(text) && /^\+\+\+ .*\n@@ /m.test(text)

export interface Table {
  readonly columns: readonly string[]
  /** The cells of each row, in the order of the columns. */
  readonly rows: readonly (readonly unknown[])[]
}

/** A table with more columns is no help to a reader. */
const columnsMax = 12

/** A list of two or more objects that have the same names and no objects in them. `null`: it is another value. */
export function tableOf(value: unknown): Table | null {
  if (!Array.isArray(value) || value.length < 2) return null
  const objects = value as readonly unknown[]
  const [first] = objects
  if (!isObject(first)) return null
  const columns = Object.keys(first)
  if (columns.length === 0 || columns.length > columnsMax) return null
  const isRow = (each: unknown): each is Readonly<Record<string, unknown>> =>
    isObject(each) &&
    Object.keys(each).length === columns.length &&
    columns.every((name) => Object.hasOwn(each, name) && !isNested(each[name]))
  return objects.every(isRow)
    ? { columns, rows: objects.map((each) => columns.map((name) => each[name])) }
    : null
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isNested = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0
