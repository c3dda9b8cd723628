// Joins the events of a task and its live updates, each in its own order. It ends with the events.
import type { SubmittedTask, SubmitTask } from '@beaver/contracts'
import { isProgress, type LiveDelta, type LiveProgress, type LiveUpdate } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import type { BeaverClient } from './beaver-client.ts'
import { withIds } from './made-ids.ts'

/** An event of the task, a piece of an answer, or the progress of a call. */
export type Followed = LiveOr<RecordedEvent>

/** What somebody reads of a task, a piece of an answer, or the progress of a call. */
export type LiveOr<Event> =
  | { readonly event: Event }
  | { readonly delta: LiveDelta }
  | { readonly progress: LiveProgress }

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
 *   if ('event' in each) last = each.event.type
 * }
 * last // => 'task_completed'
 */
export async function* followTask(
  client: Pick<BeaverClient, 'watch' | 'live'>,
  taskId: string,
  { signal }: { signal?: AbortSignal } = {},
): AsyncGenerator<Followed> {
  const stop = new AbortController()
  const over = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal])
  yield* together(client.watch(taskId, { signal: over }), heard(client.live(taskId, { signal: over })), stop)
}

/**
 * Submits a task and follows it. It listens before it submits, so that no piece of an answer is missed: a
 * model may answer within a millisecond. It ends after the terminal event, or when `signal` aborts.
 *
 * @param options.onSubmitted is called when the task is in the journal
 * @throws {BeaverError} the codes of `BeaverClient.submit` and `BeaverClient.watch`
 * @example
 * let text = ''
 * for await (const each of submitAndFollow(beaver, { task: 'Say what you are.' }))
 *   if ('delta' in each) text += each.delta.text
 * text.length > 0 // => true
 */
export async function* submitAndFollow(
  client: Pick<BeaverClient, 'submit' | 'watch' | 'live'>,
  task: SubmitTask,
  {
    signal,
    onSubmitted = () => {},
  }: { readonly signal?: AbortSignal; readonly onSubmitted?: (submitted: SubmittedTask) => void } = {},
): AsyncGenerator<Followed> {
  const named = withIds({ ...task, stream: true })
  const stop = new AbortController()
  const over = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal])
  const updates = heard(client.live(named.task_id, { signal: over }))
  try {
    onSubmitted(await client.submit(named))
  } catch (error) {
    stop.abort()
    await updates.next.catch(() => {})
    throw error
  }
  yield* together(client.watch(named.task_id, { signal: over }), updates, stop)
}

/** A sequence that is read, with its next item. */
interface Heard<Item> {
  readonly items: AsyncGenerator<Item>
  readonly next: Promise<IteratorResult<Item>>
}

/** Asking for the next item begins to listen. */
const heard = <Item>(items: AsyncGenerator<Item>): Heard<Item> => ({ items, next: items.next() })

/**
 * Joins what somebody reads of a task and its live updates, each in its own order. It listens before it reads.
 * It ends when `read` ends.
 *
 * @param read events of the task in any form. Its `return` must end a `next` that waits
 * @param live gives the updates until the signal aborts
 * @example
 * const live = (signal: AbortSignal) => beaver.live(task_id, { signal })
 * const kinds: string[] = []
 * for await (const each of withLive(beaver.watch(task_id), live)) kinds.push(Object.keys(each)[0] ?? '')
 * kinds.includes('event') // => true
 */
export function withLive<Event>(
  read: AsyncIterator<Event, undefined>,
  live: (signal: AbortSignal) => AsyncGenerator<LiveUpdate>,
): AsyncGenerator<LiveOr<Event>> {
  const stop = new AbortController()
  return together(read, heard(live(stop.signal)), stop)
}

async function* together<Event>(
  watched: AsyncIterator<Event, undefined>,
  updates: Heard<LiveUpdate>,
  stop: AbortController,
): AsyncGenerator<LiveOr<Event>> {
  const asEvent = (next: Promise<IteratorResult<Event, undefined>>) =>
    next.then((result) => ({ of: 'events', result }) as const)
  const asUpdate = (next: Promise<IteratorResult<LiveUpdate>>) =>
    next.then((result) => ({ of: 'live', result }) as const)
  let event = asEvent(watched.next())
  let update: ReturnType<typeof asUpdate> | null = asUpdate(updates.next)
  try {
    for (;;) {
      const next = await (update === null ? event : Promise.race([update, event]))
      if (next.of === 'events') {
        if (next.result.done === true) return
        yield { event: next.result.value }
        event = asEvent(watched.next())
      } else if (next.result.done === true) update = null
      else {
        const { value } = next.result
        yield isProgress(value) ? { progress: value } : { delta: value }
        update = asUpdate(updates.items.next())
      }
    }
  } finally {
    stop.abort()
    await Promise.allSettled([
      event,
      ...(update === null ? [] : [update]),
      watched.return?.(undefined),
      updates.items.return(undefined),
    ])
  }
}
