// The MCP servers of one process as external tools: connected once, in the background, whatever happens to each of them.
// M1. Starting waits for no server. M2. A name stands for one tool of one server. M3. Nothing of a server outlives `close`, nor
//     an ordinary end of the process.
import type { ExternalCall, ExternalResult, ExternalTool, ExternalTools } from '@beaver/agent'
import { type Clock, type Logger, silentLogger, systemClock } from '@beaver/core'
import { pinKeeper } from '../pins/pin-keeper.ts'
import { failed } from './call-result.ts'
import type { LeftOut } from './list-tools.ts'
import { offeredName } from './offered-name.ts'
import type { Environment, McpServerSpec } from './server-spec.ts'
import type { McpServerStatus } from './server-status.ts'
import { superviseServer, type SupervisedServer } from './supervise-server.ts'

export interface McpOptions {
  /** Where `$NAME` is read from. */
  readonly environment: Environment
  readonly pinsFile: string
  /** How we call ourselves to servers. */
  readonly version: string
  /** Names of tools that are not MCP's. */
  readonly reserved?: readonly string[]
  readonly logger?: Logger
  readonly clock?: Clock
  /** A number in [0, 1). */
  readonly random?: () => number
  /** From start to answer of one server. Default: 60,000. */
  readonly startMsMax?: number
  /** What a child has for leaving, twice. Default: 1,500. */
  readonly leaveMsMax?: number
  /** A list of tools, and the question whether a server that was silent still answers; never less than its `timeout_ms`. Default: 10,000. */
  readonly listMsMax?: number
}

export interface McpConnections extends ExternalTools, AsyncDisposable {
  readonly status: readonly McpServerStatus[]
  /** Resolves when every server was connected or has failed once. */
  readonly settled: Promise<void>
  close(): Promise<void>
}

/** How often the pins are read again while a tool is withheld: an approval shows so soon. */
const pinsLookMs = 2_000

/** The caller's own deadline comes after ours: that a server hangs is noticed here. */
const timeoutSlackMs = 1_000

interface Known {
  readonly server: SupervisedServer
  readonly tool: string
}

/** @param servers by name, as under `mcp` in the configuration */
export async function startMcpServers(servers: Readonly<Record<string, McpServerSpec>>, options: McpOptions): Promise<McpConnections> {
  const { clock = systemClock, random = Math.random, logger = silentLogger, startMsMax = 60_000, leaveMsMax = 1_500, listMsMax = 10_000 } = options
  const groups = new Set<number>()
  const listeners = new Set<() => void>()
  const names = { servers: Object.keys(servers), reserved: new Set(options.reserved ?? []) }
  const pins = pinKeeper(options.pinsFile, clock)
  let tools: readonly ExternalTool[] = []
  let known: ReadonlyMap<string, Known> = new Map()
  let collisions: ReadonlyMap<string, readonly LeftOut[]> = new Map()
  let looking: { cancel(): void } | null = null
  let closed: Promise<void> | null = null

  const killAll = (): void => {
    for (const pid of groups) {
      try {
        process.kill(-pid, 'SIGKILL')
      } catch {
        // gone already
      }
    }
  }
  process.once('exit', killAll)

  const ports = { clock, random, environment: options.environment, version: options.version, groups, pins, startMsMax, leaveMsMax, listMsMax, logger }
  const supervised: SupervisedServer[] = []
  for (const [name, spec] of Object.entries(servers)) supervised.push(superviseServer(name, spec, { ...ports, onChange: gather }))
  gather()

  /** Puts the tools of all servers together; tells the listeners when that is something else than before. */
  function gather(): void {
    const offered: ExternalTool[] = []
    const byName = new Map<string, Known>()
    const left = new Map<string, LeftOut[]>()
    for (const server of supervised) {
      for (const tool of server.listed) {
        const name = offeredName(server.name, tool.name, names)
        if (byName.has(name)) {
          left.set(server.name, [...(left.get(server.name) ?? []), { tool: tool.name, reason: `its name ${name} is taken by another tool` }])
          continue
        }
        byName.set(name, { server, tool: tool.name })
        if (!server.mayOffer(tool.name)) continue
        const { description, inputSchema: parameters, idempotent } = tool
        offered.push({
          name,
          description,
          parameters: { ...parameters },
          idempotent,
          permission: server.spec.permission,
          timeoutMs: server.spec.timeout_ms + timeoutSlackMs,
        })
      }
    }
    known = byName
    collisions = left
    lookAtPins()
    if (JSON.stringify(offered) === JSON.stringify(tools)) return
    tools = offered
    for (const listener of [...listeners]) listener()
  }

  function lookAtPins(): void {
    if (looking !== null || closed !== null || !supervised.some((server) => server.withholds)) return
    looking = clock.after(pinsLookMs, () => {
      looking = null
      for (const server of supervised) if (server.withholds) void server.review()
    })
  }

  async function call({ name, arguments: args }: ExternalCall, signal: AbortSignal): Promise<ExternalResult> {
    // A run that was taken up again may call before its server has listed anything.
    if (!known.has(name) && supervised.some((server) => server.status().state === 'starting')) await settledOr(signal)
    const found = known.get(name)
    if (found !== undefined) return found.server.call(found.tool, args, signal)
    const down = supervised.find((server) => name.startsWith(`${server.name}_`) && server.status().state !== 'connected')
    if (down === undefined) return failed('tool_not_available', `No MCP server has a tool ${JSON.stringify(name)}. Use one of the tools you were given.`)
    return failed('mcp_server_down', `The MCP server ${down.name} is not running: ${down.status().lastError ?? 'it was stopped'}. Go on without its tools.`)
  }

  const settled = Promise.all(supervised.map((server) => server.settled)).then(() => {})

  async function settledOr(signal: AbortSignal): Promise<void> {
    const { promise: aborted, resolve } = Promise.withResolvers<void>()
    const onAbort = (): void => resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    if (!signal.aborted) await Promise.race([settled, aborted])
    signal.removeEventListener('abort', onAbort)
  }

  async function close(): Promise<void> {
    looking?.cancel()
    await Promise.all(supervised.map((server) => server.close()))
    process.off('exit', killAll)
    listeners.clear()
  }

  return {
    get tools() {
      return tools
    },
    get status() {
      return supervised.map((server): McpServerStatus => {
        const { leftOut, ...status } = server.status()
        const offered = [...known.values()].filter((each) => each.server === server && server.mayOffer(each.tool)).length
        return { ...status, tools: offered, leftOut: [...leftOut, ...(collisions.get(server.name) ?? [])] }
      })
    },
    settled,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    call,
    close: () => (closed ??= close()),
    [Symbol.asyncDispose]: () => (closed ??= close()),
  }
}
