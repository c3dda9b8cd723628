// The routes for the events of a task: pages, streams, one event with its whole data, and what events show.
// - The id of an event is its place in the log of the task. A reader that reconnects with `Last-Event-ID`
//   gets the events after it.
import { type BeaverClient, type LiveOr, withLive } from '@beaver/client'
import { eventItem, queryContracts, type QueryRead } from '@beaver/contracts'
import { BeaverError, jsonValue } from '@beaver/core'
import { imagePart, imageTypes } from '@beaver/core/images'
import type { RecordedEvent } from '@beaver/core/journal'
import { z } from 'zod'
import { type Caller, reaches, reachOf } from './access.ts'
import { HttpProblem } from './problem.ts'
import { asked, type Asked, json, queryFieldsOf, type RequestParts, type Route, route } from './route.ts'
import { eventStream, type ServerSentEvent } from './sse.ts'

/** The path of a route for one task. */
export const inPath = z.strictObject({ task_id: z.string().min(1).max(128).describe('The id of the task.') })
const lastEvent = z.object({
  'last-event-id': z
    .string()
    .regex(/^\d{1,15}$/, 'must be the id of an event')
    .optional()
    .describe('The id of the last event that the reader has.'),
})

const following = route(
  {
    tag: 'tasks',
    role: 'read',
    method: 'get',
    at: '/api/v1/tasks/{task_id}/events',
    name: 'followTask',
    says: 'The events of a task. With "Accept: text/event-stream" they are followed until the task ends; otherwise a page of them is read. A stream has all events after "Last-Event-ID", or else after "after".',
    answer: {
      status: 200,
      says: 'A page of events, or the stream of all of them.',
      schema: queryContracts.events.output,
      events:
        'Each event of the journal has its type as name, its place in the log as id, and the record as data. With "live=true" there are also delta (a piece of an answer) and progress (how far a call is), which have no id and may be lost. The stream ends after the terminal event.',
    },
  },
  {
    path: inPath,
    query: queryFieldsOf('events', ['task_id']).extend({
      live: z
        .boolean()
        .default(false)
        .describe(
          'Only for a stream: whether it also has the pieces of answers and the progress of calls. A task that was submitted without "stream": true has no pieces of answers.',
        ),
    }),
    headers: lastEvent,
  },
  async ({ path, query, headers, host, caller, streamed, signal, options }) => {
    const { live, ...fields } = query as Followable
    if (!streamed) {
      mustNotHave('live', live, 'Only a stream has live updates. Send "Accept: text/event-stream".')
      return json(await asked({ host, caller }, 'events', { ...fields, ...path }))
    }
    for (const [name, isThere] of [
      ['order', fields.order === 'desc'],
      ['types', fields.types !== undefined],
      ['node_id', fields.node_id !== undefined],
      ['before', fields.before !== undefined],
      ['since', fields.since !== undefined],
      ['until', fields.until !== undefined],
    ] as const)
      mustNotHave(name, isThere, 'A stream has all events in their order. Leave it out, or read pages.')
    const reader = options.feeds.follow(path.task_id, Number(headers['last-event-id'] ?? fields.after))
    try {
      const first = await within(reader.first, AbortSignal.any([signal, AbortSignal.timeout(firstMsMax)]))
      mustBeReached(first ?? (await lookedUp(path.task_id, { host, options, signal })), path.task_id, caller)
    } catch (error) {
      reader.close()
      throw error
    }
    if (!live) return eventStream(reader, options)
    signal.addEventListener('abort', () => reader.close(), { once: true })
    const client = host.client()
    return eventStream(
      liveMessages(
        withLive(reader, (over) => client.live(path.task_id, { signal: AbortSignal.any([over, signal]) })),
      ),
      options,
    )
  },
)

/** The fields that a request for events may have. */
type Followable = Pick<
  QueryRead<'events'>,
  'order' | 'types' | 'node_id' | 'after' | 'before' | 'since' | 'until'
> & {
  readonly live: boolean
}

/** @throws {HttpProblem} `invalid_arguments` if the query string has the field */
function mustNotHave(name: string, isThere: boolean, message: string): void {
  if (!isThere) return
  throw new HttpProblem('invalid_arguments', `The request is not valid: query.${name}. ${message}`, {
    problems: [{ path: `query.${name}`, message }],
  })
}

async function* liveMessages(
  items: AsyncGenerator<LiveOr<Uint8Array>>,
): AsyncGenerator<ServerSentEvent | Uint8Array> {
  for await (const each of items)
    if ('event' in each) yield each.event
    else if ('delta' in each) yield { event: 'delta', data: each.delta }
    else yield { event: 'progress', data: each.progress }
}

const dataBytesMax = 8 * 1024 * 1024

const oneEvent = route(
  {
    tag: 'tasks',
    role: 'read',
    method: 'get',
    at: '/api/v1/tasks/{task_id}/events/{taskseq}',
    name: 'showEvent',
    says: 'One event of a task with its whole data, up to 8 MiB. Larger data is refused with too_large.',
    answer: {
      status: 200,
      says: 'The event.',
      schema: z.object({
        task_id: z.string().describe('The id of the task.'),
        session_id: z.string().describe('The id of the session to which the task belongs.'),
        tenant: z.string().describe('The tenant to which the task belongs.'),
        event: eventItem.extend({
          data: jsonValue.describe('The data of the event. null: the data is lost.'),
        }),
      }),
    },
  },
  {
    path: inPath.extend({
      taskseq: z
        .string()
        .regex(/^[1-9]\d{0,14}$/, 'must be the place of an event in the log, from 1')
        .describe('The place of the event in the log of the task.'),
    }),
  },
  async ({ path, host, caller }) => {
    const taskseq = Number(path.taskseq)
    const { task_id, session_id, tenant, events, archive } = await asked({ host, caller }, 'events', {
      task_id: path.task_id,
      after: taskseq - 1,
      limit: 1,
    })
    const [event] = events
    const noSuchEvent = (): BeaverError =>
      new BeaverError(
        'not_found',
        `The task ${task_id} has no event ${taskseq} in the journal.${archive === undefined ? '' : ` ${archive.events} of its events are in the file ${archive.file}.`}`,
      )
    if (event?.taskseq !== taskseq) throw noSuchEvent()
    if (event.data_bytes > dataBytesMax)
      throw new BeaverError(
        'too_large',
        `The data of event ${taskseq} has ${event.data_bytes} bytes, and this answer holds at most ${dataBytesMax}. The blob store has it under the name ${event.blob_sha256}.`,
      )
    const isLeftOut = event.data === null && event.data_bytes > 'null'.length
    const whole = isLeftOut ? await host.client().event(task_id, taskseq) : event
    if (whole === null) throw noSuchEvent()
    return json({ task_id, session_id, tenant, event: { ...event, data: whole.data } })
  },
)

/**
 * How long a reader waits for the first event of a task, in milliseconds, before the journal is read for it.
 */
const firstMsMax = 3_000

/**
 * Reads the first event of a task that the reader of the task did not get in time.
 *
 * @throws {BeaverError} `not_found`; `wrong_state` if the app is closing; `unreachable` if the host does not
 * run
 */
async function lookedUp(
  taskId: string,
  { host, options, signal }: Pick<Asked<RequestParts>, 'host' | 'options' | 'signal'>,
): Promise<RecordedEvent> {
  options.mayRead?.()
  if (signal.aborted) throw noSuchTask(taskId) // The reader has disconnected.
  if (!host.running())
    throw new BeaverError(
      'unreachable',
      'Beaver does not answer now. Its tasks go on when it is back. Ask again.',
    )
  const first = await host.client().event(taskId, 1)
  if (first === null) throw noSuchTask(taskId)
  return first
}

/** The value of the promise. `null`: the signal aborted first. */
async function within<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | null> {
  if (signal.aborted) return null
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const stop = (): void => resolve(null)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([promise, late])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const showImage = route(
  {
    tag: 'tasks',
    role: 'read',
    method: 'get',
    at: '/api/v1/tasks/{task_id}/images/{sha256}',
    name: 'showImage',
    says: 'The content of an image that an event of the task shows.',
    answer: { status: 200, says: 'The image.', bytes: imageTypes },
  },
  { path: inPath.extend({ sha256: imagePart.shape.sha256 }) },
  async ({ path, host, caller }) => {
    const { image, content } = await host
      .client()
      .image(path.task_id, path.sha256, { userId: reachOf(caller) })
    return new Response(Buffer.from(content), {
      headers: {
        'content-type': image.media_type,
        'content-length': String(content.length),
        'x-content-type-options': 'nosniff',
        'content-disposition': 'inline',
        'cache-control': 'no-store',
      },
    })
  },
)

export const eventRoutes: readonly Route[] = [following, oneEvent, showImage]

// Checks whether a caller reaches a task. They read the journal, because the read model may be behind.

/**
 * @throws {BeaverError} `not_found` if there is no such task, or if it belongs to a user whom the caller does
 * not reach
 */
export async function mustReach(client: BeaverClient, taskId: string, caller: Caller): Promise<void> {
  if (reachOf(caller) === undefined) return
  const first = await client.event(taskId, 1)
  if (first === null) throw noSuchTask(taskId)
  mustBeReached(first, taskId, caller)
}

/** The same check, if the first event of the task was already read. @throws {BeaverError} `not_found` */
function mustBeReached(first: RecordedEvent, taskId: string, caller: Caller): void {
  if (first.type !== 'task_submitted' || !reaches(caller, first.data.request.user_id))
    throw noSuchTask(taskId)
}

const noSuchTask = (taskId: string): BeaverError =>
  new BeaverError('not_found', `There is no task ${JSON.stringify(taskId)}.`)
