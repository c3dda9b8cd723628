// POST /v1/responses and the routes that belong to it: a conversation that Beaver keeps.
// `previous_response_id` continues in the session of that response. The agent gets the conversation up to
// that response, even if the session has more tasks by now, because OpenAI's responses form a tree. If the
// previous response asks a question, the message answers it, and that task continues. If it ends with calls of
// the client's tools, items of the type function_call_output answer them, also without `previous_response_id`
// (call-answers.ts). A caller with a user sees only the responses of this user; others do not exist for it.
import type { SubmitTask } from '@beaver/contracts'
import { BeaverError, isTerminalTaskEvent } from '@beaver/core'
import type { OutputChange, OutputItem } from '@beaver/core/task-view'
import { z } from 'zod'
import { type Caller, doneFor, hasRole, reaches, userOf } from '../access.ts'
import { mayAnswer } from '../answer-question.ts'
import type { Asker } from '../host.ts'
import { idempotencyKey } from '../idempotency.ts'
import { type Asked, json, type RequestParts, type Route, route } from '../route.ts'
import { eventStream, type ServerSentEvent } from '../sse.ts'
import { begun } from '../reported-items.ts'
import { callAnswersIn, resumedByCalls } from './call-answers.ts'
import { toolsOf } from './client-tools.ts'
import { content, conversationOf, type EarlierCall, invalid, messagesMax, type Turn } from './conversation.ts'
import { EarlierItems } from './earlier-items.ts'
import {
  ended,
  type Repeatable,
  repeatable,
  streamFailure,
  type WorkUpdate,
  workUpdates,
  whoAsks,
  type Work,
} from './follow-work.ts'
import {
  type NamedQuestion,
  questionAnswered,
  questionText,
  type Resumed,
  resumedBy,
} from './open-question.ts'
import { OpenAiError, openAiFailure, quotaCode } from './openai-error.ts'
import { common, format, formOf, isSet, refuseSet, schemaOf, workOf } from './parameters.ts'
import { effortParameter, modelSettingsOf, otherSettings, settingsIn, tokensParameter } from './settings.ts'
import {
  namesIn,
  partOf,
  type ReadResponse,
  readResponse,
  responseId,
  type ResponseName,
  responseObject,
  ResponseView,
  type RequestFields,
  shownItem,
  type Sight,
} from './response-object.ts'

const inputItem = z.looseObject({
  type: z.string().max(100).nullish(),
  role: z.string().max(100).nullish(),
  content: content.nullish(),
  id: z.string().max(1_000).nullish(),
  call_id: z.string().min(1).max(1_000).nullish().describe('The id of a call of the client.'),
  name: z.string().nullish(),
  arguments: z.string().nullish(),
  output: content.nullish().describe('In a function_call_output: what the call returned, as a text.'),
})

type InputItem = z.infer<typeof inputItem>

const responseRequest = z.looseObject({
  ...common,
  input: z
    .union([z.string(), z.array(inputItem).min(1).max(messagesMax)])
    .describe('The task, or the messages, oldest first. The last message of the user is the task.'),
  instructions: z.string().nullish().describe('What the agent must keep to besides the task.'),
  previous_response_id: z
    .string()
    .min(1)
    .max(200)
    .nullish()
    .describe('The response with which the conversation goes on.'),
  store: z
    .boolean()
    .nullish()
    .describe(
      'Whether the response can be read by its id. The journal has the task in any case. Default: true.',
    ),
  background: z
    .boolean()
    .nullish()
    .describe('Whether the answer comes at once, and the task goes on without its client.'),
  max_output_tokens: tokensParameter,
  reasoning: z
    .looseObject({ effort: effortParameter })
    .nullish()
    .describe('effort: how much the model of the root agent thinks.'),
  text: z
    .looseObject({ format: format.nullish(), verbosity: z.string().max(64).nullish() })
    .nullish()
    .describe('format: text, json_object, or json_schema: code checks the answer against it.'),
})
type ResponseRequest = z.infer<typeof responseRequest>

const reasons = {
  conversation: 'use "previous_response_id".',
  prompt: 'the profile of the agent has its prompt.',
  top_logprobs: 'an answer may come from several models.',
  max_tool_calls: 'the budget of the profile bounds its calls.',
}

/** The types of earlier output items that are ignored: the agent gets the text that resulted from them. */
const skipped: ReadonlySet<string> = new Set(['reasoning', 'mcp_call', 'mcp_list_tools'])

function turnsOf(input: ResponseRequest['input'], said: EarlierItems): Turn[] {
  if (typeof input === 'string') return [{ role: 'user', content: input, at: 'input' }]
  return input.flatMap((item, i) => {
    const { role, content } = item
    const type = item.type ?? 'message'
    const at = `input[${i}]`
    if (skipped.has(type)) return []
    if (type === 'item_reference') return said.turn(item.id ?? '', at)
    if (type === 'function_call') return [{ role: 'assistant', content: null, at, calls: [callIn(item, at)] }]
    if (type === 'function_call_output')
      return [{ role: 'tool', content: item.output, at, answers: mustBeThere(item.call_id, `${at}.call_id`) }]
    if (typeof role === 'string' && type === 'message') return [{ role, content, at }]
    throw new OpenAiError(
      400,
      'unsupported_value',
      `${at} is of the type ${JSON.stringify(item.type ?? null)}, which Beaver's agents cannot use. Leave it out.`,
      {
        param: `${at}.type`,
      },
    )
  })
}

const callIn = ({ call_id: id, name, arguments: written }: InputItem, at: string): EarlierCall => ({
  id: mustBeThere(id, `${at}.call_id`),
  name: mustBeThere(name, `${at}.name`),
  arguments: written ?? '',
})

/** @throws {OpenAiError} `invalid_value` */
function mustBeThere(value: string | null | undefined, param: string): string {
  if (value === undefined || value === null || value === '')
    throw invalid(param, `${param} is missing. Send the item as it came.`)
  return value
}

const taskIdCharsMax = 128

const sightOf = (caller: Caller): Sight => ({ results: hasRole(caller, 'read') })

/** Reads a response. `null`: there is none that the caller may see. */
async function seen({ host, caller }: Asker, id: string): Promise<(ReadResponse & ResponseName) | null> {
  for (const { taskId, after } of namesIn(id)) {
    if (taskId.length > taskIdCharsMax) continue
    const read = await readResponse(host.client().events(taskId), {
      after,
      asking: (askingTaskId, asked) => questionText(askingTaskId, asked, caller),
      may: ({ request }) => reaches(caller, request.user_id),
    })
    if (read !== null) return { ...read, taskId, after }
  }
  return null
}

async function mustSee(asker: Asker, id: string): Promise<ReadResponse & ResponseName> {
  const response = await seen(asker, id)
  if (response === null)
    throw new OpenAiError(404, 'not_found', `There is no response ${JSON.stringify(id)}.`, {
      param: 'response_id',
    })
  return response
}

/** The earlier response that a request names. @throws {OpenAiError} `previous_response_not_found` */
async function mustReach(asker: Asker, id: string, userId: string | undefined): Promise<ResponseView> {
  const view = (await seen(asker, id))?.view
  if (view === undefined || (userId !== undefined && userId !== view.submitted?.request.user_id))
    throw new OpenAiError(400, 'previous_response_not_found', `There is no response ${JSON.stringify(id)}.`, {
      param: 'previous_response_id',
    })
  return view
}

/**
 * How a request continues a response: it answers the question of that response, or it begins a new task in
 * the same session with the conversation up to that response.
 *
 * @throws {OpenAiError} `previous_response_not_found`
 */
async function goingOn(
  asker: Asker,
  id: string,
  userId: string | undefined,
): Promise<NamedQuestion | Pick<SubmitTask, 'session_id' | 'history_until' | 'user_id'>> {
  const view = await mustReach(asker, id, userId)
  const submitted = view.submitted as NonNullable<typeof view.submitted>
  const [call] = view.clientCalls
  if (call !== undefined)
    throw invalid(
      'input',
      `No tool output found for function call ${call}. The response ${id} waits for it. Send an item of the type function_call_output, or cancel the response.`,
    )
  const { session_id, task_id, request } = submitted
  if (view.asks !== null && mayAnswer(asker.caller, view.asks))
    return { taskId: task_id, taskseq: view.asks.taskseq }
  return {
    session_id,
    history_until: task_id,
    ...(request.user_id === undefined ? {} : { user_id: request.user_id }),
  }
}

interface Wanted extends Work {
  readonly requestFields: RequestFields
}

async function wantedOf(
  body: ResponseRequest,
  asker: Pick<Asked<RequestParts>, 'host' | 'caller' | 'options' | 'signal'>,
  { key, again }: Repeatable,
): Promise<Wanted> {
  refuseSet(body, reasons)
  const background = body.background === true
  const stored = body.store !== false
  if (background && !stored)
    throw invalid('background', 'A response in the background must be stored. Leave "store" out.')
  const settings = settingsIn(
    body.model,
    [
      { field: 'temperature', param: 'temperature', value: body.temperature },
      { field: 'top_p', param: 'top_p', value: body.top_p },
      { field: 'output_tokens_max', param: 'max_output_tokens', value: body.max_output_tokens },
      { field: 'reasoning_effort', param: 'reasoning.effort', value: body.reasoning?.effort },
    ],
    [...otherSettings(body), { param: 'text.verbosity', value: body.text?.verbosity, may: ['medium'] }],
  )
  const tools = toolsOf(body)
  const turns = turnsOf(body.input, await EarlierItems.of(body.input, asker))
  const schema = schemaOf(body.text?.format, 'text.format')
  const who = whoAsks(asker, { userId: userOf(asker.caller, body.user ?? undefined), key, again })
  const previousId = isSet(body.previous_response_id) ? (body.previous_response_id as string) : null
  const live = body.stream === true
  const requestFields = {
    metadata: body.metadata ?? {},
    background,
    previousId,
    stored,
    format: body.text?.format ?? null,
    ...(body.tools === undefined || body.tools === null ? {} : { tools: body.tools }),
    ...(body.tool_choice === undefined || body.tool_choice === null ? {} : { choice: body.tool_choice }),
    parallel: body.parallel_tool_calls ?? true,
  }
  const goesOn = again === null
  const single = body.parallel_tool_calls === false
  const goingOnWith = (task: Resumed): Wanted => ({
    task,
    goesOn,
    again,
    live,
    single,
    requestFields: { ...requestFields, after: task.after },
  })
  const resumed = again?.left?.resumed
  if (resumed !== undefined) return goingOnWith(resumed)
  const answers = callAnswersIn(turns)
  if (answers !== null) {
    if (previousId !== null) await mustReach(asker, previousId, who.user_id)
    const format = { schema, settings, formatParam: 'text.format', param: 'input' }
    const answered = await resumedByCalls(answers, body, asker, format)
    if (answered !== null) return goingOnWith(answered)
  }
  const conversation = conversationOf(turns, {
    ownInstructions: body.instructions ?? null,
    param: 'input',
    origins: asker.options.imageOrigins,
  })
  const previous =
    previousId === null
      ? (questionAnswered(conversation) ?? {})
      : await goingOn(asker, previousId, who.user_id)
  if ('taskseq' in previous) return goingOnWith(await resumedBy(conversation.task, previous, asker))
  const { history_until: until, ...on } = previous
  const work = await workOf(body.model, conversation, { ...asker, param: 'input' })
  const task: SubmitTask = {
    ...work,
    ...who,
    ...on,
    ...(until === undefined || work.workflow !== undefined ? {} : { history_until: until }),
    ...formOf(schema, work),
    ...tools,
    ...modelSettingsOf(settings),
  }
  return { task, goesOn, again, live, single, whole: schema !== null, requestFields }
}

const place = { tag: 'openai', role: 'submit', method: 'post' } as const

const creating = route(
  {
    ...place,
    takesImages: true,
    at: '/v1/responses',
    name: 'createResponse',
    says: 'As OpenAI\'s Responses: an agent or a workflow answers, and the conversation goes on by "previous_response_id".',
    answer: {
      status: 200,
      says: 'The response. One that failed is a response with an error.',
      schema: responseObject,
      events:
        'response.created, response.in_progress, the events of the items, one of response.completed, .incomplete and .failed, and [DONE].',
    },
  },
  { headers: idempotencyKey, body: responseRequest },
  async (asked) => {
    const { body, headers, host, caller, options, signal } = asked
    const repeats = { key: headers['idempotency-key'], background: body.background === true }
    const { requestFields, ...work } = await repeatable(asked, repeats, (repeat) =>
      wantedOf(body, { host, caller, options, signal }, repeat),
    )
    const sight = sightOf(caller)
    if (body.stream === true) {
      const stream = await begun(workUpdates(asked, work))
      if (stream === null)
        throw new OpenAiError(500, 'internal', 'The task ended before it began.', { again: false })
      const taskId = 'begun' in stream.first ? stream.first.begun.task_id : ''
      return eventStream(responseEvents(stream.all, requestFields, sight), {
        ...options,
        errorData: streamFailure,
        headers: { 'x-request-id': taskId },
      })
    }
    if (requestFields.background === true) {
      const taskId =
        'after' in work.task ? work.task.submitted.task_id : (await host.client().submit(work.task)).task_id
      const { view, items, from } = (await seen(
        { host, caller },
        responseId(taskId, { after: requestFields.after }),
      )) ?? {
        view: new ResponseView(),
        items: [],
        from: 0,
      }
      return json(view.object(items, requestFields, { ...sight, from }), {
        headers: { 'x-request-id': taskId },
      })
    }
    const { output, view, from } = await ended(asked, work)
    return json(view.object(output.items.slice(from), requestFields, { ...sight, from }), {
      headers: { 'x-request-id': view.submitted?.task_id ?? '' },
    })
  },
)

const inPath = z.strictObject({ response_id: z.string().min(1).max(200).describe('The id of the response.') })

/** The response as JSON. A caller without the role `read` sees how it ended, but not its output. */
function shown({ view, items, from, after }: ReadResponse & ResponseName, caller: Caller): Response {
  const sight = sightOf(caller)
  return json(view.object(sight.results ? items : [], { after }, { ...sight, from }))
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
  {
    path: inPath,
    query: z.looseObject({
      stream: z.boolean().optional().describe('Must be absent: follow the task instead.'),
    }),
  },
  async ({ path, query, host, caller }) => {
    refuseSet(query, { stream: 'follow the task at /api/v1/tasks/{task_id}/events, or ask again.' })
    return shown(await mustSee({ host, caller }, path.response_id), caller)
  },
)

/** How long the answer waits for the end of the cancelled task, in milliseconds. */
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
    if (before.view.result !== null) return shown(before, caller)
    const { taskId } = before
    const client = host.client()
    await client
      .cancel(taskId, `Cancelled by ${caller.name}.`, { userId: doneFor(caller) })
      .catch((error: unknown) => {
        if (!(error instanceof BeaverError && error.code === 'conflict')) throw error
      })
    for await (const { type } of client.watch(taskId, { signal: AbortSignal.timeout(cancelMsMax) }))
      if (isTerminalTaskEvent(type)) break
    return shown(await mustSee(asker, path.response_id), caller)
  },
)

export const responseRoutes: readonly Route[] = [creating, showing, cancelling]

// The events of a streamed response, in the order that OpenAI's Responses and Open Responses require.
// response.created and response.in_progress come first. Exactly one of response.completed, .incomplete and
// .failed comes last, followed by [DONE]. The sequence numbers count from 0 without gaps. If the stream
// fails, `error` gives the reason, and response.failed ends it.

type Fields = Readonly<Record<string, unknown>>

async function* responseEvents(
  all: AsyncGenerator<WorkUpdate>,
  requestFields: RequestFields,
  sight: Sight,
): AsyncGenerator<ServerSentEvent | string> {
  let view = new ResponseView()
  const items: OutputItem[] = []
  let from = 0
  let sequence = 0
  const event = (type: string, fields: Fields): ServerSentEvent => ({
    event: type,
    data: { type, sequence_number: sequence++, ...fields },
  })
  const now = (over: Fields = {}): Fields => ({
    response: { ...view.object(items, requestFields, { ...sight, from }), ...over },
  })
  try {
    for await (const item of all) {
      if ('begun' in item) {
        view = item.view
        from = item.from
        yield event('response.created', now({ status: 'in_progress' }))
        yield event('response.in_progress', now({ status: 'in_progress' }))
      } else if ('step' in item) {
        const step = { ...item.step, index: item.step.index - from }
        items[step.index] = itemAfter(step, items[step.index])
        for (const [type, fields] of stepEvents(step, items, {
          taskId: view.submitted?.task_id ?? '',
          from,
          ...sight,
        }))
          yield event(type, fields)
      } else {
        const { status } = view.object(items, requestFields, { ...sight, from })
        yield event(
          `response.${status === 'completed' || status === 'incomplete' ? status : 'failed'}`,
          now(),
        )
      }
    }
  } catch (thrown) {
    const { error } = openAiFailure(thrown)
    const { code, message, param } = error
    yield event('error', { code, message, param, error })
    yield event(
      'response.failed',
      now({ status: 'failed', error: { code: code === quotaCode ? code : 'server_error', message } }),
    )
  }
  yield '[DONE]'
}

function itemAfter(step: OutputChange, before: OutputItem | undefined): OutputItem {
  if (step.kind !== 'text') return step.item
  if (before?.kind !== 'text') throw new TypeError('A piece of a text belongs to no text.')
  return { ...before, text: before.text + step.delta }
}

type Place = { readonly taskId: string; readonly from: number } & Sight

function stepEvents(
  step: OutputChange,
  items: readonly OutputItem[],
  place: Place,
): [type: string, fields: Fields][] {
  const { index } = step
  const there = items[index] as OutputItem
  const shownPlace = { ...place, index: index + place.from }
  const at = { item_id: shownItem(there, shownPlace).id, output_index: index }
  const isRefusal = there.kind === 'text' && there.refusal === true
  if (step.kind === 'text' && isRefusal)
    return [['response.refusal.delta', { ...at, content_index: 0, delta: step.delta }]]
  if (step.kind === 'text')
    return [['response.output_text.delta', { ...at, content_index: 0, delta: step.delta, logprobs: [] }]]
  const { item } = step
  if (item.kind === 'call' && item.requestedAt !== undefined)
    return step.kind === 'ended' ? [] : functionCallEvents(shownItem(item, shownPlace), at)
  const shown = { output_index: index, item: shownItem(item, shownPlace) }
  if (item.kind === 'text') {
    if (step.kind === 'begun')
      return [
        ['response.output_item.added', shown],
        ['response.content_part.added', { ...at, content_index: 0, part: partOf(item, '') }],
      ]
    return [
      isRefusal
        ? ['response.refusal.done', { ...at, content_index: 0, refusal: item.text }]
        : ['response.output_text.done', { ...at, content_index: 0, text: item.text, logprobs: [] }],
      ['response.content_part.done', { ...at, content_index: 0, part: partOf(item, item.text) }],
      ['response.output_item.done', shown],
    ]
  }
  if (step.kind === 'begun')
    return [
      ['response.output_item.added', { output_index: index, item: { ...shown.item, arguments: '' } }],
      ['response.mcp_call.in_progress', at],
      ['response.mcp_call_arguments.delta', { ...at, delta: item.arguments }],
      ['response.mcp_call_arguments.done', { ...at, arguments: item.arguments }],
    ]
  return [
    [`response.mcp_call.${item.result?.success === true ? 'completed' : 'failed'}`, at],
    ['response.output_item.done', shown],
  ]
}

/** A call of a tool of the client. Its result is never told: the client sends it. */
function functionCallEvents(
  item: Fields,
  at: { readonly item_id: string; readonly output_index: number },
): [type: string, fields: Fields][] {
  const { output_index } = at
  const { arguments: written, name } = item
  return [
    ['response.output_item.added', { output_index, item: { ...item, status: 'in_progress', arguments: '' } }],
    ['response.function_call_arguments.delta', { ...at, delta: written }],
    ['response.function_call_arguments.done', { ...at, name, arguments: written }],
    ['response.output_item.done', { output_index, item }],
  ]
}
