// POST /v1/chat/completions: an agent or a workflow answers a conversation that the client keeps. Each
// request is a task in a session of its own, because the next request contains the whole conversation again.
// If the task asks a question, the question is the answer of the assistant, and the next message answers it,
// so the task continues (open-question.ts). If the root agent calls tools of the client, the answer ends with
// these calls, and the messages of the role "tool" in the next request answer them (call-answers.ts). Without a stream, the answer is the final text of the task. A
// stream contains everything that the root agent says, with an empty line between texts.
import { withoutFence } from '@beaver/core/evidence'
import type { AgentRunResult } from '@beaver/core/task-view'
import { z } from 'zod'
import { userOf } from '../access.ts'
import { clientCallId, type WaitingCall } from '../client-calls.ts'
import { idempotencyKey } from '../idempotency.ts'
import { type Asked, json, type RequestParts, type Route, route } from '../route.ts'
import { eventStream, type ServerSentEvent } from '../sse.ts'
import { begun } from '../reported-items.ts'
import { callAnswersIn, resumedByCalls } from './call-answers.ts'
import { toolsOf } from './client-tools.ts'
import { content, conversationOf, invalid, messagesMax, type Turn } from './conversation.ts'
import {
  ended,
  type Ended,
  type Repeatable,
  repeatable,
  type WorkUpdate,
  workUpdates,
  whoAsks,
  type Work,
  streamFailure,
} from './follow-work.ts'
import { openAiFailure, OpenAiError, quotaError } from './openai-error.ts'
import { questionAnswered, resumedBy } from './open-question.ts'
import { wasCutOff } from './response-object.ts'
import { effortParameter, modelSettingsOf, otherSettings, settingsIn, tokensParameter } from './settings.ts'
import { common, formOf, format, isSet, refuseSet, workOf, schemaOf } from './parameters.ts'

const earlierCall = z.looseObject({
  id: z.string().min(1).max(1_000),
  type: z.string().max(100).nullish(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }).nullish(),
})

const completionRequest = z.looseObject({
  ...common,
  messages: z
    .array(
      z.looseObject({
        role: z.string().max(100),
        content: content.nullish(),
        refusal: z.string().nullish(),
        tool_calls: z.array(earlierCall).max(1_000).nullish().describe('The calls of an earlier answer.'),
        tool_call_id: z
          .string()
          .max(1_000)
          .nullish()
          .describe('In a message of the role tool: the id of the call that it answers.'),
      }),
    )
    .min(1)
    .max(messagesMax)
    .describe(
      'The conversation, oldest first. The last message of the user is the task. Messages of the role tool at the end answer calls.',
    ),
  n: z.int().nullish().describe('Must be 1 or absent.'),
  max_tokens: tokensParameter,
  max_completion_tokens: tokensParameter,
  reasoning_effort: effortParameter,
  verbosity: z.string().max(64).nullish().describe('Must be medium or absent.'),
  stop: z.unknown().optional().describe('Must be absent.'),
  response_format: format
    .nullish()
    .describe('text, json_object, or json_schema: code checks the answer against it.'),
  stream_options: z
    .looseObject({ include_usage: z.boolean().nullish() })
    .nullish()
    .describe('include_usage: the stream ends with the usage.'),
})
type CompletionRequest = z.infer<typeof completionRequest>

const usageShape = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z
    .object({ cached_tokens: z.int() })
    .optional()
    .describe('Absent: no tokens were read from a cache.'),
  completion_tokens_details: z
    .object({ reasoning_tokens: z.int() })
    .optional()
    .describe('Absent: no tokens were thoughts.'),
})

const completion = z.object({
  id: z
    .string()
    .describe(
      'chatcmpl- and the id of the task. If the request answered a question or calls, ~ and a place in its log follow.',
    ),
  object: z.literal('chat.completion'),
  created: z.int().describe('When the task was submitted, in seconds since 1970.'),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      message: z.object({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z
          .string()
          .nullable()
          .describe('A question, where the answer would be JSON. null: there is none.'),
        tool_calls: z
          .array(
            z.object({
              id: z.string(),
              type: z.literal('function'),
              function: z.object({ name: z.string(), arguments: z.string() }),
            }),
          )
          .optional()
          .describe('The calls that the client must make. Absent: there are none.'),
      }),
      finish_reason: z.enum(['stop', 'length', 'content_filter', 'tool_calls']),
      logprobs: z.null(),
    }),
  ),
  usage: usageShape.describe(
    'What all agents of the task used. A question and calls have none: the answer that ends the task counts all.',
  ),
})

const reasons = {
  n: 'an agent gives one answer.',
  stop: 'an answer ends where the agent ends it.',
  functions: 'it was replaced by "tools".',
  function_call: 'it was replaced by "tool_choice".',
  logprobs: 'an answer may come from several models.',
  top_logprobs: 'an answer may come from several models.',
  audio: "Beaver's agents write text.",
  modalities: "Beaver's agents write text.",
  seed: 'the profile of the agent says how its model is asked.',
  logit_bias: 'the profile of the agent says how its model is asked.',
  web_search_options: 'the profile of the agent says whether it searches.',
}

async function workFor(
  body: CompletionRequest,
  context: Pick<Asked<RequestParts>, 'host' | 'caller' | 'options' | 'signal'> & Repeatable,
): Promise<Work> {
  const onlyText = JSON.stringify(body['modalities']) === '["text"]'
  refuseSet(
    {
      ...body,
      n: body.n === 1 ? null : body.n,
      modalities: onlyText ? null : body['modalities'],
      // 0 is a seed, too.
      seed: body['seed'] === undefined || body['seed'] === null ? null : [body['seed']],
      logit_bias: JSON.stringify(body['logit_bias']) === '{}' ? null : body['logit_bias'],
    },
    reasons,
  )
  const settings = settingsIn(
    body.model,
    [
      { field: 'temperature', param: 'temperature', value: body.temperature },
      { field: 'top_p', param: 'top_p', value: body.top_p },
      {
        field: 'output_tokens_max',
        param: 'max_completion_tokens',
        value: body.max_completion_tokens,
      },
      { field: 'output_tokens_max', param: 'max_tokens', value: body.max_tokens },
      { field: 'reasoning_effort', param: 'reasoning_effort', value: body.reasoning_effort },
    ],
    [...otherSettings(body), { param: 'verbosity', value: body.verbosity, may: ['medium'] }],
  )
  const turns = body.messages.map(turnOf)
  const schema = schemaOf(body.response_format, 'response_format')
  const tools = toolsOf(body)
  const live = body.stream === true
  const { again } = context
  const goesOn = again === null
  const single = body.parallel_tool_calls === false
  const answers = callAnswersIn(turns)
  const answered =
    again?.left?.resumed ??
    (answers === null
      ? null
      : await resumedByCalls(answers, body, context, {
          schema,
          settings,
          formatParam: 'response_format',
          param: 'messages',
        }))
  if (answered !== null) return { task: answered, goesOn, again, live, single }
  const conversation = conversationOf(turns, {
    ownInstructions: null,
    param: 'messages',
    origins: context.options.imageOrigins,
  })
  const named = questionAnswered(conversation)
  if (named !== null)
    return { task: await resumedBy(conversation.task, named, context), goesOn, again, live, single }
  const work = await workOf(body.model, conversation, { ...context, param: 'messages' })
  const task = {
    ...work,
    ...whoAsks(context, { ...context, userId: userOf(context.caller, body.user ?? undefined) }),
    ...formOf(schema, work),
    ...tools,
    ...modelSettingsOf(settings),
  }
  return { task, goesOn, again, live, single, whole: schema !== null }
}

/** @throws {OpenAiError} */
function turnOf(
  {
    role,
    content,
    refusal,
    tool_calls: calls,
    tool_call_id: answers,
    ...more
  }: CompletionRequest['messages'][number],
  i: number,
): Turn {
  const at = `messages[${i}]`
  refuseSet(
    { [`${at}.function_call`]: more['function_call'] },
    { [`${at}.function_call`]: 'it was replaced by "tool_calls".' },
  )
  const turn = { role, content: content ?? refusal, at }
  if (role === 'tool') {
    if (answers === undefined || answers === null || answers === '')
      throw invalid(`${at}.tool_call_id`, `${at} answers a call. Name it as "tool_call_id".`)
    return { ...turn, answers }
  }
  if (!isSet(calls) || role !== 'assistant') return turn
  return {
    ...turn,
    calls: (calls ?? []).map(({ id, type, function: called }, j) => {
      if (called !== undefined && called !== null && (type ?? 'function') === 'function')
        return { id, name: called.name, arguments: called.arguments }
      throw new OpenAiError(
        400,
        'unsupported_value',
        `${at}.tool_calls[${j}] is of the type ${JSON.stringify(type ?? null)}. Only calls of functions are supported.`,
        { param: `${at}.tool_calls[${j}].type` },
      )
    }),
  }
}

const usageOf = ({
  usage: { input_tokens, output_tokens, cached_input_tokens: cached, reasoning_tokens: thoughts },
}: AgentRunResult): z.infer<typeof usageShape> => ({
  prompt_tokens: input_tokens,
  completion_tokens: output_tokens,
  total_tokens: input_tokens + output_tokens,
  ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  ...(thoughts === undefined ? {} : { completion_tokens_details: { reasoning_tokens: thoughts } }),
})

/** The reason why the answer ended. An incomplete task has `length`, as an answer that was cut off. */
function finishOf(result: AgentRunResult): 'stop' | 'length' | 'content_filter' {
  const { status, finish_reason: reason } = result
  if (reason === 'content_filter') return reason
  return reason === 'length' || status === 'incomplete' || wasCutOff(result) ? 'length' : 'stop'
}

/** @throws {OpenAiError} if the task has no answer */
function mustAnswer(result: AgentRunResult): void {
  const { status, failure, task_id: taskId, unfit_output: unfit } = result
  if (status === 'completed' || status === 'incomplete' || wasCutOff(result)) return
  const message = `The task ${taskId} ${status === 'cancelled' ? 'was cancelled' : 'failed'}: ${failure?.message ?? status}`
  if (failure?.class === 'budget_exceeded') throw quotaError(message)
  throw new OpenAiError(422, failure?.class ?? status, message, { again: false, type: 'server_error', unfit })
}

const noUsage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

/** @throws {OpenAiError} if the task has no answer */
function endOf(end: Ended): {
  readonly finish: 'stop' | 'length' | 'content_filter' | 'tool_calls'
  readonly used: z.infer<typeof usageShape>
} {
  if ('asks' in end) return { finish: 'stop', used: noUsage }
  if ('calls' in end) return { finish: 'tool_calls', used: noUsage }
  mustAnswer(end.result)
  return { finish: finishOf(end.result), used: usageOf(end.result) }
}

/** The message of the assistant. `mustAnswer` must have accepted the result. */
function messageOf(end: Ended) {
  if ('calls' in end)
    return {
      role: 'assistant',
      content: textBefore(end),
      refusal: null,
      tool_calls: end.calls.map((call) => shownCall(call, taskIdOf(end))),
    }
  const last = end.output.items.at(-1)
  const isJson = last?.kind === 'text' && last.refusal === true
  if ('asks' in end)
    return { role: 'assistant', content: isJson ? null : end.asks, refusal: isJson ? end.asks : null }
  const text = wasCutOff(end.result)
    ? last?.kind === 'text' && end.output.items.length > end.from
      ? last.text
      : ''
    : end.result.output_text
  return { role: 'assistant', content: end.output.whole ? withoutFence(text) : text, refusal: null }
}

const taskIdOf = ({ view }: Ended): string => view.submitted?.task_id ?? ''

/** What the agent said with its calls. `null`: nothing. */
function textBefore({
  output: { items },
  from,
  calls: [first],
}: Extract<Ended, { readonly calls: unknown }>): string | null {
  const at = items.findIndex((item) => item.kind === 'call' && item.requestedAt === first?.requestedAt)
  const text = items.slice(from, at).findLast((item) => item.kind === 'text')
  return text?.text ?? null
}

const shownCall = (call: WaitingCall, taskId: string) => ({
  id: clientCallId(taskId, call),
  type: 'function',
  function: { name: call.name, arguments: call.arguments },
})

/** The id of a completion. @param after the place in the log after which it begins. 0: it begins with its task */
const idOf = (taskId: string, after: number): string => `chatcmpl-${taskId}${after === 0 ? '' : `~${after}`}`

async function* chunks(
  all: AsyncGenerator<WorkUpdate>,
  { model, usage, after }: { readonly model: string; readonly usage: boolean; readonly after: number },
): AsyncGenerator<ServerSentEvent | string> {
  const head = { id: '', object: 'chat.completion.chunk', created: 0, model }
  const chunk = (delta: object, finish: string | null = null): ServerSentEvent => ({
    data: {
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(usage ? { usage: null } : {}),
    },
  })
  let texts = 0
  let calls = 0
  let taskId = ''
  let field = 'content'
  try {
    for await (const item of all) {
      if ('begun' in item) {
        taskId = item.begun.task_id
        head.id = idOf(taskId, after)
        head.created = item.begun.created
        yield chunk({ role: 'assistant', content: '', refusal: null })
      } else if ('step' in item) {
        const { step } = item
        if (step.kind === 'begun' && step.item.kind === 'text')
          field = step.item.refusal === true ? 'refusal' : 'content'
        if (step.kind === 'begun' && step.item.kind === 'text' && texts++ > 0 && field === 'content')
          yield chunk({ content: '\n\n' })
        if (step.kind === 'text') yield chunk({ [field]: step.delta })
        if (step.kind === 'begun' && step.item.kind === 'call' && step.item.requestedAt !== undefined) {
          const { requestedAt, ...call } = step.item
          const { function: called, ...named } = shownCall({ ...call, requestedAt }, taskId)
          const index = calls++
          yield chunk({ tool_calls: [{ index, ...named, function: { name: called.name, arguments: '' } }] })
          yield chunk({ tool_calls: [{ index, function: { arguments: called.arguments } }] })
        }
      } else {
        const { finish, used } = endOf(item.end)
        yield chunk({}, finish)
        if (usage) yield { data: { ...head, choices: [], usage: used } }
        yield '[DONE]'
      }
    }
  } catch (error) {
    yield { data: { error: openAiFailure(error).error } }
  }
}

const completing = route(
  {
    tag: 'openai',
    role: 'submit',
    method: 'post',
    takesImages: true,
    at: '/v1/chat/completions',
    name: 'createChatCompletion',
    says: "As OpenAI's chat completions: an agent or a workflow answers a conversation that the client keeps.",
    answer: {
      status: 200,
      says: 'The answer.',
      schema: completion,
      events: 'Chunks of the answer as data, and [DONE] at the end.',
    },
  },
  { headers: idempotencyKey, body: completionRequest },
  async (asked) => {
    const { body, headers, host, caller, options, signal } = asked
    const repeats = { key: headers['idempotency-key'], background: false }
    const work = await repeatable(asked, repeats, (repeat) =>
      workFor(body, { host, caller, options, signal, ...repeat }),
    )
    const after = 'after' in work.task ? work.task.after : 0
    if (body.stream !== true) {
      const end = await ended(asked, work)
      const { finish, used } = endOf(end)
      const taskId = taskIdOf(end)
      const choices = [{ index: 0, message: messageOf(end), finish_reason: finish, logprobs: null }]
      const answer = {
        id: idOf(taskId, after),
        object: 'chat.completion',
        created: end.created,
        model: body.model,
        choices,
        usage: used,
      }
      return json(answer, { headers: { 'x-request-id': taskId } })
    }
    const stream = await begun(workUpdates(asked, work))
    const taskId = stream !== null && 'begun' in stream.first ? stream.first.begun.task_id : ''
    const messages = chunks(stream?.all ?? none(), {
      model: body.model,
      after,
      usage: body.stream_options?.include_usage === true,
    })
    return eventStream(messages, {
      ...options,
      errorData: streamFailure,
      headers: { 'x-request-id': taskId },
    })
  },
)

async function* none(): AsyncGenerator<WorkUpdate> {}

export const completionRoutes: readonly Route[] = [completing]
