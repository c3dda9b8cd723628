// Builds a bounded answer: it takes rows until there are enough rows or enough bytes. An answer fits one
// message (`answerBytesMax` of items, below the 1 MiB that a nats-server allows by default). An answer with
// `more` has at least one item, so that a reader who follows `next` comes to the end.

export const answerBytesMax = 640 * 1024

/** @typeParam Cursor what names a place in the list */
export interface Page<Item, Cursor = number> {
  readonly items: Item[]
  /** Whether there are items after the last one. */
  readonly more: boolean
  /** The value to pass for the next page. `null` if there is none. */
  readonly next: Cursor | null
}

/** @param rows at least one more than `limit`, if there are more */
export function page<Row, Item, Cursor = number>(
  rows: Iterable<Row>,
  limit: number,
  readers: { item: (row: Row) => Item; cursor: (row: Row) => Cursor },
): Page<Item, Cursor> {
  const items: Item[] = []
  let bytes = 0
  let next: Cursor | null = null
  for (const row of rows) {
    if (items.length === limit) return { items, more: true, next }
    const item = readers.item(row)
    bytes += Buffer.byteLength(JSON.stringify(item))
    if (bytes > answerBytesMax && items.length > 0) return { items, more: true, next }
    items.push(item)
    next = readers.cursor(row)
  }
  return { items, more: false, next: null }
}
