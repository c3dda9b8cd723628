// MCP's extension io.modelcontextprotocol/tasks (SEP-2663) on a server: a call may answer with a task, which
// `get` finds from then on. A client that does not declare the extension gets no task and may ask for none. A
// call that ran and failed is a completed task whose result has `isError`; `failed` is for what the server
// could not do at all.
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequests,
  type McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'

const tasksExtension = 'io.modelcontextprotocol/tasks'

/** A task as its client sees it. */
export interface McpTask {
  readonly taskId: string
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  /** For people. */
  readonly statusMessage?: string | undefined
  /** RFC 3339. */
  readonly createdAt: string
  /** RFC 3339. */
  readonly lastUpdatedAt: string
  /** Of a completed task. */
  readonly result?: CallToolResult | undefined
  /** Of a failed task. */
  readonly error?: { readonly code: number; readonly message: string } | undefined
  /** What the task waits for, if its status is `input_required`. */
  readonly inputRequests?: InputRequests | undefined
}

/** The tasks of a server, which outlive its requests. */
export interface McpTasks {
  /** `null`: there is no such task. */
  get(taskId: string, client: ServerContext): Promise<McpTask | null>
  /** Asks a task to stop. An ended task is unchanged. @returns `false` if there is no such task */
  cancel(taskId: string): Promise<boolean>
  /** Answers what the task waits for, and ignores other answers. @returns `false` if there is no such task */
  answer(taskId: string, responses: Readonly<Record<string, unknown>>): Promise<boolean>
}

const pollIntervalMs = 1_000
const params = z.looseObject({ taskId: z.string().min(1).max(128) })

/** Whether the client of this request of 2026 shows forms, so that the server may ask it. */
export const showsForms = ({ mcpReq }: ServerContext): boolean => forms.safeParse(mcpReq.envelope).success

/** The SDK's types omit the envelope. A handshake of 2025 has none. */
const declares = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({
    extensions: z.looseObject({ [tasksExtension]: z.looseObject({}) }),
  }),
})

/** An elicitation without a mode is a form. */
const forms = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({
    elicitation: z.union([z.looseObject({ form: z.looseObject({}) }), z.strictObject({})]),
  }),
})

/** Whether the client of this request takes tasks. */
export const takesTasks = ({ mcpReq }: ServerContext): boolean => declares.safeParse(mcpReq.envelope).success

export function taskAnswer(task: McpTask): CallToolResult {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt } = task
  return {
    resultType: 'task',
    ...wireTask({ taskId, status, statusMessage, createdAt, lastUpdatedAt }),
    content: [],
  }
}

export function offerTasks({ server }: McpServer, tasks: McpTasks): void {
  server.registerCapabilities({ extensions: { [tasksExtension]: {} } })
  server.setRequestHandler('tasks/get', { params }, async ({ taskId }, context) => {
    mustTakeTasks(context)
    const task = await tasks.get(taskId, context)
    if (task === null) throw unknownTask(taskId)
    return wireTask(task)
  })
  server.setRequestHandler('tasks/cancel', { params }, async ({ taskId }, context) => {
    mustTakeTasks(context)
    if (!(await tasks.cancel(taskId))) throw unknownTask(taskId)
    return {}
  })
  server.setRequestHandler('tasks/update', { params }, async ({ taskId }, context) => {
    mustTakeTasks(context)
    if (!(await tasks.answer(taskId, context.mcpReq.inputResponses ?? {}))) throw unknownTask(taskId)
    return {}
  })
}

/** Beaver keeps its journal, so a task has no time to live. */
const wireTask = (task: McpTask): Record<string, unknown> => ({
  ...Object.fromEntries(Object.entries(task).filter(([, value]) => value !== undefined)),
  ttlMs: null,
  pollIntervalMs,
})

function mustTakeTasks(context: ServerContext): void {
  if (takesTasks(context)) return
  const text = `The request must declare the extension ${tasksExtension} in its client capabilities.`
  throw new MissingRequiredClientCapabilityError(
    { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
    text,
  )
}

const unknownTask = (taskId: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no task ${JSON.stringify(taskId)} here.`)
