// A bounded answer: rows until there are enough of them, or enough bytes.
// P1. An answer fits one message (`answerBytesMax` of items, below the 1 MiB a nats-server passes on by default).
// P2. An answer that has `more` has at least one item, so that a reader who follows `next` comes to the end.

export const answerBytesMax = 640 * 1024

export interface Page<Item> {
  readonly items: Item[]
  /** There are items after the last one. */
  readonly more: boolean
  /** What to pass to get them; `null` when there are none. */
  readonly next: number | null
}

/** @param rows at least one more than `limit`, when there are more */
export function page<Row, Item>(rows: Iterable<Row>, limit: number, of: { item: (row: Row) => Item; cursor: (row: Row) => number }): Page<Item> {
  const items: Item[] = []
  let bytes = 0
  let next: number | null = null
  for (const row of rows) {
    if (items.length === limit) return { items, more: true, next }
    const item = of.item(row)
    bytes += Buffer.byteLength(JSON.stringify(item))
    if (bytes > answerBytesMax && items.length > 0) return { items, more: true, next }
    items.push(item)
    next = of.cursor(row)
  }
  return { items, more: false, next: null }
}
