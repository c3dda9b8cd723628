// Offers the workflow tools as an MCP server: it gives their schemas, and hands calls on. It runs nothing itself.
// W1. Arguments that a workflow refuses never reach a daemon; the refusal has its own code (D-38).
// W2. Every failure is a result with `isError` and `structuredContent: {error: {code, message}}`.
// W3. The factory is cheap, because each request gets its own server.
// W4. A client that takes tasks gets one for each call that a workflow accepts and that does not end at once. It asks for it until it has ended, also after a restart.
import type { JsonObject } from '@beaver/core'
import { createTeamWorkflowTools, type Workflow } from '@beaver/workflows'
import { type CallToolResult, McpServer, ProtocolError, ProtocolErrorCode, type ServerContext, type StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { type McpCategoryId, mcpCategories } from './category.ts'
import { type McpTask, type McpTasks, offerTasks, taskAnswer, takesTasks } from './task-extension.ts'
import type { CallError, WorkflowCaller, WorkflowOutcome, WorkflowProgress, WorkflowTask, WorkflowTaskResult, WorkflowTasks } from './workflow-caller.ts'

export interface WorkflowServerOptions {
  readonly category: McpCategoryId
  readonly version: string
  readonly caller: WorkflowCaller
  /** Absent: the server offers no tasks. */
  readonly tasks?: WorkflowTasks
}

/** Returns a factory for servers of one category. The transport calls it as often as it needs. */
export function workflowServers({ category, version, caller, tasks }: WorkflowServerOptions): () => McpServer {
  const { server, title, displayName, instructions } = mcpCategories[category]
  // Each tool has its own schema, because a client may offer its model only some of the tools.
  const tools = createTeamWorkflowTools()
  return () => {
    const made = new McpServer({ name: server, title, description: displayName, version }, { capabilities: { tools: {} }, instructions })
    for (const workflow of tools) {
      made.registerTool(
        workflow.name,
        { title: workflow.name, description: workflow.description, inputSchema: unchecked(workflow.parameters), annotations: { openWorldHint: true } },
        async (args, context) => callWorkflow(workflow, args, { caller, tasks: takesTasks(context) ? tasks : undefined, context }),
      )
    }
    if (tasks !== undefined) offerTasks(made, tasksOf(tasks))
    return made
  }
}

/** The schema is only for the client. The workflow reports faults in the arguments, with a code. */
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

async function callWorkflow(
  workflow: Workflow,
  args: JsonObject,
  { caller, tasks, context }: { caller: WorkflowCaller; tasks: WorkflowTasks | undefined; context: ServerContext },
): Promise<CallToolResult> {
  // The daemon decides how many agents and edges are allowed.
  const planned = workflow.plan(args, { limits: { agentsMax: Infinity, edgesMax: Infinity } })
  if (!planned.ok) return errorResult(planned.error)
  if (tasks !== undefined) {
    const started = await tasks.start(workflow.name, args)
    if (!started.ok) return errorResult(started.error)
    const { task } = started
    return task.outcome === null ? taskAnswer(taskOf(task)) : outcomeResult(task.outcome)
  }
  const called = await caller.call(workflow.name, args, { signal: context.mcpReq.signal, onProgress: progressTeller(context) })
  return called.ok ? outcomeResult(called.result) : errorResult(called.error)
}

const tasksOf = (tasks: WorkflowTasks): McpTasks => ({
  async get(taskId) {
    const task = foundIn(await tasks.look(taskId))
    return task === null ? null : taskOf(task)
  },
  cancel: async (taskId) => foundIn(await tasks.cancel(taskId)) !== null,
  // A workflow asks its client nothing.
  answer: async (taskId) => foundIn(await tasks.look(taskId)) !== null,
})

/** @throws {ProtocolError} if it is not known whether there is such a task */
function foundIn(looked: WorkflowTaskResult): WorkflowTask | null {
  if (looked.ok) return looked.task
  const { code, message } = looked.error
  if (code === 'not_found') return null
  throw new ProtocolError(ProtocolErrorCode.InternalError, message, { code })
}

function taskOf({ taskId, createdAt, updatedAt, message, outcome }: WorkflowTask): McpTask {
  const task = { taskId, statusMessage: message, createdAt, lastUpdatedAt: updatedAt }
  if (outcome === null) return { ...task, status: 'working' }
  return outcome.status === 'cancelled' ? { ...task, status: 'cancelled' } : { ...task, status: 'completed', result: outcomeResult(outcome) }
}

/** Reports progress in order, one notification at a time. Of the progress that comes meanwhile, only the last is reported. */
function progressTeller({ mcpReq }: ServerContext): (progress: WorkflowProgress) => void {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return () => {}
  let next: WorkflowProgress | null = null
  let telling = false
  let last = -1
  return (progress) => {
    next = progress
    if (!telling) void tell()
  }

  async function tell(): Promise<void> {
    telling = true
    while (next !== null && !mcpReq.signal.aborted) {
      const { done, total, message } = next
      next = null
      // The protocol wants progress to grow with each notification.
      last = Math.max(done, last + 0.001)
      const params = { progressToken, progress: last, message, ...(total === null ? {} : { total }) }
      await mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    }
    telling = false
  }
}

function errorResult({ code, message, path }: CallError): CallToolResult {
  return {
    isError: true,
    content: [{ type: 'text', text: message }],
    structuredContent: { error: { code, message, ...(path === undefined || path === '' ? {} : { path }) } },
  }
}

function outcomeResult({ taskId, sessionId, status, finalOutput, outputs, failure }: WorkflowOutcome): CallToolResult {
  const structured = { task_id: taskId, session_id: sessionId, status, outputs: outputs.map(({ node_id, output }) => ({ node_id, output })) }
  if (status === 'completed') return { content: [{ type: 'text', text: finalOutput }], structuredContent: structured }
  const message = `The task ${taskId} ended as ${status}${failure === null ? '.' : `: ${failure}`}`
  return {
    isError: true,
    content: [{ type: 'text', text: message }, ...(finalOutput === '' ? [] : [{ type: 'text' as const, text: finalOutput }])],
    structuredContent: { ...structured, error: { code: `task_${status}`, message } },
  }
}
