// The events of a task and the pieces of its answers as one stream. Each kind keeps its own order.
// F1. The stream ends with the events, even if a piece could still come.
import type { LiveDelta, RecordedEvent } from '@beaver/core'
import type { BeaverClient } from './beaver-client.ts'

/** An event of the task, or a piece of an answer. */
export type Followed = { readonly event: RecordedEvent } | { readonly delta: LiveDelta }

/**
 * Follows a task. It ends after the terminal event, or when `signal` aborts.
 *
 * @throws {BeaverError} the codes of `BeaverClient.watch`
 * @example
 * const { task_id } = await beaver.submit({ task: 'Say what you are.', stream: true })
 * let text = ''
 * let last = ''
 * for await (const each of followTask(beaver, task_id)) {
 *   if ('delta' in each) text += each.delta.text
 *   else last = each.event.type
 * }
 * last // => 'task_completed'
 */
export async function* followTask(
  client: Pick<BeaverClient, 'watch' | 'deltas'>,
  taskId: string,
  { signal }: { signal?: AbortSignal } = {},
): AsyncGenerator<Followed> {
  const stop = new AbortController()
  const over = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal])
  const events = client.watch(taskId, { signal: over })
  const deltas = client.deltas(taskId, { signal: over })
  const nextEvent = (): Promise<{ readonly of: 'events'; readonly result: IteratorResult<RecordedEvent> }> =>
    events.next().then((result) => ({ of: 'events', result }))
  const nextDelta = (): Promise<{ readonly of: 'deltas'; readonly result: IteratorResult<LiveDelta> }> =>
    deltas.next().then((result) => ({ of: 'deltas', result }))
  let event = nextEvent()
  let delta: ReturnType<typeof nextDelta> | null = nextDelta()
  try {
    for (;;) {
      const next = await (delta === null ? event : Promise.race([delta, event]))
      if (next.of === 'events') {
        if (next.result.done === true) return
        yield { event: next.result.value }
        event = nextEvent()
      } else if (next.result.done === true) delta = null
      else {
        yield { delta: next.result.value }
        delta = nextDelta()
      }
    }
  } finally {
    stop.abort()
    await Promise.allSettled([event, ...(delta === null ? [] : [delta]), events.return(undefined), deltas.return(undefined)])
  }
}
