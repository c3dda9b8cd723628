// One MCP server of the configuration, kept connected: started, listed, pinned, restarted with a bound, ended.
// How often it is connected again stands in core's table `supervisors`.
// S1. One connection, however many call. S2. While it is being restarted its tools stay listed and calls fail at once; once it is
//     given up they are withdrawn. S3. What it lists is held against the pins before it is offered. S4. Nothing here rejects.
import type { ExternalResult } from '@beaver/agent'
import {
  type Clock,
  type JsonObject,
  type Logger,
  messageOf,
  pause,
  type RunningChild,
  startSupervision,
  type SupervisionStatus,
  type SupervisorSpec,
  supervisors,
} from '@beaver/core'
import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import type { PinKeeper, Pinned } from '../pins/pin-keeper.ts'
import { failed, failureOf, resultOf } from './call-result.ts'
import { connectLink, type Link, LinkError } from './link.ts'
import { type LeftOut, type ListedTool, type Listing, listTools } from './list-tools.ts'
import { addressOf, type Environment, type McpServerSpec } from './server-spec.ts'
import type { McpServerState, McpServerStatus } from './server-status.ts'

export interface SupervisedServer {
  readonly name: string
  readonly spec: McpServerSpec
  /** What it lists and may be asked for, withheld ones too; empty once it is given up. */
  readonly listed: readonly ListedTool[]
  /** Whether a tool it lists may be offered. */
  mayOffer(tool: string): boolean
  /** Resolves when it was connected, failed, or died for the first time. */
  readonly settled: Promise<void>
  status(): Omit<McpServerStatus, 'tools'>
  /** Something of it is withheld: an approval may change that. */
  readonly withholds: boolean
  /** Holds what it lists against the pins again. */
  review(): Promise<void>
  call(tool: string, args: JsonObject, signal: AbortSignal): Promise<ExternalResult>
  close(): Promise<void>
}

export interface ServerPorts {
  readonly clock: Clock
  readonly random: () => number
  readonly environment: Environment
  readonly version: string
  readonly groups: Set<number>
  readonly pins: PinKeeper
  readonly startMsMax: number
  readonly leaveMsMax: number
  readonly listMsMax: number
  /** What it lists or may offer has changed. */
  onChange(): void
  readonly logger: Logger
}

interface ConnectedServer extends RunningChild {
  readonly link: Link
}

const callsOpenMax = 1_000
/** A server over HTTP is asked for its list so often: that it is gone shows, and what it could not tell. */
const lookMs = 60_000
const nothing: Listing = { tools: [], leftOut: [] }

export function superviseServer(name: string, spec: McpServerSpec, ports: ServerPorts): SupervisedServer {
  const { clock, logger } = ports
  const stopping = new AbortController()
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
  let state: McpServerState = 'starting'
  let link: Link | null = null
  let listing = nothing
  let pinned: Pinned = { kind: 'ok', pinned: 0, changed: new Set() }
  let lastError: string | null = null
  let restarts = 0
  let attempts = 0
  let legacy = false
  let callsOpen = 0
  let refreshing: 'no' | 'once' | 'again' = 'no'

  const become = (next: McpServerState): void => {
    state = next
    ports.onChange()
  }

  async function connect(mode: 'auto' | 'legacy', signal: AbortSignal): Promise<Link> {
    const { groups, version, startMsMax, leaveMsMax } = ports
    let listed: Link | null = null
    const next = await connectLink(addressOf(spec, ports.environment), {
      clock,
      groups,
      version,
      startMsMax,
      leaveMsMax,
      mode,
      signal,
      onListChanged: () => void (listed === null ? null : refresh(listed)),
    })
    try {
      listed = next
      await list(next)
      return next
    } catch (error) {
      await next.drop('its tools could not be listed')
      throw new Error(`its tools could not be listed: ${messageOf(error)}`, { cause: error })
    }
  }

  async function list(from: Link): Promise<void> {
    const hasTools = from.client.getServerCapabilities()?.tools !== undefined
    const timeoutMs = Math.max(ports.listMsMax, spec.timeout_ms)
    listing = hasTools ? selected(await listTools(from.client, { timeoutMs, signal: stopping.signal })) : nothing
    await review()
  }

  function selected({ tools, leftOut }: Listing): Listing {
    const { tools: wanted } = spec
    if (wanted === undefined) return { tools, leftOut }
    const missing = wanted.filter((each) => tools.every((tool) => tool.name !== each) && leftOut.every(({ tool }) => tool !== each))
    return {
      tools: tools.filter((tool) => wanted.includes(tool.name)),
      leftOut: [
        ...leftOut.filter(({ tool }) => tool === '*' || wanted.includes(tool)),
        ...missing.map((tool): LeftOut => ({ tool, reason: 'stands in the configuration, but the server does not list it' })),
      ],
    }
  }

  async function review(): Promise<void> {
    const before = pinned
    pinned = await ports.pins.check(name, listing.tools)
    const { changed, withheld } = mcpFacts(logger, name)
    if (pinned.kind === 'withheld' && (before.kind === 'ok' || before.message !== pinned.message)) withheld(pinned.message)
    if (pinned.kind === 'ok') for (const tool of pinned.changed) if (before.kind !== 'ok' || !before.changed.has(tool)) changed(tool)
    ports.onChange()
  }

  /** Lists again; a server that does not even do that is ended, and so restarted. */
  async function refresh(of: Link): Promise<void> {
    if (refreshing !== 'no') {
      refreshing = 'again'
      return
    }
    try {
      do {
        refreshing = 'once'
        await list(of)
      } while (isAgain() && of === link)
    } catch (error) {
      if (of !== link || stopping.signal.aborted) return
      const silent = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout
      lastError = silent ? 'it does not answer any more' : `its tools could not be listed: ${messageOf(error)}`
      await of.drop(lastError)
    } finally {
      refreshing = 'no'
    }
  }

  const isAgain = (): boolean => refreshing === 'again'

  async function keepLooking(at: Link): Promise<void> {
    while (at === link && !stopping.signal.aborted) {
      await pause(clock, lookMs, stopping.signal)
      if (at === link && !stopping.signal.aborted) await refresh(at)
    }
  }

  /** Connects: one life of the server. A program that ends when it is asked for its era is asked the old way the next time. */
  async function begin(signal: AbortSignal): Promise<ConnectedServer> {
    attempts++
    let next: Link
    try {
      next = await connect(legacy || attempts % 2 === 0 ? 'legacy' : 'auto', signal)
    } catch (error) {
      if (attempts === 1 && error instanceof LinkError && error.asked && !signal.aborted) return begin(signal)
      throw error
    }
    const gone = next.gone.then(async (reason) => {
      if (link === next) link = null
      await next.drop('it is gone')
      return { reason, normal: false }
    })
    return { link: next, gone, stop: () => next.drop('it was stopped') }
  }

  function onStatus(status: SupervisionStatus<ConnectedServer>): void {
    if (status.kind === 'ready') {
      link = status.child.link
      legacy ||= link.legacy
      lastError = null
      become('connected')
      if ('url' in spec) void keepLooking(link)
    } else {
      const givenUp = status.kind === 'escalated' && status.againMs === null
      const times = `${status.deaths} ${status.deaths === 1 ? 'time' : 'times'}`
      if (!givenUp) restarts++
      lastError = givenUp ? `${status.reason} (given up after ${times} within ten minutes)` : status.reason
      if (givenUp) listing = nothing
      become(givenUp ? 'failed' : 'restarting')
    }
    settle()
  }

  /** It stays `failed` until the daemon starts again: nothing of its address can change before. */
  function refuse(reason: string): void {
    lastError = reason
    logger.error('mcp_server_refused', `The MCP server ${name} cannot be started: ${reason}`, { server: name })
    become('failed')
    settle()
  }

  async function call(tool: string, args: JsonObject, signal: AbortSignal): Promise<ExternalResult> {
    if (signal.aborted) return failed('cancelled', `The call of ${tool} was stopped.`)
    if (link === null || state !== 'connected') return down()
    if (pinned.kind === 'withheld') return failed('tool_changed', `The tool ${tool} is withheld: ${pinned.message}`)
    if (pinned.changed.has(tool))
      return failed(
        'tool_changed',
        `The tool ${tool} of the MCP server ${name} has changed since it was approved; a person has to approve it first. Go on without it.`,
      )
    if (callsOpen >= callsOpenMax) return failed('mcp_server_busy', `${callsOpenMax} calls of the MCP server ${name} are open already. Call again later.`)
    const at = link
    const definition = listing.tools.find((each) => each.name === tool)
    if (definition === undefined) return failed('tool_not_available', `The MCP server ${name} has no tool ${tool} any more.`)
    callsOpen++
    try {
      const toolDefinition = { name: tool, inputSchema: { ...definition.inputSchema, type: 'object' as const } }
      return resultOf(await at.client.callTool({ name: tool, arguments: { ...args } }, { timeout: spec.timeout_ms, signal, toolDefinition }))
    } catch (error) {
      const { result, lost } = failureOf(error, { server: name, tool, timeoutMs: spec.timeout_ms, signal })
      if (lost === 'yes') void at.drop(messageOf(error))
      if (lost === 'perhaps') void refresh(at)
      return result
    } finally {
      callsOpen--
    }
  }

  function down(): ExternalResult {
    const why = lastError === null ? '' : `: ${lastError}`
    if (state === 'failed') return failed('mcp_server_down', `The MCP server ${name} is not running${why}. Go on without its tools.`)
    return failed(
      'mcp_server_down',
      `The MCP server ${name} is not connected at the moment${why}. It is being started again; call again later, or go on without it.`,
    )
  }

  const supervision = startSupervision<ConnectedServer>({
    spec: supervisorOf(spec),
    logger,
    clock,
    random: ports.random,
    fieldsOf: ({ link: { server, pid } }) => ({ server, tools: listing.tools.length, ...(pid === null ? {} : { pid }) }),
    onStatus,
  })
  const fault = addressFault(spec, ports.environment)
  if (fault === null) supervision.add({ id: name, restart: 'permanent' }, begin).catch(() => {}) // told through `onStatus`
  else refuse(fault)

  return {
    name,
    spec,
    settled,
    get listed() {
      return listing.tools
    },
    mayOffer: (tool) => pinned.kind === 'ok' && !pinned.changed.has(tool),
    get withholds() {
      return pinned.kind === 'withheld' || pinned.changed.size > 0
    },
    status: () => ({
      name,
      state,
      server: link?.server ?? null,
      pid: link?.pid ?? null,
      pinned: pinned.kind === 'ok' ? pinned.pinned : 0,
      changed: pinned.kind === 'ok' ? [...pinned.changed] : [],
      leftOut: listing.leftOut,
      lastError: pinned.kind === 'withheld' ? pinned.message : lastError,
      restarts,
    }),
    review,
    call,
    async close() {
      stopping.abort()
      await supervision.stop()
      become('stopped')
      settle()
    },
  }
}

/** A server over HTTP is not ours to restart: it is connected again for as long as the daemon runs, if it is at all. */
function supervisorOf(spec: McpServerSpec): SupervisorSpec {
  const row = 'url' in spec && spec.restarts_max > 0 ? supervisors.mcp_http : supervisors.mcp_program
  return { ...row, intensity: { ...row.intensity, restartsMax: spec.restarts_max } }
}

function addressFault(spec: McpServerSpec, environment: Environment): string | null {
  try {
    addressOf(spec, environment)
    return null
  } catch (error) {
    return messageOf(error)
  }
}

const mcpFacts = (logger: Logger, server: string) => ({
  withheld: (reason: string): void => logger.warn('mcp_tools_withheld', `The tools of the MCP server ${server} are withheld: ${reason}`, { server }),
  changed: (tool: string): void =>
    logger.warn(
      'mcp_tool_changed',
      `A tool of the MCP server ${server} has changed and is withheld. Look: beaver mcp pins. Approve: beaver mcp approve ${server}`,
      { server, tool },
    ),
})
