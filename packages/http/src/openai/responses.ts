// POST /v1/responses and what belongs to it: a conversation that Beaver keeps.
// N1. `previous_response_id` goes on in the session of that response. If the session has gone on already, the new response begins a session of its
//     own, which is given the conversation up to the response that it names.
// N2. A caller with a user sees the responses of this user alone. Every other response does not exist for it.
import { type RecordedEvent, isTerminalTaskEvent } from '@beaver/core'
import type { SubmitTask } from '@beaver/contracts'
import { z } from 'zod'
import { type Caller, userOf } from '../access.ts'
import type { TaskHost } from '../host.ts'
import { idempotencyKey } from '../idempotency.ts'
import { json, type Route, route } from '../route.ts'
import { eventStream } from '../sse.ts'
import { begun } from '../told.ts'
import { content, conversationOf, invalid, messagesMax, type Turn } from './conversation.ts'
import { ended, toldOf, whoAsks, type Work } from './follow-work.ts'
import { OpenAiError } from './openai-error.ts'
import { common, evidenceOf, format, isSet, refuseSet, refuseTools, workOf } from './parameters.ts'
import { outputOf, responseObject, type Said, type Sight, taskIdOf } from './response-object.ts'
import { responseEvents } from './response-events.ts'

const inputItem = z.looseObject({ type: z.string().max(100).nullish(), role: z.string().max(100).nullish(), content: content.nullish() })

const responseRequest = z.looseObject({
  ...common,
  input: z
    .union([z.string(), z.array(inputItem).min(1).max(messagesMax)])
    .describe('The task, or the messages, oldest first. The last message of the user is the task.'),
  instructions: z.string().nullish().describe('What the agent must keep to besides the task.'),
  previous_response_id: z.string().min(1).max(200).nullish().describe('The response with which the conversation goes on.'),
  store: z.boolean().nullish().describe('Whether the response can be read by its id. The journal has the task in any case. Default: true.'),
  background: z.boolean().nullish().describe('Whether the answer comes at once, and the task goes on without its client.'),
  text: z.looseObject({ format: format.nullish() }).nullish().describe('format: text, json_object, or json_schema: code checks the answer against it.'),
})
type ResponseRequest = z.infer<typeof responseRequest>

const reasons = {
  conversation: 'use "previous_response_id".',
  prompt: 'the profile of the agent has its prompt.',
  top_logprobs: 'an answer may come from several models.',
}

/** Items of earlier answers that say nothing to an agent: it is told the text that came of them. */
const skipped: ReadonlySet<string> = new Set(['reasoning', 'mcp_call', 'mcp_list_tools'])

function turnsOf(input: ResponseRequest['input']): Turn[] {
  if (typeof input === 'string') return [{ role: 'user', content: input, at: 'input' }]
  return input.flatMap(({ type, role, content: said }, i) => {
    const at = `input[${i}]`
    if (type !== undefined && type !== null && skipped.has(type)) return []
    if (typeof role === 'string' && (type ?? 'message') === 'message') return [{ role, content: said, at }]
    throw new OpenAiError(400, 'unsupported_value', `${at} is of the type ${JSON.stringify(type ?? null)}, which Beaver's agents cannot use. Leave it out.`, {
      param: `${at}.type`,
    })
  })
}

interface Asker {
  readonly host: TaskHost
  readonly caller: Caller
}

const sightOf = ({ roles }: Caller): Sight => ({ results: roles.includes('read') || roles.includes('admin') })

async function eventsOf({ host }: Pick<Asker, 'host'>, taskId: string): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const event of host.client().events(taskId)) events.push(event)
  return events
}

/** The log of the task of a response. `null`: there is none that the caller may see. */
async function seen({ host, caller }: Asker, id: string): Promise<readonly RecordedEvent[] | null> {
  const taskId = taskIdOf(id)
  if (taskId === null || taskId.length > 128) return null
  const events = await eventsOf({ host }, taskId)
  const [first] = events
  if (first?.type !== 'task_submitted') return null
  return caller.userId === undefined || first.data.request.user_id === caller.userId ? events : null
}

async function mustSee(asker: Asker, id: string): Promise<readonly RecordedEvent[]> {
  const events = await seen(asker, id)
  if (events === null) throw new OpenAiError(404, 'not_found', `There is no response ${JSON.stringify(id)}.`, { param: 'response_id' })
  return events
}

/** How a response goes on from another one: in its session, or with a copy of the conversation. */
async function goingOn(
  asker: Asker,
  id: string,
  of: { readonly userId: string | undefined; readonly taskId: string | undefined },
): Promise<Pick<SubmitTask, 'session_id' | 'history' | 'user_id'>> {
  const events = await seen(asker, id)
  const [first] = events ?? []
  const missing = new OpenAiError(400, 'previous_response_not_found', `There is no response ${JSON.stringify(id)}.`, { param: 'previous_response_id' })
  if (events === null || first?.type !== 'task_submitted') throw missing
  const { session_id, task_id, request } = first.data
  if (of.userId !== undefined && of.userId !== request.user_id) throw missing
  const user = request.user_id === undefined ? {} : { user_id: request.user_id }
  const { sessions } = asker.host.client()
  const [again] = of.taskId === undefined ? [] : await eventsOf(asker, of.taskId)
  const repeated = again?.type === 'task_submitted' ? again.data.session_id === session_id : null
  const over = events.some(({ type }) => isTerminalTaskEvent(type))
  const newest = repeated === null && over ? (await sessions.getVisibleHistory(session_id, { tasksMax: 1 })).at(-1)?.task_id : task_id
  if (repeated ?? newest === task_id) return { session_id, ...user }
  const history = await sessions.getVisibleHistory(session_id, { until: task_id })
  return { history: history.map(({ role, content: text }) => ({ role, content: text })), ...user }
}

interface Wanted extends Work {
  readonly said: Said
}

async function wantedOf(body: ResponseRequest, asker: Asker, key: string | undefined): Promise<Wanted> {
  refuseTools(body, ['tools'])
  refuseSet(body, reasons)
  const background = body.background === true
  const stored = body.store !== false
  if (background && !stored) throw invalid('background', 'A response in the background must be stored. Leave "store" out.')
  const conversation = conversationOf(turnsOf(body.input), { given: body.instructions ?? null, param: 'input' })
  const evidence = evidenceOf(body.text?.format, 'text.format')
  const who = whoAsks(asker, { userId: userOf(asker.caller, body.user ?? undefined), key })
  const previousId = isSet(body.previous_response_id) ? (body.previous_response_id as string) : null
  const on = previousId === null ? {} : await goingOn(asker, previousId, { userId: who.user_id, taskId: who.task_id })
  const work = await workOf(body.model, conversation, { host: asker.host, param: 'input' })
  const history = [...(on.history ?? []), ...(work.history ?? [])]
  const task: SubmitTask = {
    ...work,
    ...who,
    ...on,
    ...(evidence === null ? {} : { required_evidence: [...evidence] }),
    ...(work.workflow === undefined && history.length > 0 ? { history } : {}),
  }
  if (work.workflow !== undefined) delete (task as { history?: unknown }).history
  const said = { metadata: body.metadata ?? {}, background, previousId, stored, format: body.text?.format ?? null }
  return { task, goesOn: key !== undefined || background, live: body.stream === true, whole: evidence !== null, said }
}

const place = { tag: 'openai', role: 'submit', method: 'post' } as const

const creating = route(
  {
    ...place,
    at: '/v1/responses',
    name: 'createResponse',
    says: 'As OpenAI\'s Responses: an agent or a workflow answers, and the conversation goes on by "previous_response_id".',
    answer: {
      status: 200,
      says: 'The response. One that failed is a response with an error.',
      schema: responseObject,
      events: 'response.created, response.in_progress, the events of the items, one of response.completed, .incomplete and .failed, and [DONE].',
    },
  },
  { headers: idempotencyKey, body: responseRequest },
  async (asked) => {
    const { body, headers, host, caller, options } = asked
    const { said, ...work } = await wantedOf(body, { host, caller }, headers['idempotency-key'])
    const sight = sightOf(caller)
    if (body.stream === true) {
      const gone = new AbortController()
      const stream = await begun(toldOf(asked, work, gone.signal))
      if (stream === null) throw new OpenAiError(500, 'internal', 'The task ended before it began.', { again: false })
      const taskId = 'begun' in stream.first ? stream.first.begun.task_id : ''
      return eventStream(responseEvents(stream.all, said, sight), { ...options, onGone: () => gone.abort(), headers: { 'x-request-id': taskId } })
    }
    if (said.background === true) {
      const { task_id: taskId } = await host.client().submit(work.task)
      const { view, items } = outputOf(await eventsOf({ host }, taskId), { whole: work.whole === true })
      return json(view.object(items, said, sight), { headers: { 'x-request-id': taskId } })
    }
    const { output, result, view } = await ended(asked, work)
    return json(view.object(output.items, said, sight), { headers: { 'x-request-id': result.task_id } })
  },
)

const inPath = z.strictObject({ response_id: z.string().min(1).max(200).describe('The id of the response.') })

/** The response of a log. A task that must have JSON is told whole, as it was when it was asked for. */
function shown(events: readonly RecordedEvent[], caller: Caller): Response {
  const [first] = events
  const checks = first?.type === 'task_submitted' ? (first.data.request.required_evidence ?? []) : []
  const whole = checks.some((each) => typeof each === 'object' && each.kind === 'output_schema')
  const { view, items } = outputOf(events, { whole })
  return json(view.object(items, {}, sightOf(caller)))
}

const showing = route(
  {
    tag: 'openai',
    role: 'read',
    method: 'get',
    at: '/v1/responses/{response_id}',
    name: 'showResponse',
    says: 'A response, also one that has not ended.',
    answer: { status: 200, says: 'The response so far.', schema: responseObject },
  },
  { path: inPath, query: z.looseObject({ stream: z.boolean().optional().describe('Must be absent: follow the task instead.') }) },
  async ({ path, query, host, caller }) => {
    refuseSet(query, { stream: 'follow the task at /api/v1/tasks/{task_id}/events, or ask again.' })
    return shown(await mustSee({ host, caller }, path.response_id), caller)
  },
)

/** How long the answer waits for the end of the task. */
const cancelMsMax = 5_000

const cancelling = route(
  {
    ...place,
    at: '/v1/responses/{response_id}/cancel',
    name: 'cancelResponse',
    says: 'Cancels a response that has not ended.',
    answer: { status: 200, says: 'The response.', schema: responseObject },
  },
  { path: inPath },
  async ({ path, host, caller }) => {
    const asker = { host, caller }
    const before = await mustSee(asker, path.response_id)
    if (before.some(({ type }) => isTerminalTaskEvent(type))) return shown(before, caller)
    const taskId = taskIdOf(path.response_id) ?? ''
    const client = host.client()
    await client.cancel(taskId, `Cancelled by ${caller.name}.`).catch((error: unknown) => {
      if ((error as { code?: string }).code !== 'conflict') throw error
    })
    for await (const { type } of client.watch(taskId, { signal: AbortSignal.timeout(cancelMsMax) })) if (isTerminalTaskEvent(type)) break
    return shown(await mustSee(asker, path.response_id), caller)
  },
)

export const responseRoutes: readonly Route[] = [creating, showing, cancelling]
