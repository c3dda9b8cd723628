// Offers the workflow tools as an MCP server; a daemon runs them (workflow-caller.ts). Arguments that a
// workflow refuses never reach a daemon (D-38). Every failure is a result with `isError` and
// `structuredContent: {error: {code, message}}`. An agent's question goes to the client as a form, if the
// client shows forms. A tool's question never does: its answer may permit something, and a model may control
// the client. With the handshake of 2025 a call stays open during a form. A client that takes tasks gets a
// task for each accepted call that does not end at once, and may ask for it even after a restart.
import { type JsonObject, pause, systemClock } from '@beaver/core'
import { answerInForm, type QuestionAnswer, questionForm } from '@beaver/core/question'
import { createTeamWorkflowTools, type Workflow } from '@beaver/workflows'
import {
  type CallToolResult,
  type ClientCapabilities,
  type InputRequests,
  inputRequired,
  type InputRequiredResult,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { mcpCategories, type McpCategoryId, ownCapability, workflowMeta } from '../own-server.ts'
import {
  type McpTask,
  type McpTasks,
  offerTasks,
  showsForms,
  takesTasks,
  taskAnswer,
} from './task-extension.ts'
import type {
  AskingWorkflow,
  CallError,
  WorkflowAnswers,
  WorkflowCaller,
  WorkflowCallOptions,
  WorkflowCallResult,
  WorkflowOutcome,
  WorkflowProgress,
  WorkflowQuestion,
  WorkflowTask,
  WorkflowTaskResult,
  WorkflowTasks,
} from './workflow-caller.ts'

export interface WorkflowServerOptions {
  readonly category: McpCategoryId
  readonly version: string
  readonly caller: WorkflowCaller
  /** Absent: the server offers no tasks. */
  readonly tasks?: WorkflowTasks
}

/** Returns a factory for servers of one category. It is cheap, because each request gets its own server. */
export function workflowServers({
  category,
  version,
  caller,
  tasks,
}: WorkflowServerOptions): () => McpServer {
  const { server, title, displayName, instructions } = mcpCategories[category]
  // Each tool has its own schema, because a client may offer its model only some of the tools.
  const tools = createTeamWorkflowTools()
  return () => {
    const made = new McpServer(
      { name: server, title, description: displayName, version },
      { capabilities: { tools: {}, logging: {}, experimental: ownCapability(category) }, instructions },
    )
    for (const workflow of tools) {
      made.registerTool(
        workflow.name,
        {
          title: workflow.name,
          description: workflow.description,
          inputSchema: unchecked(workflow.parameters),
          annotations: { openWorldHint: true },
          _meta: workflowMeta(workflow.name),
        },
        async (args, context) => {
          const asks = showsForms(context) || elicits(made.server.getClientCapabilities())
          return callWorkflow(workflow, args, {
            caller,
            tasks: takesTasks(context) ? tasks : undefined,
            context,
            asks,
          })
        },
      )
    }
    if (tasks !== undefined) offerTasks(made, tasksOf(tasks))
    return made
  }
}

/** Whether a client of the handshake of 2025 shows forms. An elicitation without a mode is a form. */
const elicits = (capabilities: ClientCapabilities | undefined): boolean => {
  const { elicitation } = capabilities ?? {}
  return (
    elicitation !== undefined && (elicitation.form !== undefined || Object.keys(elicitation).length === 0)
  )
}

/** The schema is only for the client. The workflow reports wrong arguments, with a code. */
function unchecked(schema: JsonObject): StandardSchemaWithJSON<JsonObject> {
  const jsonSchema = (): Record<string, unknown> => schema
  return {
    '~standard': {
      version: 1,
      vendor: 'beaver',
      validate: (value) => ({ value: value as JsonObject }),
      jsonSchema: { input: jsonSchema, output: jsonSchema },
    },
  }
}

interface Calling {
  readonly caller: WorkflowCaller
  readonly tasks: WorkflowTasks | undefined
  readonly context: ServerContext
  /** Whether the client may be asked. */
  readonly asks: boolean
}

async function callWorkflow(
  workflow: Workflow,
  args: JsonObject,
  { caller, tasks, context, asks }: Calling,
): Promise<CallToolResult | InputRequiredResult> {
  const teller = tellClient(context)
  const options = { signal: context.mcpReq.signal, onProgress: teller.progress, onWaits: teller.waits, asks }
  // A call that asked comes again with the answers and the id of its task.
  const taskId = context.mcpReq.requestState()
  if (typeof taskId === 'string')
    return callResult(
      await caller.goOn(
        taskId,
        (questions) => answersTo(questions, context.mcpReq.inputResponses ?? {}),
        options,
      ),
    )
  // The daemon limits the number of agents and edges.
  const planned = workflow.plan(args, { limits: { agentsMax: Infinity, edgesMax: Infinity } })
  if (!planned.ok) return errorResult(planned.error)
  if (tasks !== undefined) {
    const started = await tasks.start(workflow.name, args)
    if (!started.ok) return errorResult(started.error)
    const { task } = started
    return task.outcome === null ? taskAnswer(taskOf(task, showsForms(context))) : outcomeResult(task.outcome)
  }
  const called = await caller.call(workflow.name, args, options)
  return callResult(
    context.mcpReq.envelope === undefined
      ? await askWithin(called, { caller, context, options, during: teller.during })
      : called,
  )
}

interface AskingWithin {
  readonly caller: WorkflowCaller
  readonly context: ServerContext
  readonly options: WorkflowCallOptions
  during<T>(waiting: Promise<T>): Promise<T>
}

const formsMax = 8
/** The longest timer, because a form waits for a person. */
const formMsMax = 2 ** 31 - 1
/** How often to check whether somebody answered elsewhere. */
const lookEveryMs = 5_000

/** Asks the client of 2025 within its call. If it shows no form, the call waits for an answer elsewhere. */
async function askWithin(called: WorkflowCallResult, asking: AskingWithin): Promise<WorkflowCallResult> {
  let result = called
  for (let shown = 1; result.ok && 'asks' in result; shown++) {
    const { asks } = result
    const filled = shown > formsMax ? null : await asking.during(formOrElsewhere(asks, asking))
    if (filled !== null && 'elsewhere' in filled) result = filled.elsewhere
    else
      result = await asking.caller.goOn(asks.taskId, (asked) => answersTo(asked, filled?.responses ?? {}), {
        ...asking.options,
        asks: filled !== null,
      })
  }
  return result
}

type Filled =
  | { readonly responses: Readonly<Record<string, unknown>> }
  | { readonly elsewhere: WorkflowCallResult }

/**
 * The filled form, or the call's outcome if somebody answered elsewhere. `null`: the client could not ask.
 */
async function formOrElsewhere(
  asks: AskingWorkflow,
  { caller, context, options }: AskingWithin,
): Promise<Filled | null> {
  const over = new AbortController()
  const signal = AbortSignal.any([context.mcpReq.signal, over.signal])
  try {
    return await Promise.race([
      fillIn(formsOf(asks.questions, asks.fault), context, signal),
      answeredElsewhere(asks, { caller, options, signal }),
    ])
  } finally {
    over.abort()
  }
}

async function fillIn(
  forms: InputRequests,
  { mcpReq }: ServerContext,
  signal: AbortSignal,
): Promise<Filled | null> {
  const show = async ([id, { params }]: [string, InputRequests[string]]): Promise<[string, unknown]> => [
    id,
    await mcpReq.send(
      { method: 'elicitation/create', params: { ...params } },
      { timeout: formMsMax, signal },
    ),
  ]
  return Promise.all(Object.entries(forms).map(show)).then(
    (filled) => ({ responses: Object.fromEntries(filled) }),
    () => null,
  )
}

/** Waits for answers elsewhere, then continues the task. Never resolves after `signal` aborts. */
async function answeredElsewhere(
  { taskId, questions }: AskingWorkflow,
  { caller, options, signal }: Pick<AskingWithin, 'caller' | 'options'> & { signal: AbortSignal },
): Promise<Filled> {
  const ids = JSON.stringify(questions.map(({ id }) => id))
  while (!signal.aborted) {
    await pause(systemClock, lookEveryMs, signal)
    if (signal.aborted) break
    const elsewhere = await caller.goOn(taskId, () => ({}), options)
    if (
      !(
        elsewhere.ok &&
        'asks' in elsewhere &&
        JSON.stringify(elsewhere.asks.questions.map(({ id }) => id)) === ids
      )
    )
      return { elsewhere }
  }
  return await new Promise(() => {})
}

function callResult(called: WorkflowCallResult): CallToolResult | InputRequiredResult {
  if (!called.ok) return errorResult(called.error)
  if ('result' in called) return outcomeResult(called.result)
  const { taskId, questions, fault } = called.asks
  return inputRequired({ inputRequests: formsOf(questions, fault), requestState: taskId })
}

/** @param fault why the previous answers do not count */
function formsOf(questions: readonly WorkflowQuestion[], fault?: string): InputRequests {
  const before = fault === undefined ? '' : `${fault}\n\n`
  return Object.fromEntries(
    questions.map(({ id, question }) => {
      const requestedSchema = questionForm(question) as Parameters<
        typeof inputRequired.elicit
      >[0]['requestedSchema']
      return [id, inputRequired.elicit({ message: `${before}${question.message}`, requestedSchema })]
    }),
  )
}

const response = z.looseObject({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.record(z.string(), z.json()).nullish(),
})

/** A client's answers, by the ids of the questions. Invalid entries are left out. */
function answersTo(
  questions: readonly WorkflowQuestion[],
  responses: Readonly<Record<string, unknown>>,
): WorkflowAnswers {
  return Object.fromEntries(
    questions.flatMap(({ id, question }): [string, QuestionAnswer][] => {
      const read = response.safeParse(responses[id])
      if (!read.success) return []
      const { action, content } = read.data
      return [[id, action === 'accept' ? answerInForm(question, (content ?? {}) as JsonObject) : { action }]]
    }),
  )
}

const tasksOf = (tasks: WorkflowTasks): McpTasks => ({
  async get(taskId, client) {
    const task = foundIn(await tasks.look(taskId))
    return task === null ? null : taskOf(task, showsForms(client))
  },
  cancel: async (taskId) => foundIn(await tasks.cancel(taskId)) !== null,
  async answer(taskId, responses) {
    return foundIn(await tasks.answer(taskId, (questions) => answersTo(questions, responses))) !== null
  },
})

/** @throws {ProtocolError} if it is unknown whether there is such a task */
function foundIn(looked: WorkflowTaskResult): WorkflowTask | null {
  if (looked.ok) return looked.task
  const { code, message } = looked.error
  if (code === 'not_found') return null
  throw new ProtocolError(
    code === 'invalid_arguments' || code === 'conflict'
      ? ProtocolErrorCode.InvalidParams
      : ProtocolErrorCode.InternalError,
    message,
    {
      code,
    },
  )
}

/** @param asks whether the server may ask the client */
function taskOf(
  { taskId, createdAt, updatedAt, message, outcome, questions }: WorkflowTask,
  asks: boolean,
): McpTask {
  const task = { taskId, statusMessage: message, createdAt, lastUpdatedAt: updatedAt }
  if (outcome === null && asks && questions.length > 0)
    return { ...task, status: 'input_required', inputRequests: formsOf(questions) }
  if (outcome === null) return { ...task, status: 'working' }
  return outcome.status === 'cancelled'
    ? { ...task, status: 'cancelled' }
    : { ...task, status: 'completed', result: outcomeResult(outcome) }
}

function errorResult({ code, message, path }: CallError): CallToolResult {
  return {
    isError: true,
    content: [{ type: 'text', text: message }],
    structuredContent: { error: { code, message, ...(path === undefined || path === '' ? {} : { path }) } },
  }
}

function outcomeResult({
  taskId,
  sessionId,
  status,
  finalOutput,
  outputs,
  failure,
  note,
}: WorkflowOutcome): CallToolResult {
  const structured = {
    task_id: taskId,
    session_id: sessionId,
    status,
    outputs: outputs.map(({ node_id, output }) => ({ node_id, output })),
  }
  const noted = note === undefined ? [] : [{ type: 'text' as const, text: note }]
  if (status === 'completed')
    return { content: [{ type: 'text', text: finalOutput }, ...noted], structuredContent: structured }
  const message = `The task ${taskId} ended as ${status}${failure === null ? '.' : `: ${failure}`}`
  return {
    isError: true,
    content: [
      { type: 'text', text: message },
      ...(finalOutput === '' ? [] : [{ type: 'text' as const, text: finalOutput }]),
      ...noted,
    ],
    structuredContent: { ...structured, error: { code: `task_${status}`, message } },
  }
}

// Tells the client about its open call: by progress, and by log messages for what a person must do, because
// not every client shows progress. Progress grows with each notification, as the protocol demands, and stays
// below the next ended node. When all nodes have ended and the task has not, it names no total.

interface ClientTeller {
  /** Reports progress in order, one notification at a time, and only the last of those that wait. */
  progress(progress: WorkflowProgress): void
  waits(message: string): void
  /** Repeats the last progress until `waiting` settles. */
  during<T>(waiting: Promise<T>): Promise<T>
}

const repeatEveryMs = 3_000
/** The part of the rest until the next node ends. */
const partOfRest = 10_000

function tellClient({ mcpReq }: ServerContext): ClientTeller {
  const progressToken = mcpReq._meta?.progressToken
  let newest: WorkflowProgress | null = null
  let untold = false
  let telling = false
  let last = -1

  async function sendProgress(): Promise<void> {
    telling = true
    while (newest !== null && untold && !mcpReq.signal.aborted) {
      const { done, total, message } = newest
      untold = false
      last = Math.max(done, last + (Math.floor(last) + 1 - last) / partOfRest)
      const params = {
        progressToken,
        progress: last,
        message,
        ...(total === null || last > total ? {} : { total }),
      }
      await mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    }
    telling = false
  }

  function progress(update: WorkflowProgress): void {
    newest = update
    untold = true
    if (progressToken !== undefined && !telling) void sendProgress()
  }

  return {
    progress,
    waits: (message) => void mcpReq.log('warning', message, 'beaver').catch(() => {}),
    async during(waiting) {
      let repeating = systemClock.after(repeatEveryMs, repeat)
      function repeat(): void {
        if (newest !== null) progress(newest)
        repeating = systemClock.after(repeatEveryMs, repeat)
      }
      try {
        return await waiting
      } finally {
        repeating.cancel()
      }
    },
  }
}
