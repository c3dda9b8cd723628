// Offers the MCP servers of one process as external tools. Each server is connected in the background,
// independently of the others (supervise-server.ts); the start waits for none. Nothing of a server outlives
// `close` or an ordinary end of the process.
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import type {
  CallDescription,
  ExternalCall,
  ExternalResult,
  ExternalTool,
  ExternalTools,
} from '@beaver/agent'
import { noSandbox, type SandboxOptions } from '@beaver/agent/tool-kit'
import { type Clock, type Logger, silentLogger, systemClock } from '@beaver/core'
import { isWorkflowTool } from '@beaver/workflows'
import { type PinKeeper, pinKeeper } from '../pins/pin-keeper.ts'
import { boundText, ToolBudget, totalBounds } from './bound-tools.ts'
import { failed } from './call-result.ts'
import type { LeftOut } from './list-tools.ts'
import { isOwnTool } from './own-tools.ts'
import type { Environment, McpServerSpec } from './server-spec.ts'
import type { McpServerStatus } from './server-status.ts'
import { writeMcpReport } from './status-file.ts'
import { type SupervisedServer, superviseServer } from './supervise-server.ts'

export interface McpOptions {
  readonly environment: Environment
  readonly pinsFile: string
  /** The folder of the logins. Default: no server gets an OAuth token. */
  readonly loginsFolder?: string
  /** Where the status of the servers is reported. Default: nowhere. */
  readonly reportFile?: string
  /** Our version, for the servers. */
  readonly version: string
  /** The names of tools that are not MCP tools. */
  readonly reserved?: readonly string[]
  readonly logger?: Logger
  readonly clock?: Clock
  /** A number in [0, 1). */
  readonly random?: () => number
  /** The longest time from the start of one server to its answer. Default: 60,000. */
  readonly startMsMax?: number
  /** The time for a child to end after its stdin was closed, and again after SIGTERM. Default: 1,500. */
  readonly leaveMsMax?: number
  /**
   * The longest time for a list of tools, at least the server's `timeout_ms`. A server that was silent for a
   * call is also asked for its list. Default: 10,000.
   */
  readonly listMsMax?: number
  /** Confines the programs. Default: nothing does. */
  readonly sandbox?: SandboxOptions
}

export interface McpConnections extends ExternalTools, AsyncDisposable {
  readonly status: readonly McpServerStatus[]
  /** Resolves when every server has connected or failed once. */
  readonly settled: Promise<void>
  close(): Promise<void>
}

type HowCalled = Parameters<ExternalTools['call']> extends [ExternalCall, ...infer How] ? How : never

/** How often the pins are read while a tool is withheld: an approval takes effect within this time. */
const pinsLookMs = 2_000
const refusalCharsMax = 300

/** @param servers the servers by name, as under `mcp` in the configuration */
export async function startMcpServers(
  servers: Readonly<Record<string, McpServerSpec>>,
  options: McpOptions,
): Promise<McpConnections> {
  return new McpServers(servers, options)
}

class McpServers implements McpConnections {
  readonly settled: Promise<void>
  readonly #clock: Clock
  readonly #names: TakenNames
  readonly #groups = new Set<number>()
  readonly #listeners = new Set<() => void>()
  readonly #supervised: SupervisedServer[] = []
  readonly #killAll = (): void => killGroups(this.#groups)
  #gathered: GatheredTools = { offered: [], known: new Map(), leftOut: new Map() }
  /** How many left out tools of each server were logged. */
  readonly #toldLeftOut = new Map<string, number>()
  /** What model providers refuse, by offered names. A definition with another hash is not refused. */
  readonly #refused = new Map<string, { readonly as: LeftOut; readonly hash: string }>()
  readonly #logger: Logger
  readonly #reportFile: string | null
  #reported = ''
  #looking: { cancel(): void } | null = null
  readonly #pins: PinKeeper
  readonly #pinsFile: string
  /** When the file of the pins was written. */
  #pinsStamp: number | null = null
  #closed: Promise<void> | null = null

  constructor(servers: Readonly<Record<string, McpServerSpec>>, options: McpOptions) {
    const {
      clock = systemClock,
      random = Math.random,
      logger = silentLogger,
      startMsMax = 60_000,
      leaveMsMax = 1_500,
      listMsMax = 10_000,
    } = options
    const {
      environment,
      version,
      reserved = [],
      pinsFile,
      sandbox = noSandbox,
      loginsFolder = null,
    } = options
    this.#clock = clock
    this.#logger = logger
    this.#reportFile = options.reportFile ?? null
    this.#names = { servers: Object.keys(servers), reserved: new Set(reserved) }
    const pins = pinKeeper(pinsFile, clock)
    this.#pins = pins
    this.#pinsFile = pinsFile
    process.once('exit', this.#killAll)
    const onChange = (): void => this.#gather()
    const ports = {
      clock,
      random,
      environment,
      version,
      groups: this.#groups,
      pins,
      startMsMax,
      leaveMsMax,
      listMsMax,
      sandbox,
      loginsFolder,
      logger,
      onChange,
    }
    for (const [name, spec] of Object.entries(servers))
      this.#supervised.push(superviseServer(name, spec, ports))
    this.#gather()
    this.settled = Promise.all(this.#supervised.map((server) => server.settled)).then(() => {})
  }

  get tools(): readonly ExternalTool[] {
    return this.#gathered.offered
  }

  get status(): readonly McpServerStatus[] {
    const { known, offered, leftOut: beyond } = this.#gathered
    const names = new Set(offered.map(({ name }) => name))
    return this.#supervised.map((server): McpServerStatus => {
      const { leftOut, ...status } = server.status()
      const tools = [...known].filter(([name, each]) => each.server === server && names.has(name)).length
      const refused = [...this.#refused].flatMap(([name, each]) =>
        known.get(name)?.server === server && isStill(server, each) ? each.as : [],
      )
      return { ...status, tools, leftOut: [...leftOut, ...(beyond.get(server.name) ?? [])], refused }
    })
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Waits for starting servers with tools of these names, until each is connected or has failed. */
  async arrival(names: readonly string[]): Promise<void> {
    const missing = names.filter((name) => !this.#gathered.known.has(name))
    const starting = this.#supervised.filter(
      (server) =>
        server.status().state === 'starting' && missing.some((name) => name.startsWith(`${server.name}_`)),
    )
    await Promise.all(starting.map((server) => server.settled))
  }

  refused(name: string, { provider, says }: { readonly provider: string; readonly says: string }): void {
    const found = this.#gathered.known.get(name)
    const hash = found?.server.listed.find((tool) => tool.name === found.tool)?.hash
    if (found === undefined || hash === undefined) return
    this.#refused.set(name, {
      as: {
        tool: found.tool,
        reason: `the provider ${provider} refuses its schema: ${says.slice(0, refusalCharsMax)}`,
      },
      hash,
    })
    this.#report()
  }

  /** A person and the rules see the URI of a resource that is read. */
  async describe({ name, arguments: { uri } }: ExternalCall): Promise<CallDescription> {
    const isRead = this.#gathered.offered.some((tool) => tool.name === name && tool.describes === true)
    return {
      subject: isRead && typeof uri === 'string' ? uri : null,
      unreadable: null,
      inputFault: null,
      preview: null,
      refused: null,
    }
  }

  async call(
    { name, arguments: args, run }: ExternalCall,
    ...[signal, ask, progress = () => {}]: HowCalled
  ): Promise<ExternalResult> {
    const supervised = this.#supervised
    // A run that continues after a restart may call a tool before its server has listed any.
    if (!this.#gathered.known.has(name) && supervised.some((server) => server.status().state === 'starting'))
      await this.#settledOr(signal)
    const found = this.#gathered.known.get(name)
    if (found !== undefined)
      return found.server.call(found.tool, args, {
        signal,
        ask: ask ?? null,
        progress,
        ...(run?.trace === undefined ? {} : { trace: run.trace }),
      })
    const down = supervised.find(
      (server) => name.startsWith(`${server.name}_`) && server.status().state !== 'connected',
    )
    if (down === undefined)
      return failed(
        'tool_not_available',
        `No MCP server has a tool ${JSON.stringify(name)}. Use one of the tools you were given.`,
      )
    return failed(
      'mcp_server_down',
      `The MCP server ${down.name} is not running: ${down.status().lastError ?? 'it was stopped'}. Continue without its tools.`,
    )
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Collects the tools of all servers, and informs the listeners if the offered tools have changed. */
  #gather(): void {
    const before = this.#gathered.offered
    const gathered = gatherTools(this.#supervised, this.#names)
    const same = JSON.stringify(gathered.offered) === JSON.stringify(before)
    this.#gathered = same ? { ...gathered, offered: before } : gathered
    this.#lookAtPins()
    this.#tellLeftOut()
    this.#report()
    if (same) return
    for (const listener of [...this.#listeners]) listener()
  }

  #report(): void {
    const { status } = this
    const text = JSON.stringify(status)
    if (this.#reportFile === null || text === this.#reported) return
    this.#reported = text
    writeMcpReport(this.#reportFile, status, process.pid)
  }

  #tellLeftOut(): void {
    for (const { name: server, leftOut } of this.status) {
      const [first] = leftOut
      if (leftOut.length === (this.#toldLeftOut.get(server) ?? 0)) continue
      this.#toldLeftOut.set(server, leftOut.length)
      if (first === undefined) continue
      const message = `Agents do not get ${leftOut.length} of the tools of the MCP server ${server}. The first is ${first.tool} (${first.reason}).`
      this.#logger.warn('mcp_tools_left_out', message, { server, left_out: leftOut.length })
    }
  }

  #lookAtPins(): void {
    const waits = (server: SupervisedServer): boolean =>
      server.withholds || this.#gathered.offered.some((tool) => isUnapproved(tool, server))
    if (this.#looking !== null || this.#closed !== null || !this.#supervised.some(waits)) return
    this.#pinsStamp ??= stampOf(this.#pinsFile)
    this.#looking = this.#clock.after(pinsLookMs, () => {
      this.#looking = null
      const stamp = stampOf(this.#pinsFile)
      const changed = stamp !== this.#pinsStamp
      this.#pinsStamp = stamp
      for (const server of this.#supervised)
        if (server.withholds || (changed && waits(server))) void server.review()
      this.#lookAtPins()
    })
  }

  async #settledOr(signal: AbortSignal): Promise<void> {
    const { promise: aborted, resolve } = Promise.withResolvers<void>()
    const onAbort = (): void => resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    if (!signal.aborted) await Promise.race([this.settled, aborted])
    signal.removeEventListener('abort', onAbort)
  }

  async #close(): Promise<void> {
    this.#looking?.cancel()
    await Promise.all(this.#supervised.map((server) => server.close()))
    // A list that came while its server was closed may still be compared with the pins.
    await this.#pins.close()
    process.off('exit', this.#killAll)
    this.#listeners.clear()
  }
}

const isStill = (
  server: SupervisedServer,
  { as, hash }: { readonly as: LeftOut; readonly hash: string },
): boolean => server.listed.some((tool) => tool.name === as.tool && tool.hash === hash)

function killGroups(groups: ReadonlySet<number>): void {
  for (const pid of groups) {
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // The group has ended already.
    }
  }
}

// Collects the tools of all servers of a process, each under one name; it only decides. The first server of
// the configuration gets a name; for the others the reason is kept. A withheld tool keeps its name. The sum
// is bounded, because every request to a model contains these tools. The operator decides whose text a tool
// returns and whether it has effects; the server's own statements do not count.

/** For people who are asked because of it. */
const describedBy = ({ name }: SupervisedServer): string =>
  `the tools of the MCP server ${name}, which nobody approved with "beaver mcp approve ${name}"`

const isUnapproved = (tool: ExternalTool, server: SupervisedServer): boolean =>
  tool.describedBy === describedBy(server)

/** When the file was written. 0: it is not there. */
const stampOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

interface NamedTool {
  readonly server: SupervisedServer
  /** The server's own name for the tool. */
  readonly tool: string
}

interface GatheredTools {
  readonly offered: readonly ExternalTool[]
  /** All tools, also withheld ones, by their offered names. */
  readonly known: ReadonlyMap<string, NamedTool>
  /** For each server, the tools whose name is taken, and those without room. */
  readonly leftOut: ReadonlyMap<string, readonly LeftOut[]>
}

/** The caller's deadline is later than ours by this time, so that we notice first that a server hangs. */
const timeoutSlackMs = 1_000

function gatherTools(servers: readonly SupervisedServer[], names: TakenNames): GatheredTools {
  const offered: ExternalTool[] = []
  const known = new Map<string, NamedTool>()
  const leftOut = new Map<string, LeftOut[]>()
  const leave = (server: string, each: LeftOut): void =>
    void leftOut.set(server, [...(leftOut.get(server) ?? []), each])
  const budget = new ToolBudget(totalBounds)
  for (const server of servers) {
    for (const tool of server.listed) {
      const name = offeredName(server.name, tool.name, names)
      if (known.has(name)) {
        leave(server.name, { tool: tool.name, reason: `its name ${name} is taken by another tool` })
        continue
      }
      known.set(name, { server, tool: tool.name })
      if (!server.mayOffer(tool.name)) continue
      if (!budget.take(tool.bytes)) {
        leave(server.name, {
          tool: tool.name,
          reason: `is beyond the bound of all servers together (${boundText(totalBounds)})`,
        })
        continue
      }
      const { description, inputSchema, idempotent } = tool
      const reads = isOwnTool(tool) || server.spec.tools_that_read?.includes(tool.name) === true
      offered.push({
        name,
        description,
        parameters: inputSchema,
        idempotent: idempotent || reads,
        permission: server.spec.permission,
        reads: server.spec.trusted === true ? 'own' : 'untrusted',
        ...(server.spec.trusted === true || isOwnTool(tool) || server.isApproved(tool.name)
          ? {}
          : { describedBy: describedBy(server) }),
        ...(isOwnTool(tool) && tool.act === 'read_resource' ? { describes: true } : {}),
        ...(reads ? ({ effects: 'reads', sink: 'query' } as const) : {}),
        timeoutMs: server.spec.timeout_ms + timeoutSlackMs,
      })
    }
  }
  return { offered, known, leftOut }
}

const charsMax = 64
const hashChars = 8

interface TakenNames {
  /** The names of all configured servers. */
  readonly servers: readonly string[]
  /** The names of tools that are not MCP tools. */
  readonly reserved: ReadonlySet<string>
}

/**
 * The name under which an MCP tool is offered: `<server>_<tool>`, within `^[a-zA-Z0-9_-]{1,64}$`. If it does
 * not fit, is taken, or could also be a tool of another server, it ends in a hash of both names. It depends
 * only on the configuration and the tool's own name, never on which server answered first.
 *
 * @example
 * offeredName('github', 'search issues', { servers: ['github'], reserved: new Set() })
 * // 'github_search_issues_' and a hash
 */
export function offeredName(server: string, tool: string, { servers, reserved }: TakenNames): string {
  const plain = `${server}_${tool}`
  const ambiguous = servers.some(
    (other) => other !== server && other.startsWith(`${server}_`) && plain.startsWith(`${other}_`),
  )
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(plain) && !ambiguous && !reserved.has(plain) && !isWorkflowTool(plain))
    return plain
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, hashChars)
  return `${plain.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, charsMax - hashChars - 1)}_${hash}`
}
