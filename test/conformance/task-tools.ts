// The tools of the conformance suite of MCP that become tasks, with tasks in memory.
import { setTimeout as wait } from 'node:timers/promises'
import { type McpTask, type McpTasks, offerTasks, taskAnswer, takesTasks } from '@beaver/mcp'
import {
  acceptedContent,
  type CallToolResult,
  type InputRequests,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'

const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] })
const confirm = inputRequired.elicit({
  message: 'Go on?',
  requestedSchema: { type: 'object', properties: { confirm: { type: 'boolean' } }, required: ['confirm'] },
})

/** What the work of a task may do. */
interface Hands {
  readonly signal: AbortSignal
  /** Asks the client, and resolves when it has answered everything. */
  ask(requests: InputRequests): Promise<void>
}

/** An error of the server, and not of the tool. */
class ServerFault extends Error {}

class MemoryTasks implements McpTasks {
  readonly #tasks = new Map<string, McpTask>()
  readonly #stops = new Map<string, AbortController>()
  readonly #answered = new Map<string, () => void>()
  #made = 0

  start(work: (hands: Hands) => Promise<CallToolResult>): McpTask {
    const taskId = `task-${++this.#made}`
    const at = new Date().toISOString()
    const stop = new AbortController()
    this.#stops.set(taskId, stop)
    const task = this.#put({ taskId, status: 'working', createdAt: at, lastUpdatedAt: at })
    const ask = (inputRequests: InputRequests): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#answered.set(taskId, resolve)
      this.#change(taskId, { status: 'input_required', inputRequests })
      return promise
    }
    work({ signal: stop.signal, ask }).then(
      (result) => this.#change(taskId, { status: 'completed', result }),
      (error: Error) => {
        if (stop.signal.aborted) return this.#change(taskId, { status: 'cancelled' })
        if (error instanceof ServerFault)
          return this.#change(taskId, { status: 'failed', error: { code: -32_603, message: error.message } })
        this.#change(taskId, { status: 'completed', result: { ...text(error.message), isError: true } })
      },
    )
    return task
  }

  async get(taskId: string): Promise<McpTask | null> {
    return this.#tasks.get(taskId) ?? null
  }

  async cancel(taskId: string): Promise<boolean> {
    this.#stops.get(taskId)?.abort()
    return this.#tasks.has(taskId)
  }

  async answer(taskId: string, responses: Readonly<Record<string, unknown>>): Promise<boolean> {
    const task = this.#tasks.get(taskId)
    if (task === undefined) return false
    const left = Object.entries(task.inputRequests ?? {}).filter(([key]) => !(key in responses))
    if (task.status !== 'input_required') return true
    if (left.length > 0) this.#change(taskId, { inputRequests: Object.fromEntries(left) })
    else {
      this.#change(taskId, { status: 'working', inputRequests: undefined })
      this.#answered.get(taskId)?.()
    }
    return true
  }

  #put(task: McpTask): McpTask {
    this.#tasks.set(task.taskId, task)
    return task
  }

  #change(taskId: string, change: Partial<McpTask>): void {
    const task = this.#tasks.get(taskId)
    if (task === undefined || ['completed', 'failed', 'cancelled'].includes(task.status)) return
    this.#put({ ...task, ...change, lastUpdatedAt: new Date().toISOString() })
  }
}

const work: Readonly<
  Record<string, (args: Record<string, unknown>, hands: Hands) => Promise<CallToolResult>>
> = {
  async slow_compute({ seconds = 0 }, { signal }) {
    await wait(Number(seconds) * 1_000, null, { signal, ref: false })
    return text(`Computed for ${String(seconds)} s.`)
  },
  async failing_job(_, { signal }) {
    await wait(300, null, { signal, ref: false })
    throw new Error('The job failed.')
  },
  async protocol_error_job() {
    throw new ServerFault('The server failed.')
  },
  async confirm_delete({ filename }, { ask }) {
    await ask({ confirm })
    return text(`Deleted ${String(filename)}.`)
  },
  async multi_input(_, { ask }) {
    await ask({ first: confirm, second: confirm })
    return text('Both were answered.')
  },
}

const tasks = new MemoryTasks()
const never: Hands = { signal: new AbortController().signal, ask: async () => {} }

export function addTaskTools(server: McpServer): void {
  offerTasks(server, tasks)
  server.registerTool(
    'greet',
    { description: 'Greets.', inputSchema: z.object({ name: z.string() }) },
    async ({ name }) => text(`Hello, ${name}!`),
  )
  for (const [name, act] of Object.entries(work))
    server.registerTool(
      name,
      { description: name, inputSchema: z.looseObject({}) },
      async (args, context: ServerContext) =>
        takesTasks(context) ? taskAnswer(tasks.start((hands) => act(args, hands))) : act(args, never),
    )
  server.registerTool(
    'test_tool_with_task',
    { description: 'Asks, then works.', inputSchema: z.looseObject({}) },
    async (_, context) => {
      const name = acceptedContent<{ name: string }>(context.mcpReq.inputResponses, 'user_name')?.name
      if (name === undefined) {
        const requestedSchema = {
          type: 'object' as const,
          properties: { name: { type: 'string' as const } },
          required: ['name'],
        }
        return inputRequired({
          inputRequests: {
            user_name: inputRequired.elicit({ message: 'What is your name?', requestedSchema }),
          },
        })
      }
      return taskAnswer(tasks.start(async () => text(`Hello, ${name}!`)))
    },
  )
}
