// The events of a task and the pieces of its answers as one stream. Each kind keeps its own order.
// F1. The stream ends with the events, even if a piece could still come.
// F2. A task that is submitted to be followed is heard before it is submitted: a model may answer within a millisecond.
import type { SubmittedTask, SubmitTask } from '@beaver/contracts'
import type { LiveDelta, RecordedEvent } from '@beaver/core'
import type { BeaverClient } from './beaver-client.ts'
import { withIds } from './made-ids.ts'

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
  yield* together(client.watch(taskId, { signal: over }), heard(client.deltas(taskId, { signal: over })), stop)
}

/**
 * Submits a task and follows it: no piece of an answer is missed. It ends after the terminal event, or when `signal` aborts.
 *
 * @param options.onSubmitted is called when the task is in the journal
 * @throws {BeaverError} the codes of `BeaverClient.submit` and `BeaverClient.watch`
 * @example
 * let text = ''
 * for await (const each of submitAndFollow(beaver, { task: 'Say what you are.' })) if ('delta' in each) text += each.delta.text
 * text.length > 0 // => true
 */
export async function* submitAndFollow(
  client: Pick<BeaverClient, 'submit' | 'watch' | 'deltas'>,
  task: SubmitTask,
  { signal, onSubmitted = () => {} }: { readonly signal?: AbortSignal; readonly onSubmitted?: (submitted: SubmittedTask) => void } = {},
): AsyncGenerator<Followed> {
  const named = withIds({ ...task, stream: true })
  const stop = new AbortController()
  const over = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal])
  const pieces = heard(client.deltas(named.task_id, { signal: over }))
  try {
    onSubmitted(await client.submit(named))
  } catch (error) {
    stop.abort()
    await pieces.next.catch(() => {})
    throw error
  }
  yield* together(client.watch(named.task_id, { signal: over }), pieces, stop)
}

/** Something that is read, with its next item. */
interface Heard<Item> {
  readonly items: AsyncGenerator<Item>
  readonly next: Promise<IteratorResult<Item>>
}

/** To ask for the next item begins to listen. */
const heard = <Item>(items: AsyncGenerator<Item>): Heard<Item> => ({ items, next: items.next() })

async function* together(watched: AsyncGenerator<RecordedEvent>, pieces: Heard<LiveDelta>, stop: AbortController): AsyncGenerator<Followed> {
  const asEvent = (next: Promise<IteratorResult<RecordedEvent>>) => next.then((result) => ({ of: 'events', result }) as const)
  const asDelta = (next: Promise<IteratorResult<LiveDelta>>) => next.then((result) => ({ of: 'deltas', result }) as const)
  let event = asEvent(watched.next())
  let delta: ReturnType<typeof asDelta> | null = asDelta(pieces.next)
  try {
    for (;;) {
      const next = await (delta === null ? event : Promise.race([delta, event]))
      if (next.of === 'events') {
        if (next.result.done === true) return
        yield { event: next.result.value }
        event = asEvent(watched.next())
      } else if (next.result.done === true) delta = null
      else {
        yield { delta: next.result.value }
        delta = asDelta(pieces.items.next())
      }
    }
  } finally {
    stop.abort()
    await Promise.allSettled([event, ...(delta === null ? [] : [delta]), watched.return(undefined), pieces.items.return(undefined)])
  }
}
