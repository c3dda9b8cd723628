// Tasks over HTTP: submit, look at, follow, control.
// T1. A submission with an `Idempotency-Key` names its task by the key: the same request again gives the same task, and another one is refused.
// T2. Events are numbered by their place in the log of the task. A reader that comes again with `Last-Event-ID` goes on behind it.
import { queryContracts, requestContracts, submitRequest } from '@beaver/contracts'
import { BeaverError, type RecordedEvent } from '@beaver/core'
import { z } from 'zod'
import { userOf } from './access.ts'
import { idempotencyKey, keyedId } from './idempotency.ts'
import { asked, fieldsOf, json, queryRoute, type Route, route } from './route.ts'
import { eventStream, type ServerSentEvent } from './sse.ts'
import { begun } from './told.ts'

const inPath = z.strictObject({ task_id: z.string().min(1).max(128).describe('The id of the task.') })
const control = { tag: 'tasks', role: 'submit' } as const

const submitting = route(
  {
    ...control,
    method: 'post',
    at: '/api/v1/tasks',
    name: 'submitTask',
    says: 'Submits a task. It is durable when the answer comes.',
    answer: { status: 202, says: 'The task is accepted. "Location" names it.', schema: requestContracts['task.submit'].output },
  },
  { headers: idempotencyKey, body: submitRequest },
  async ({ body, headers, caller, host }) => {
    const key = headers['idempotency-key']
    const { fresh: _, ...task } = body
    const submitted = await host.client().submit({
      ...task,
      user_id: userOf(caller, task.user_id),
      source: task.source ?? `http:${caller.name}`,
      ...(key === undefined || task.task_id !== undefined ? {} : { task_id: keyedId(caller, key) }),
    })
    return json(submitted, { status: 202, headers: { location: `/api/v1/tasks/${encodeURIComponent(submitted.task_id)}` } })
  },
)

const listing = queryRoute('tasks', { tag: 'tasks', at: '/api/v1/tasks', name: 'listTasks', gives: 'A page of tasks.' })

const showing = (
  [
    ['task', '', 'showTask'],
    ['timeline', '/timeline', 'showTimeline'],
    ['approvals', '/approvals', 'listTaskApprovals'],
  ] as const
).map(([query, at, name]) =>
  queryRoute(query, { tag: 'tasks', at: `/api/v1/tasks/{task_id}${at}`, name, gives: 'What the read model has of it.', path: inPath }),
)

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
    says: 'The events of a task. With "Accept: text/event-stream" they are followed until the task ends; otherwise a page of them is read.',
    answer: {
      status: 200,
      says: 'A page of events, or the stream of all of them.',
      schema: queryContracts.events.output,
      events: 'Each event of the journal has its type as name, its place in the log as id, and the record as data. The stream ends after the terminal event.',
    },
  },
  { path: inPath, query: fieldsOf(queryContracts.events.input, ['task_id']), headers: lastEvent },
  async ({ path, query, headers, host, streamed, signal, options }) => {
    const client = host.client()
    if (!streamed) return json(await asked({ host }, 'events', { ...query, ...path }))
    const after = Number(headers['last-event-id'] ?? 0)
    const events = await begunWithin(watchMsMax, (given) => client.watch(path.task_id, { signal: AbortSignal.any([signal, given]) }))
    if (events === null) throw new BeaverError('not_found', `There is no task ${JSON.stringify(path.task_id)}.`)
    return eventStream(numbered(events, after), options)
  },
)

/** How long the journal may take to give the first event of a task. The log of a task that exists has one. */
const watchMsMax = 3_000

/** The events, when the first of them is there. `null`: none came in time. */
async function begunWithin(ms: number, watch: (signal: AbortSignal) => AsyncGenerator<RecordedEvent>): Promise<AsyncGenerator<RecordedEvent> | null> {
  const given = new AbortController()
  const late = setTimeout(() => given.abort(), ms)
  try {
    return (await begun(watch(given.signal)))?.all ?? null
  } finally {
    clearTimeout(late)
  }
}

async function* numbered(events: AsyncGenerator<RecordedEvent>, after: number): AsyncGenerator<ServerSentEvent> {
  for await (const event of events) if (event.taskseq > after) yield { id: String(event.taskseq), event: event.type, data: event }
}

/** Where a route stands that controls a task. */
function controlOf(verb: 'cancel' | 'steer' | 'retry', gives: string) {
  const { says, output } = requestContracts[`task.${verb}`]
  return {
    ...control,
    method: 'post',
    at: `/api/v1/tasks/{task_id}/${verb}`,
    name: `${verb}Task`,
    says,
    answer: { status: 202, says: gives, schema: output },
  } as const
}

const cancelling = route(
  controlOf('cancel', 'The journal has the request.'),
  { path: inPath, body: fieldsOf(requestContracts['task.cancel'].input, ['task_id', 'user_id']).extend({ reason: z.string().min(1).max(1_000).optional() }) },
  async ({ path, body, host, caller }) => {
    const { reason = `Cancelled by ${caller.name}.`, node_id } = body as { reason?: string; node_id?: string }
    await host.client().cancel(path.task_id, reason, { nodeId: node_id, userId: caller.userId })
    return json({ task_id: path.task_id, node_id: node_id ?? null }, { status: 202 })
  },
)

const steering = route(
  controlOf('steer', 'The journal has the text.'),
  { path: inPath, headers: idempotencyKey, body: fieldsOf(requestContracts['task.steer'].input, ['task_id', 'user_id']) },
  async ({ path, headers, body, host, caller }) => {
    const { text, request_id } = body as { text: string; request_id?: string }
    const key = headers['idempotency-key']
    const requestId = request_id ?? (key === undefined ? undefined : keyedId(caller, key))
    return json(await host.client().steer(path.task_id, text, { requestId, userId: caller.userId }), { status: 202 })
  },
)

const retrying = route(controlOf('retry', 'The new task is accepted.'), { path: inPath }, async ({ path, host, caller }) => {
  const retried = await host.client().retry(path.task_id, { userId: caller.userId })
  return json(retried, { status: 202, headers: { location: `/api/v1/tasks/${encodeURIComponent(retried.task_id)}` } })
})

const decision = z.strictObject({
  call_id: z.string().min(1).max(100_000).describe('The id of the call, as in the list of approvals.'),
  call_hash: z.string().optional().describe('The hash of what was shown to the person. A decision about a call with another hash is refused.'),
  reason: z.string().max(1_000).optional().describe('Why the call is refused. The model reads it.'),
})

const deciding = (['approve', 'deny'] as const).map((verb) =>
  route(
    {
      tag: 'approvals',
      role: 'approve',
      method: 'post',
      at: `/api/v1/tasks/{task_id}/${verb}`,
      name: `${verb}Call`,
      says: verb === 'approve' ? 'Lets a call run that waits for an approval.' : 'Refuses a call that waits for an approval. The model reads the reason.',
      answer: { status: 200, says: 'The journal has the decision.', schema: requestContracts['task.decide'].output },
    },
    { path: inPath, body: decision },
    async ({ path, body, host, caller }) => {
      const approved = verb === 'approve'
      const { call_id: callId, call_hash: callHash, reason } = body
      await host.client().decide(path.task_id, { callId, callHash, approved, reason, userId: caller.userId })
      return json({ task_id: path.task_id, call_id: callId, approved })
    },
  ),
)

const waiting = queryRoute('approvals', { tag: 'approvals', at: '/api/v1/approvals', name: 'listApprovals', gives: 'A page of calls.' })

export const taskRoutes: readonly Route[] = [submitting, listing, ...showing, following, cancelling, steering, retrying, ...deciding, waiting]
