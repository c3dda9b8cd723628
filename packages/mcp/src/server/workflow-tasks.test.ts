// Calls that become tasks of MCP, over HTTP as a client sends them: the SDK's client knows no tasks yet.
import { mcpRequest } from '@beaver/testing'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { serveMcpHttp } from './serve-mcp.ts'
import type {
  AnswersTo,
  WorkflowAnswers,
  WorkflowCaller,
  WorkflowCallResult,
  WorkflowTask,
  WorkflowTaskResult,
  WorkflowTasks,
} from './workflow-caller.ts'
import { workflowServers } from './workflow-server.ts'

const token = 'a-token-of-the-test'
const agents = [{ name: 'reader', instruction: 'Read.' }]
const call = {
  name: 'ConcurrentWorkflow',
  arguments: { task: 'Report.', agents: [...agents, { name: 'writer', instruction: 'Write.' }] },
}
const called: WorkflowCallResult = {
  ok: false,
  error: { code: 'called', message: 'It was called without a task.' },
}
const noCaller: WorkflowCaller = { call: async () => called, goOn: async () => called }
const working: WorkflowTask = {
  taskId: 'task_1',
  createdAt: '2026-01-01T00:00:00Z',
  updatedAt: '2026-01-01T00:00:01Z',
  message: 'One has ended.',
  outcome: null,
  questions: [],
}
const outcome = {
  taskId: 'task_1',
  sessionId: 's',
  status: 'completed',
  finalOutput: 'A report.',
  outputs: [],
  failure: null,
} as const
const unknown: WorkflowTaskResult = { ok: false, error: { code: 'not_found', message: 'There is none.' } }

/** A daemon with one task. */
class OneTask implements WorkflowTasks {
  task: WorkflowTask | null = null
  begins: WorkflowTask = working
  cancelled = 0
  readonly answers: WorkflowAnswers[] = []
  away = false

  async start(): Promise<WorkflowTaskResult> {
    this.task = this.begins
    return { ok: true, task: this.begins }
  }

  async look(taskId: string): Promise<WorkflowTaskResult> {
    if (this.away) return { ok: false, error: { code: 'no_daemon', message: 'Start one with "beaver up".' } }
    return this.task?.taskId === taskId ? { ok: true, task: this.task } : unknown
  }

  async answer(taskId: string, answersTo: AnswersTo): Promise<WorkflowTaskResult> {
    const answers = answersTo(this.task?.questions ?? [])
    if (JSON.stringify(answers).includes('old'))
      return { ok: false, error: { code: 'invalid_arguments', message: 'The question still waits.' } }
    if (Object.keys(answers).length > 0) this.answers.push(answers)
    return this.look(taskId)
  }

  cancel(taskId: string): Promise<WorkflowTaskResult> {
    if (this.task?.taskId === taskId) this.cancelled++
    return this.look(taskId)
  }
}

let tasks: OneTask
let ask: (
  method: string,
  params: Record<string, unknown>,
  options?: { readonly takesTasks?: boolean; readonly capabilities?: object },
) => Promise<Record<string, unknown>>
let url: string
beforeEach(async () => {
  tasks = new OneTask()
  const serving = await serveMcpHttp(
    workflowServers({ category: 'team_workflow', version: '1.0.0', caller: noCaller, tasks }),
    { token },
  )
  onTestFinished(() => serving.close())
  url = serving.url
  ask = (method, params, options) => mcpRequest(url, token, { method, params, ...options })
})

describe('a client that takes tasks', () => {
  it('gets a task for a call, asks for it until it has ended, and finds the result in it', async () => {
    expect(await ask('tools/call', call)).toMatchObject({
      result: {
        resultType: 'task',
        taskId: 'task_1',
        status: 'working',
        statusMessage: 'One has ended.',
        ttlMs: null,
        pollIntervalMs: 1_000,
      },
    })
    const now = {
      resultType: 'complete',
      taskId: 'task_1',
      status: 'working',
      createdAt: working.createdAt,
      lastUpdatedAt: working.updatedAt,
    }
    expect(await ask('tasks/get', { taskId: 'task_1' })).toMatchObject({ result: now })
    tasks.task = { ...working, outcome }
    expect(await ask('tasks/get', { taskId: 'task_1' })).toMatchObject({
      result: {
        status: 'completed',
        result: {
          content: [{ type: 'text', text: 'A report.' }],
          structuredContent: { task_id: 'task_1', status: 'completed' },
        },
      },
    })
  })

  it('is asked by the task if it shows forms, and answers in its next requests', async () => {
    const question = { message: 'Which branch?', options: ['main', 'next'] }
    tasks.task = { ...working, questions: [{ id: '7', question }] }
    const shows = { capabilities: { elicitation: { form: {} } } }
    expect(await ask('tasks/get', { taskId: 'task_1' }, shows)).toMatchObject({
      result: {
        status: 'input_required',
        inputRequests: {
          7: {
            method: 'elicitation/create',
            params: {
              message: 'Which branch?',
              requestedSchema: { properties: { answer: { enum: ['main', 'next'] } } },
            },
          },
        },
      },
    })
    for (const capabilities of [{}, { elicitation: { url: {} } }, { sampling: {} }])
      expect(await ask('tasks/get', { taskId: 'task_1' }, { capabilities })).toMatchObject({
        result: { status: 'working', statusMessage: 'One has ended.' },
      })
    const update = (inputResponses: object) =>
      ask('tasks/update', { taskId: 'task_1', inputResponses }, shows)
    expect(await update({ 7: { action: 'accept', content: { answer: 'old' } } })).toMatchObject({
      error: { code: -32_602, message: 'The question still waits.' },
    })
    for (const nothing of [{}, { 8: { action: 'accept' } }, { 7: { action: 'ignore' } }])
      expect(await update(nothing)).toMatchObject({ result: {} })
    expect(tasks.answers).toEqual([])
    await update({ 7: { action: 'accept', content: { answer: 'next' } } })
    await update({ 7: { action: 'decline' } })
    expect(tasks.answers).toEqual([
      { 7: { action: 'accept', answers: ['next'] } },
      { 7: { action: 'decline' } },
    ])
  })

  it('gets the result of a call that ends at once', async () => {
    tasks.begins = { ...working, outcome }
    expect(await ask('tools/call', call)).toMatchObject({
      result: { resultType: 'complete', content: [{ type: 'text', text: 'A report.' }] },
    })
  })

  it('finds a failure in the result, and a cancel in the status', async () => {
    tasks.task = {
      ...working,
      outcome: { ...outcome, status: 'failed', finalOutput: '', failure: 'The model is away.' },
    }
    const failed = { isError: true, structuredContent: { error: { code: 'task_failed' } } }
    expect(await ask('tasks/get', { taskId: 'task_1' })).toMatchObject({
      result: { status: 'completed', result: failed },
    })
    tasks.task = { ...working, outcome: { ...outcome, status: 'cancelled' } }
    const { result } = await ask('tasks/get', { taskId: 'task_1' })
    expect(result).toMatchObject({ status: 'cancelled' })
    expect(result).not.toHaveProperty('result')
  })

  it('may cancel a task, also one that has ended', async () => {
    tasks.task = working
    for (const method of ['tasks/cancel', 'tasks/update', 'tasks/cancel']) {
      expect(await ask(method, { taskId: 'task_1' })).toMatchObject({ result: { resultType: 'complete' } })
    }
    expect(tasks.cancelled).toBe(2)
  })

  it('gets no task for arguments that the workflow refuses', async () => {
    const twice = { ...call.arguments, agents: [...agents, ...agents] }
    expect(await ask('tools/call', { ...call, arguments: twice })).toMatchObject({
      result: {
        resultType: 'complete',
        isError: true,
        structuredContent: { error: { code: 'duplicate_agent' } },
      },
    })
    expect(tasks.task).toBeNull()
  })

  it.each(['tasks/get', 'tasks/cancel', 'tasks/update'])(
    'is refused by %s for a task that is not there, a name that is none, and without a daemon',
    async (method) => {
      expect(await ask(method, { taskId: 'nobody' })).toMatchObject({
        error: { code: -32_602, message: 'There is no task "nobody" here.' },
      })
      for (const taskId of ['', 'x'.repeat(129)])
        expect(await ask(method, { taskId })).toMatchObject({ error: { code: -32_602 } })
      tasks.away = true
      expect(await ask(method, { taskId: 'task_1' })).toMatchObject({
        error: { code: -32_603, message: 'Start one with "beaver up".' },
      })
    },
  )
})

describe('a client that takes no tasks', () => {
  it('gets the result of the call, and may ask for no task', async () => {
    const result = { isError: true, structuredContent: { error: { code: 'called' } } }
    expect(await ask('tools/call', call, { takesTasks: false })).toMatchObject({
      result: { resultType: 'complete', ...result },
    })
    expect(await ask('tasks/get', { taskId: 'task_1' }, { takesTasks: false })).toMatchObject({
      error: { code: -32_021 },
    })
  })

  it.each(['auto', 'legacy'] as const)('is also the client of the SDK (%s)', async (mode) => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url), {
        requestInit: { headers: { authorization: `Bearer ${token}` } },
      }),
    )
    onTestFinished(() => client.close())
    expect(await client.callTool(call)).toMatchObject({ structuredContent: { error: { code: 'called' } } })
    expect(tasks.task).toBeNull()
  })
})
