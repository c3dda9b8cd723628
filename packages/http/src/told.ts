// What a run tells while it goes on, for a reader who takes one thing after the other. Of a run that tells
// more than its reader takes, what may be lost is left out. All else waits.

const waitingMax = 10_000

/**
 * What `run` tells, in order. It ends or throws with the run, after everything that was told.
 *
 * @param droppable whether an item may be left out
 */
export async function* told<Item>(
  run: (tell: (item: Item) => void) => Promise<void>,
  droppable: (item: Item) => boolean,
): AsyncGenerator<Item> {
  const waiting: Item[] = []
  let wake = Promise.withResolvers<void>()
  let over: { readonly error?: unknown } | null = null
  const tell = (item: Item): void => {
    if (waiting.length >= waitingMax && droppable(item)) return
    waiting.push(item)
    wake.resolve()
  }
  const end = (how: { readonly error?: unknown }): void => {
    over = how
    wake.resolve()
  }
  run(tell).then(
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

/** The first item, and all of them. `null`: there is none. A failure before the first item is thrown here. */
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
