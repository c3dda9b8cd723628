// POST /v1/chat/completions: an agent or a workflow answers a conversation that the client keeps. Each
// request is a task in a session of its own, because the next request contains the whole conversation again.
// If the task asks a question, the question is the answer of the assistant, and the next message answers it,
// so the task continues (open-question.ts). Without a stream, the answer is the final text of the task. A
// stream contains everything that the root agent says, with an empty line between texts.
import { withoutFence } from '@beaver/core/evidence'
import type { AgentRunResult } from '@beaver/core/task-view'
import { z } from 'zod'
import { userOf } from '../access.ts'
import { idempotencyKey } from '../idempotency.ts'
import { type Asked, json, type RequestParts, type Route, route } from '../route.ts'
import { eventStream, type ServerSentEvent } from '../sse.ts'
import { begun } from '../reported-items.ts'
import { content, conversationOf, messagesMax } from './conversation.ts'
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
import { common, formOf, format, refuseSet, refuseTools, workOf, schemaOf } from './parameters.ts'

const completionRequest = z.looseObject({
  ...common,
  messages: z
    .array(
      z.looseObject({ role: z.string().max(100), content: content.nullish(), refusal: z.string().nullish() }),
    )
    .min(1)
    .max(messagesMax)
    .describe('The conversation, oldest first. The last message of the user is the task.'),
  n: z.int().nullish().describe('Must be 1 or absent.'),
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
  id: z.string().describe('chatcmpl- and the id of the task.'),
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
      }),
      finish_reason: z.enum(['stop', 'length', 'content_filter']),
      logprobs: z.null(),
    }),
  ),
  usage: usageShape.describe(
    'What all agents of the task used. A question has none: the answer that ends the task counts all.',
  ),
})

const reasons = {
  n: 'an agent gives one answer.',
  stop: 'an answer ends where the agent ends it.',
  functions: 'it was replaced by "tools".',
  logprobs: 'an answer may come from several models.',
  top_logprobs: 'an answer may come from several models.',
  audio: "Beaver's agents write text.",
  web_search_options: 'the profile of the agent says whether it searches.',
}

async function workFor(
  body: CompletionRequest,
  context: Pick<Asked<RequestParts>, 'host' | 'caller' | 'options' | 'signal'> & Repeatable,
): Promise<Work> {
  refuseTools(body, ['tools', 'functions'])
  refuseSet({ ...body, n: body.n === 1 ? null : body.n }, reasons)
  const turns = body.messages.map(({ role, content, refusal }, i) => ({
    role,
    content: content ?? refusal,
    at: `messages[${i}]`,
  }))
  const conversation = conversationOf(turns, {
    ownInstructions: null,
    param: 'messages',
    origins: context.options.imageOrigins,
  })
  const named = questionAnswered(conversation)
  const live = body.stream === true
  const { again } = context
  const goesOn = again === null
  if (named !== null)
    return {
      task: again?.left?.resumed ?? (await resumedBy(conversation.task, named, context)),
      goesOn,
      again,
      live,
    }
  const schema = schemaOf(body.response_format, 'response_format')
  const work = await workOf(body.model, conversation, { ...context, param: 'messages' })
  const task = {
    ...work,
    ...whoAsks(context, { ...context, userId: userOf(context.caller, body.user ?? undefined) }),
    ...formOf(schema, work),
  }
  return { task, goesOn, again, live, whole: schema !== null }
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
function finishOf({ status, finish_reason: reason }: AgentRunResult): 'stop' | 'length' | 'content_filter' {
  if (reason === 'content_filter') return reason
  return reason === 'length' || status === 'incomplete' ? 'length' : 'stop'
}

/** @throws {OpenAiError} if the task has no answer */
function mustAnswer({ status, failure, task_id: taskId, unfit_output: unfit }: AgentRunResult): void {
  if (status === 'completed' || status === 'incomplete') return
  const message = `The task ${taskId} ${status === 'cancelled' ? 'was cancelled' : 'failed'}: ${failure?.message ?? status}`
  if (failure?.class === 'budget_exceeded') throw quotaError(message)
  throw new OpenAiError(422, failure?.class ?? status, message, { again: false, type: 'server_error', unfit })
}

const noUsage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

/** @throws {OpenAiError} if the task has no answer */
function endOf(end: Ended): {
  readonly finish: 'stop' | 'length' | 'content_filter'
  readonly used: z.infer<typeof usageShape>
} {
  if ('asks' in end) return { finish: 'stop', used: noUsage }
  mustAnswer(end.result)
  return { finish: finishOf(end.result), used: usageOf(end.result) }
}

/** The message of the assistant. `mustAnswer` must have accepted the result. */
function messageOf(end: Ended) {
  const last = end.output.items.at(-1)
  const isJson = last?.kind === 'text' && last.refusal === true
  if ('asks' in end)
    return { role: 'assistant', content: isJson ? null : end.asks, refusal: isJson ? end.asks : null }
  const { output_text: text } = end.result
  return { role: 'assistant', content: end.output.whole ? withoutFence(text) : text, refusal: null }
}

const idOf = (taskId: string): string => `chatcmpl-${taskId}`

async function* chunks(
  all: AsyncGenerator<WorkUpdate>,
  { model, usage }: { readonly model: string; readonly usage: boolean },
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
  let field = 'content'
  try {
    for await (const item of all) {
      if ('begun' in item) {
        head.id = idOf(item.begun.task_id)
        head.created = item.begun.created
        yield chunk({ role: 'assistant', content: '', refusal: null })
      } else if ('step' in item) {
        const { step } = item
        if (step.kind === 'begun' && step.item.kind === 'text')
          field = step.item.refusal === true ? 'refusal' : 'content'
        if (step.kind === 'begun' && step.item.kind === 'text' && texts++ > 0 && field === 'content')
          yield chunk({ content: '\n\n' })
        if (step.kind === 'text') yield chunk({ [field]: step.delta })
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
    if (body.stream !== true) {
      const end = await ended(asked, work)
      const { finish, used } = endOf(end)
      const taskId = end.view.submitted?.task_id ?? ''
      const choices = [{ index: 0, message: messageOf(end), finish_reason: finish, logprobs: null }]
      const answer = {
        id: idOf(taskId),
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
