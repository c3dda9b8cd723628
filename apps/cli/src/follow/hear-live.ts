// Hears what is live of a task before the task is submitted: a model may answer within a millisecond, and
// what nobody hears is lost.
import type { LiveUpdate } from '@beaver/core'
import type { Connection } from '../connection.ts'

export interface HeardLive extends Disposable {
  /** What was heard since the beginning, and then what comes. */
  readonly updates: AsyncGenerator<LiveUpdate>
}

export function hearLive(client: Pick<Connection['client'], 'live'>, taskId: string): HeardLive {
  const over = new AbortController()
  const items = client.live(taskId, { signal: over.signal })
  // To ask for the next update begins to listen.
  const first = items.next()
  first.catch(() => {})
  return { updates: from(items, first), [Symbol.dispose]: () => over.abort() }
}

async function* from(
  items: AsyncGenerator<LiveUpdate>,
  first: Promise<IteratorResult<LiveUpdate>>,
): AsyncGenerator<LiveUpdate> {
  const heard = await first
  if (heard.done === true) return
  yield heard.value
  yield* items
}
