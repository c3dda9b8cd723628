// The object "response" of OpenAI's Responses, made from the log of a task. Nothing else is stored.
// - The id of a response is `resp_` and the id of its task. If the response continues after an answer to a
//   question, `~` and the place of the question in the log follow. The id of a response with "store": false
//   is a hash, from which nobody can find the task.
// - A response that asks a question or waits for calls of the client is completed, so that its client goes on.
// - A call of a tool appears as a call that the server made (`mcp_call`), because the client must not make
//   it. Only a caller that may read sees its result. A call of a tool of the client is a `function_call`.
import { createHash } from 'node:crypto'
import type { ClientTool, DataOf, ModelSettings } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import {
  type AgentRunResult,
  askInOutput,
  evolveTaskView,
  newTaskView,
  type OpenQuestion,
  type OutputItem,
  resultOf,
  type TaskView,
} from '@beaver/core/task-view'
import type { FailureClass } from '@beaver/core/supervision'
import { z } from 'zod'
import { agentOf } from '../agents.ts'
import { clientCallId } from '../client-calls.ts'
import { quotaCode } from './openai-error.ts'

const prefix = 'resp_'

/**
 * The id of a response.
 *
 * @param of `after`: the place of the question that the request answered. Default: the response begins with
 * its task
 */
export function responseId(
  taskId: string,
  { stored = true, after = 0 }: { readonly stored?: boolean; readonly after?: number | undefined } = {},
): string {
  const name = after === 0 ? taskId : `${taskId}~${after}`
  return stored
    ? `${prefix}${name}`
    : `${prefix}unstored_${createHash('sha256').update(name).digest('hex').slice(0, 32)}`
}

/**
 * The task of a response, and the place in its log after which the response begins. 0: it begins with its
 * task.
 */
export interface ResponseName {
  readonly taskId: string
  readonly after: number
}

/**
 * The responses that an id can mean, the likeliest first. There may be two, because the id of a task may
 * itself end with `~` and digits. Empty: this is not the id of a response.
 */
export function namesIn(id: string): ResponseName[] {
  if (!id.startsWith(prefix) || id.length === prefix.length) return []
  const name = id.slice(prefix.length)
  const [, taskId, after] = /^(.+)~(\d{1,15})$/s.exec(name) ?? []
  return [...(taskId === undefined ? [] : [{ taskId, after: Number(after) }]), { taskId: name, after: 0 }]
}

const anyItem = z.looseObject({
  id: z.string(),
  type: z.enum(['message', 'mcp_call', 'function_call']),
  status: z.string(),
})

export const responseObject = z.object({
  id: z.string().describe('resp_ and the id of the task.'),
  object: z.literal('response'),
  created_at: z.int().describe('When the task was submitted, in seconds since 1970.'),
  completed_at: z.int().nullable().describe('When it was completed. null: it was not.'),
  status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  background: z.boolean(),
  error: z
    .object({ code: z.string(), message: z.string(), unfit_output: z.string().optional() })
    .nullable()
    .describe('Why it failed. null: it did not. unfit_output: the text because of which it failed.'),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  instructions: z
    .string()
    .nullable()
    .describe('What was asked besides the task, also by messages of the system.'),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.null(),
  metadata: z
    .record(z.string(), z.string())
    .describe('The data of this request. A response that is read later has none.'),
  model: z.string(),
  output: z
    .array(anyItem)
    .describe(
      'What the root agent said (message), which tools it called (mcp_call), and which calls the client must make (function_call), in order.',
    ),
  parallel_tool_calls: z.boolean(),
  previous_response_id: z.string().nullable(),
  prompt_cache_key: z.null(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.null() }),
  safety_identifier: z.null(),
  service_tier: z.string(),
  store: z.boolean().describe('Whether the response can be read by its id.'),
  temperature: z.number().describe('What the request asked for. 1: nothing, so the profile decides.'),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }) }),
  tool_choice: z.unknown(),
  tools: z.array(z.unknown()).describe('The functions of the client.'),
  top_logprobs: z.int(),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  truncation: z.string(),
  usage: z.unknown().describe('What all agents of the task used. null: the task has not ended.'),
  user: z.string().nullable(),
})
type ResponseObject = z.infer<typeof responseObject>

/** The parts of a request that the answer repeats. */
export interface RequestFields {
  readonly metadata?: Record<string, string>
  readonly background?: boolean
  readonly previousId?: string | null
  readonly stored?: boolean
  readonly format?: object | null
  /** The place of the question after which the response begins. Default: it begins with its task. */
  readonly after?: number | undefined
  /** Default: the tools of the task. */
  readonly tools?: readonly unknown[]
  /** Default: auto. */
  readonly choice?: unknown
  readonly parallel?: boolean
}

/** Whether the caller may read the results of tools. */
export interface Sight {
  readonly results: boolean
}

/** The response of a task, according to the events that its view has. */
export class ResponseView {
  readonly #task: TaskView

  constructor(task = newTaskView()) {
    this.#task = task
  }

  /** `null`: there is no such task. */
  get submitted(): DataOf<'task_submitted'> | null {
    return this.#task.submitted
  }

  /** `null`: the task has not ended. */
  get result(): AgentRunResult | null {
    return resultOf(this.#task)
  }

  /** The question that waits for an answer, the oldest if there are several. `null`: none waits. */
  get asks(): OpenQuestion | null {
    return this.#task.openQuestions[0] ?? null
  }

  /** The ids of the calls that wait for the client. */
  get clientCalls(): readonly string[] {
    const { clientCalls, submitted } = this.#task
    return clientCalls.map(({ taskseq }) => clientCallId(submitted?.task_id ?? '', { requestedAt: taskseq }))
  }

  /** The response as JSON. @param from how many items of the task's output belong to earlier responses */
  object(
    items: readonly OutputItem[],
    requestFields: RequestFields,
    { from = 0, ...sight }: Sight & { readonly from?: number },
  ): ResponseObject {
    const { submitted: data, submittedAt, claims, byRun, end, time } = this.#task
    const { result } = this
    const begun = claims > 0 || byRun.size > 0
    const waits = this.asks !== null || this.clientCalls.length > 0
    const underWay = waits ? 'completed' : begun ? 'in_progress' : 'queued'
    const status = result === null ? underWay : statusOf(result)
    const taskId = data?.task_id ?? ''
    const previous = data?.request.history_until ?? data?.previous_task_id ?? null
    return {
      id: responseId(taskId, requestFields),
      object: 'response',
      created_at: secondsIn(submittedAt ?? 0),
      completed_at: status === 'completed' ? secondsIn(end?.at ?? Date.parse(time)) : null,
      status,
      background: requestFields.background ?? false,
      error: result === null || (status !== 'failed' && status !== 'cancelled') ? null : errorOf(result),
      incomplete_details: result === null || status !== 'incomplete' ? null : { reason: reasonOf(result) },
      instructions: data?.request.instructions ?? null,
      metadata: requestFields.metadata ?? {},
      model: data === null ? '' : agentOf(data.request),
      output: items.map((item, index) => shownItem(item, { taskId, index: index + from, ...sight })),
      previous_response_id:
        requestFields.previousId === undefined
          ? previous === null
            ? null
            : responseId(previous)
          : requestFields.previousId,
      store: requestFields.stored ?? true,
      text: { format: { type: 'text', ...requestFields.format } },
      usage: result === null ? null : usageOf(result),
      user: data?.request.user_id ?? null,
      ...unchanged,
      ...shownSettings(data?.request.model_settings),
      parallel_tool_calls: requestFields.parallel ?? true,
      tool_choice: requestFields.choice ?? 'auto',
      tools: [...(requestFields.tools ?? (data?.request.client_tools ?? []).map(shownTool))],
    }
  }
}

/** A time in seconds since 1970, as OpenAI's clients read it. @param ms milliseconds since 1970 */
export const secondsIn = (ms: number): number => Math.floor(ms / 1_000)

/** The settings of the request. Where it has none, the profile decides, and OpenAI's default value is shown. */
const shownSettings = (settings: ModelSettings = {}) => ({
  max_output_tokens: settings.output_tokens_max ?? null,
  reasoning: { effort: settings.reasoning_effort ?? null, summary: null },
  temperature: settings.temperature ?? 1,
  top_p: settings.top_p ?? 1,
})

/** The parameters that Beaver does not have, with OpenAI's default values. */
const unchanged = {
  max_tool_calls: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: 'default',
  top_logprobs: 0,
  presence_penalty: 0,
  frequency_penalty: 0,
  truncation: 'disabled',
}

const shownTool = ({ name, description, parameters }: ClientTool): object => ({
  type: 'function',
  name,
  description: description ?? null,
  parameters,
  strict: null,
})

/** A response according to the newest event of its log. */
export interface ReadResponse {
  readonly view: ResponseView
  readonly items: readonly OutputItem[]
  /** How many items of the task's output belong to earlier responses. */
  readonly from: number
}

/** The options of `readResponse`. */
export interface Reading {
  /** The place of the question after which the response begins. 0: it begins with its task. */
  readonly after: number
  /** Returns the text for a question that waits. */
  readonly asking: (taskId: string, asked: OpenQuestion) => string
  /** Whether the caller may see the task. If not, the rest of the log is not read. */
  readonly may: (submitted: DataOf<'task_submitted'>) => boolean
}

/**
 * Reads a response from the log of its task.
 *
 * @returns `null` if there is no such task, or if the caller may not see it
 */
export async function readResponse(
  events: AsyncIterable<RecordedEvent>,
  { after, asking, may }: Reading,
): Promise<ReadResponse | null> {
  let task: TaskView | null = null
  let from = 0
  for await (const event of events) {
    if (task === null) {
      if (event.type !== 'task_submitted' || !may(event.data)) return null
      task = newTaskView({ whole: isWhole(event.data), byForm: true })
    }
    evolveTaskView(task, event)
    if (event.taskseq <= after) from = task.output.items.length
  }
  if (task === null) return null
  const [asked] = task.openQuestions
  if (asked !== undefined) askInOutput(task.output, asking(task.submitted?.task_id ?? '', asked))
  return { view: new ResponseView(task), items: task.output.items.slice(from), from }
}

/** Whether the client gets only the final text, because the task must answer with JSON. */
export const isWhole = ({ request }: DataOf<'task_submitted'>): boolean =>
  request.output_schema !== undefined ||
  (request.required_evidence ?? []).some((each) => typeof each === 'object' && each.kind === 'output_schema')

const cut: ReadonlySet<string> = new Set(['length', 'content_filter'])

/** Whether the root agent's answer reached the limit of its length. OpenAI has no failure for it. */
export const wasCutOff = ({ status, failure, run_id }: AgentRunResult): boolean =>
  status === 'failed' && run_id !== null && failure?.class === 'output_truncated'

function statusOf(result: AgentRunResult): AgentRunResult['status'] {
  const { status, finish_reason: reason } = result
  return (status === 'completed' && cut.has(reason)) || wasCutOff(result) ? 'incomplete' : status
}

function reasonOf(result: AgentRunResult): string {
  const { finish_reason: reason } = result
  if (reason === 'content_filter') return reason
  return reason === 'length' || wasCutOff(result) ? 'max_output_tokens' : 'team_incomplete'
}

/**
 * The error of a response. The code is one that OpenAI's clients know, and the message begins with the class
 * of the failure.
 */
function errorOf({ failure, status, task_id: taskId, unfit_output: unfit }: AgentRunResult): {
  code: string
  message: string
  unfit_output?: string
} {
  const codes: Partial<Record<FailureClass, string>> = {
    rate_limited: 'rate_limit_exceeded',
    budget_exceeded: quotaCode,
  }
  return {
    code: (failure === null ? undefined : codes[failure.class]) ?? 'server_error',
    message: `${failure?.class ?? status}: ${failure?.message ?? `The task ${taskId} was ${status}.`}`,
    ...(unfit === undefined ? {} : { unfit_output: unfit }),
  }
}

function usageOf({
  usage: { input_tokens, output_tokens, cached_input_tokens: cached = 0, reasoning_tokens: thoughts = 0 },
}: AgentRunResult): object {
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: cached },
    output_tokens,
    output_tokens_details: { reasoning_tokens: thoughts },
    total_tokens: input_tokens + output_tokens,
  }
}

const textPart = (text: string): object => ({ type: 'output_text', text, annotations: [], logprobs: [] })

/** The content part of an item: a text or a refusal. */
export const partOf = ({ refusal }: Pick<OutputItem & { kind: 'text' }, 'refusal'>, text: string): object =>
  refusal === true ? { type: 'refusal', refusal: text } : textPart(text)

/** An item of the output in OpenAI's shape. */
export function shownItem(
  item: OutputItem,
  { taskId, index, results }: { readonly taskId: string; readonly index: number } & Sight,
): z.infer<typeof anyItem> {
  if (item.kind === 'text') {
    const phase = item.final === null ? {} : { phase: item.final ? 'final_answer' : 'commentary' }
    const parts = item.text === '' ? [] : [partOf(item, item.text)]
    return {
      id: `msg_${taskId}_${index}`,
      type: 'message',
      status: item.done ? 'completed' : 'in_progress',
      role: 'assistant',
      content: parts,
      ...phase,
    }
  }
  const { result, name, requestedAt } = item
  if (requestedAt !== undefined)
    return {
      id: `fc_${requestedAt}_${taskId}`,
      type: 'function_call',
      status: 'completed',
      call_id: clientCallId(taskId, { requestedAt }),
      name,
      arguments: item.arguments,
    }
  const failed = result !== null && !result.success
  const output = result === null || failed || !results ? null : result.content
  const error = failed ? { type: 'mcp_tool_execution_error', content: results ? result.content : null } : null
  const status = result === null ? 'in_progress' : failed ? 'failed' : 'completed'
  const call = {
    server_label: 'beaver',
    name,
    arguments: item.arguments,
    output,
    error,
    approval_request_id: null,
  }
  return { id: `mcp_${taskId}_${index}`, type: 'mcp_call', status, ...call }
}
