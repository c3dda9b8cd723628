// `beaver mcp`: offers the workflow tools to MCP clients, on stdin and stdout or over HTTP. A daemon runs the
// tasks. On stdin and stdout, stdout carries only the protocol, and messages go to stderr. The command ends
// on a signal, or when its client is gone. First it cancels the tasks of open calls and, on stdin and stdout,
// the tasks that wait for an answer of the client. Calls that became MCP tasks continue.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { BeaverError } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { evolveTaskView, newTaskView, type TaskViewEnd } from '@beaver/core/task-view'
import {
  isMcpCategory,
  mcpCategories,
  serveMcpHttp,
  serveMcpStdio,
  type Serving,
  type WorkflowOutcome,
  workflowServers,
  type WorkflowTask,
  type WorkflowTaskResult,
  type WorkflowTasks,
} from '@beaver/mcp'
import type { Config } from '@beaver/platform'
import { connect, type Connection } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { callErrorOf, daemonCaller, type DaemonCallerOptions, noSystem } from '../mcp/daemon-caller.ts'
import { personCommand, type PersonCommand } from '../mcp/person-command.ts'
import {
  answerAll,
  askedIn,
  everyQuestion,
  mcpSource,
  personWaits,
  questionsFor,
} from '../mcp/task-questions.ts'
import { happeningNow, nodesEnded, progressIn } from '../mcp/team-progress.ts'
import { lookForSystem } from '../system/find-system.ts'
import type { McpLoginOptions } from './mcp-login.ts'

export interface McpServeOptions {
  readonly category: string
  readonly http?: true
  readonly port?: number
  readonly workspace?: string
}

const idleMsMax = 6_000

export type McpAction = 'serve' | 'pins' | 'approve' | 'login' | 'logout'

interface McpWhat {
  readonly what: McpAction
  readonly server: string | undefined
  readonly tool: string | undefined
}

export async function mcp(
  { what, server, tool }: McpWhat,
  options: McpServeOptions & McpLoginOptions,
  globals: GlobalOptions,
): Promise<number> {
  const beyond = what === 'serve' ? server : what === 'approve' ? undefined : tool
  if (beyond !== undefined)
    throw new UsageError(
      `"mcp ${what}" takes no argument ${JSON.stringify(beyond)}. See "beaver mcp --help".`,
    )
  if (what === 'serve') return serve(options, globals)
  if (what === 'login' || what === 'logout') {
    if (server === undefined) throw new UsageError(`Name the MCP server: beaver mcp ${what} <server>.`)
    const { login, logout } = await import('./mcp-login.ts')
    return (what === 'login' ? login : logout)(server, options, globals)
  }
  const { approve, listPins } = await import('./mcp-pins.ts')
  if (what === 'pins') return listPins(server, options, globals)
  if (server === undefined)
    throw new UsageError(
      'Name the MCP server: beaver mcp approve <server> [tool]. "beaver mcp pins" lists them.',
    )
  return approve(server, tool, options, globals)
}

async function serve(options: McpServeOptions, globals: GlobalOptions): Promise<number> {
  const { category, port } = options
  if (!isMcpCategory(category))
    throw new UsageError(
      `There is no category ${JSON.stringify(category)}. The categories are: ${Object.keys(mcpCategories).join(', ')}.`,
    )
  if (port !== undefined && options.http !== true) throw new UsageError('The option --port needs --http.')
  const { config, screen } = contextOf(globals)
  using interrupts = listenForInterrupts()
  const workspace = options.workspace === undefined ? undefined : resolve(options.workspace)
  const command = personCommand(config, globals.home !== undefined)
  const caller = daemonCaller(config, { workspace, command, tell: (line) => screen.warn(line) })
  const servers = workflowServers({
    category,
    version: ownVersion(),
    caller,
    tasks: daemonTasks(config, { workspace, command }),
  })
  const serving =
    options.http === true
      ? await overHttp(servers, port)
      : serveMcpStdio(servers, { input: process.stdin, output: process.stdout })
  const { promise: interrupted, resolve: interrupt } = Promise.withResolvers<void>()
  interrupts.asked.addEventListener('abort', () => interrupt(), { once: true })
  interrupts.forced.addEventListener('abort', () => process.exit(interrupts.exitCode))
  await Promise.race([serving.closed, interrupted])
  await serving.close()
  // Over HTTP, a client may come back with its answer, even to the next `beaver mcp`.
  if (options.http !== true) await caller.leave()
  await caller.idle(idleMsMax)
  return 0
}

async function overHttp(
  servers: Parameters<typeof serveMcpHttp>[0],
  port: number | undefined,
): Promise<Serving> {
  const given = process.env['BEAVER_MCP_TOKEN'] ?? ''
  if (given !== '' && !/^[\x21-\x7e]{16,}$/.test(given))
    throw new UsageError('BEAVER_MCP_TOKEN needs at least 16 printable characters without a space.')
  const token = given === '' ? randomBytes(24).toString('base64url') : given
  const serving = await serveMcpHttp(servers, { token, ...(port === undefined ? {} : { port }) })
  process.stderr.write(`MCP at ${serving.url}\n`)
  // If the user gave the token, it is known already and must not appear on a screen.
  if (given === '') process.stderr.write(`Authorization: Bearer ${token}\n`)
  return serving
}

function ownVersion(): string {
  return (
    JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  ).version
}

// The MCP calls that continue without their client. Each is a task, which is read from the journal when a
// client asks for it, because the read model may be behind. Only tasks that an MCP client started are found.

const endings: Readonly<Record<WorkflowOutcome['status'], string>> = {
  completed: 'The task has completed.',
  incomplete: 'The task is incomplete.',
  failed: 'The task has failed.',
  cancelled: 'The task was cancelled.',
}

/** @param options.workspace the absolute path of the tasks' workspace. Default: the daemon's workspace */
function daemonTasks(
  config: Config,
  { workspace, command }: Pick<DaemonCallerOptions, 'workspace' | 'command'>,
): WorkflowTasks {
  async function onSystem(
    act: (client: Connection['client']) => Promise<WorkflowTask>,
  ): Promise<WorkflowTaskResult> {
    const system = lookForSystem(config)
    if (system === null) return { ok: false, error: noSystem(config, command) }
    try {
      await using connection = await connect(system)
      return { ok: true, task: await act(connection.client) }
    } catch (error) {
      return { ok: false, error: callErrorOf(error) }
    }
  }
  return {
    start: (name, args) =>
      onSystem(async (client) => {
        const { task_id: taskId } = await client.submit({
          workflow: { name, arguments: args },
          workspace,
          source: mcpSource,
        })
        return taskIn(taskId, client.events(taskId), command)
      }),
    look: (taskId) => onSystem((client) => taskIn(taskId, client.events(taskId), command)),
    cancel: (taskId) =>
      onSystem(async (client) => {
        const task = await taskIn(taskId, client.events(taskId), command)
        if (task.outcome === null)
          await client.cancel(taskId, 'Cancelled by the MCP client.').catch(unlessEnded)
        return task
      }),
    answer: (taskId, answers) =>
      onSystem(async (client) => {
        const asked = await askedIn(taskId, client.events(taskId))
        const [late] = await answerAll(client, taskId, asked, answers(everyQuestion(asked)))
        if (late !== undefined) throw new BeaverError('conflict', late)
        return taskIn(taskId, client.events(taskId), command)
      }),
  }
}

/** Ignores a conflict: the task has ended in the meantime, or was already cancelled. */
function unlessEnded(error: unknown): void {
  if (!(error instanceof BeaverError && error.code === 'conflict')) throw error
}

/**
 * The state of a task for an MCP client.
 *
 * @throws {BeaverError} `not_found` if no MCP client started such a task
 */
export async function taskIn(
  taskId: string,
  events: AsyncIterable<RecordedEvent>,
  command: PersonCommand,
): Promise<WorkflowTask> {
  const view = newTaskView()
  let createdAt = ''
  let last = 'The task was accepted.'
  for await (const event of events) {
    evolveTaskView(view, event)
    if (view.submitted?.request.source !== mcpSource) break
    if (createdAt === '') createdAt = event.time
    last = progressIn(event) ?? last
  }
  if (createdAt === '' || view.submitted === null)
    throw new BeaverError('not_found', `There is no task ${taskId} of an MCP client.`)
  const outcome = view.end === null ? null : outcomeOf(taskId, view.submitted.session_id, view.end)
  const { size } = view.nodes
  const ended = size === 0 ? '' : `${nodesEnded(view)} of ${size} nodes have ended. `
  const message =
    outcome === null
      ? (personWaits(taskId, view, command) ?? `${ended}${happeningNow(view, Date.now()) ?? last}`)
      : endings[outcome.status]
  const questions = questionsFor(view.openQuestions)
  return { taskId, createdAt, updatedAt: view.time, message, outcome, questions }
}

function outcomeOf(taskId: string, sessionId: string, { type, result }: TaskViewEnd): WorkflowOutcome {
  const status = type.slice('task_'.length) as WorkflowOutcome['status']
  return {
    taskId,
    sessionId,
    status,
    finalOutput: result.final_output,
    outputs: result.outputs,
    failure: result.failure?.message ?? null,
  }
}
