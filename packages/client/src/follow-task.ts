// A task's events and, between them, what its models are saying: two streams as one, each in its own order.
// F1. It ends with the events, whatever is still being said.
import type { LiveDelta, RecordedEvent } from '@beaver/core'
import type { BeaverClient } from './beaver-client.ts'

export type Followed = { readonly event: RecordedEvent } | { readonly delta: LiveDelta }

/** Ends after the task's terminal event, or when `signal` aborts. */
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
