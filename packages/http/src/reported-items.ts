// Turns a run that reports items by a callback into an iterator that a slow reader can take from. If too many
// items wait, `reportedItems` drops those that may be lost; all others wait.

const waitingMax = 10_000

/**
 * The items that `run` reports, in order. After the last item the iterator ends, or throws what `run` threw.
 *
 * @param droppable whether an item may be dropped when 10,000 items wait
 */
export async function* reportedItems<Item>(
  run: (report: (item: Item) => void) => Promise<void>,
  droppable: (item: Item) => boolean,
): AsyncGenerator<Item> {
  const waiting: Item[] = []
  let wake = Promise.withResolvers<void>()
  let over: { readonly error?: unknown } | null = null
  const report = (item: Item): void => {
    if (waiting.length >= waitingMax && droppable(item)) return
    waiting.push(item)
    wake.resolve()
  }
  const end = (how: { readonly error?: unknown }): void => {
    over = how
    wake.resolve()
  }
  run(report).then(
    () => end({}),
    (error: unknown) => end({ error }),
  )
  const ending = (): { readonly error?: unknown } | null => over
  for (;;) {
    const next = waiting.shift()
    const ended = ending()
    if (next !== undefined) yield next
    else if (ended !== null) {
      if ('error' in ended) throw ended.error
      return
    } else {
      await wake.promise
      wake = Promise.withResolvers<void>()
    }
  }
}

/**
 * The first item, and an iterator of all items including the first. `null`: there are no items. Rejects if
 * the iterator fails before its first item.
 */
export async function begun<Item>(
  items: AsyncGenerator<Item>,
): Promise<{ readonly first: Item; readonly all: AsyncGenerator<Item> } | null> {
  const first = await items.next()
  return first.done === true ? null : { first: first.value, all: from(first.value, items) }
}

async function* from<Item>(first: Item, rest: AsyncGenerator<Item>): AsyncGenerator<Item> {
  try {
    yield first
    yield* rest
  } finally {
    await rest.return(undefined)
  }
}
