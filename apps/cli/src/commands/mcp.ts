// `beaver mcp`: offers the workflow tools to MCP clients, on stdin and stdout or over HTTP. It runs no task
// itself: a daemon does. In the stdin mode, stdout carries only the protocol, and messages go to stderr. The
// command ends when its client is gone or on a signal. It cancels the tasks of open calls first, and on stdin
// and stdout also those that still wait for an answer of the client. Calls that became tasks of MCP go on.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  isMcpCategory,
  mcpCategories,
  serveMcpHttp,
  serveMcpStdio,
  type Serving,
  workflowServers,
} from '@beaver/mcp'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { daemonCaller } from '../mcp/daemon-caller.ts'
import { daemonTasks } from '../mcp/daemon-tasks.ts'
import { personCommand } from '../mcp/person-command.ts'
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
  // Over HTTP a client may come back with its answer, also to the next `beaver mcp`.
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
  // A token that was given is known, and does not belong on a screen.
  if (given === '') process.stderr.write(`Authorization: Bearer ${token}\n`)
  return serving
}

function ownVersion(): string {
  return (
    JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  ).version
}
