// Keeps one configured MCP server connected: starts it, lists its tools, restarts it with a bound (core's
// table `supervisors`), and ends it. server-tools.ts decides what it may offer, and admit-call.ts which calls
// are refused. During a restart its tools stay listed, and calls fail at once. A server that is given up
// loses its tools. Nothing here rejects.
import { type ExternalResult, unlessAborted } from '@beaver/agent'
import type { SandboxOptions } from '@beaver/agent/tool-kit'
import { type Clock, type JsonObject, type Logger, messageOf, pause } from '@beaver/core'
import {
  type RunningChild,
  Supervision,
  type SupervisionStatus,
  supervisors,
  type SupervisorSpec,
} from '@beaver/core/supervision'
import { type Client, InsufficientScopeError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { LoginNeeded, OAuthAccess } from '../oauth/oauth-access.ts'
import type { PinKeeper } from '../pins/pin-keeper.ts'
import { admitCall, type CalledServer } from './admit-call.ts'
import { failed, loginCommand } from './call-result.ts'
import { confineServer } from './child-transport.ts'
import { connectLink, isForgotten, isInSession, type Link, LinkError } from './link.ts'
import type { ListedTool } from './list-tools.ts'
import { type AskedBy, type CallOutcome, type ForgottenCall, sendCall, type SentCall } from './send-call.ts'
import { addressOf, type Environment, type McpServerSpec } from './server-spec.ts'
import type { McpServerState, McpServerStatus } from './server-status.ts'
import { ServerTools } from './server-tools.ts'

export interface SupervisedServer {
  readonly name: string
  readonly spec: McpServerSpec
  /** The listed tools, also withheld ones. Empty after the server was given up. */
  readonly listed: readonly ListedTool[]
  mayOffer(tool: string): boolean
  /** Whether a person approved what the tool says of itself. */
  isApproved(tool: string): boolean
  /** Resolves when it has connected, failed or died for the first time. */
  readonly settled: Promise<void>
  status(): Omit<McpServerStatus, 'tools' | 'refused'>
  readonly withholds: boolean
  review(): Promise<void>
  call(tool: string, args: JsonObject, by: AskedBy): Promise<ExternalResult>
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
  readonly sandbox: SandboxOptions
  /** The folder of the logins. `null`: no server gets an OAuth token. */
  readonly loginsFolder: string | null
  /** The listed tools, or those that may be offered, have changed. */
  onChange(): void
  readonly logger: Logger
}

interface ConnectedServer extends RunningChild {
  readonly link: Link
}

/** The shortest time between two lists, for a server that keeps announcing changes. */
const relistMsMin = 5_000
/** How often a server over HTTP is asked for its list, which shows its end and unreported changes. */
const lookMs = 60_000
/** A person's login takes effect within this time. */
const loginLookMs = 2_000

export function superviseServer(name: string, spec: McpServerSpec, ports: ServerPorts): SupervisedServer {
  return new McpServer(name, spec, ports)
}

class McpServer implements SupervisedServer {
  readonly name: string
  readonly spec: McpServerSpec
  readonly settled: Promise<void>
  readonly #ports: ServerPorts
  readonly #settle: () => void
  readonly #tools: ServerTools
  readonly #supervision: Supervision<ConnectedServer>
  readonly #stopping = new AbortController()
  #state: McpServerState = 'starting'
  #link: Link | null = null
  #lastError: string | null = null
  #restarts = 0
  #attempts = 0
  readonly #access: OAuthAccess | null
  #legacy = false
  #callsOpen = 0
  readonly #used = new UsedClients()
  #refreshing: 'no' | 'once' | 'again' = 'no'
  #relistedAtMs = -Infinity
  #relisting = false

  constructor(name: string, spec: McpServerSpec, ports: ServerPorts) {
    const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
    this.name = name
    this.spec = spec
    this.settled = settled
    this.#settle = settle
    this.#ports = ports
    this.#tools = new ServerTools(name, spec, ports)
    this.#access = accessTo(name, spec, ports)
    this.#supervision = new Supervision<ConnectedServer>({
      spec: supervisorOf(spec),
      logger: ports.logger,
      clock: ports.clock,
      random: ports.random,
      fieldsOf: ({ link: { server, pid } }) => ({
        server,
        tools: this.listed.length,
        ...(pid === null ? {} : { pid }),
      }),
      onStatus: (status) => this.#onStatus(status),
    })
    const fault = addressFault(spec, ports.environment)
    if (fault === null) this.#supervision.add(name, (signal) => this.#begin(signal)).catch(() => {}) // `onStatus` reports it.
    else this.#refuse(fault)
  }

  get listed(): readonly ListedTool[] {
    return [...this.#tools.listing.tools, ...this.#tools.own]
  }

  get withholds(): boolean {
    return this.#tools.withholds
  }

  mayOffer(tool: string): boolean {
    return this.#tools.mayOffer(tool)
  }

  isApproved(tool: string): boolean {
    return this.#tools.isApproved(tool)
  }

  status(): Omit<McpServerStatus, 'tools' | 'refused'> {
    const { listing, pinned } = this.#tools
    return {
      name: this.name,
      state: this.#state,
      server: this.#link?.server ?? null,
      pid: this.#link?.pid ?? null,
      ...(pinned.kind === 'ok'
        ? { pinned: pinned.pinned, changed: [...pinned.changed] }
        : { pinned: 0, changed: [] }),
      leftOut: listing.leftOut,
      workflows: listing.workflows,
      isBeaver: listing.isBeaver,
      lastError: pinned.kind === 'withheld' ? pinned.message : this.#lastError,
      restarts: this.#restarts,
    }
  }

  review(): Promise<void> {
    return this.#tools.review()
  }

  async call(tool: string, args: JsonObject, by: AskedBy): Promise<ExternalResult> {
    const admission = admitCall(tool, this.#calledFor(tool), by.signal)
    if (admission.kind === 'refused') return admission.result
    const { link: at, definition } = admission
    this.#callsOpen++
    try {
      const { client } = at
      const first = await this.#send(at, { definition, args }, by)
      const { result, lost } =
        first.lost.kind === 'forgotten' ? await this.#sendAgain({ at, client, tool, args }, by) : first
      // A call of an old session says nothing about the new one.
      if (lost.kind === 'yes' && (client === at.client || first.lost.kind === 'forgotten'))
        void at.drop(lost.reason)
      if (lost.kind === 'perhaps') void this.#refresh(at)
      return result
    } finally {
      this.#callsOpen--
    }
  }

  #send(at: Link, call: Pick<SentCall, 'definition' | 'args'>, by: AskedBy): Promise<CallOutcome> {
    const { name, spec } = this
    const options = { ...by, clock: this.#ports.clock, ask: spec.elicitation === false ? null : by.ask }
    return this.#used.during(at, () => sendCall(at, { server: name, spec, ...call }, options))
  }

  async #renew(at: Link, client: Client): Promise<void> {
    await at.renew(client, (next) => this.#tools.list(next, this.#stopping.signal))
    this.#used.closeUnused(at, client)
  }

  /**
   * The server forgot the session without making the call. If it still has the tool, the call is sent again.
   */
  async #sendAgain({ at, client, tool, args }: ForgottenCall, by: AskedBy): Promise<CallOutcome> {
    const lostAgain = `The MCP server ${this.name} has forgotten the session, and a new one did not help. The call of ${tool} was not carried out.`
    const lostOutcome: CallOutcome = {
      result: failed('mcp_server_down', lostAgain),
      lost: { kind: 'yes', reason: 'it has forgotten the session' },
    }
    try {
      await unlessAborted(this.#renew(at, client), by.signal)
    } catch {
      return lostOutcome
    }
    const admission = admitCall(tool, { ...this.#calledFor(tool), callsOpen: this.#callsOpen - 1 }, by.signal)
    if (admission.kind === 'refused') return { result: admission.result, lost: { kind: 'no' } }
    if (admission.link !== at) return lostOutcome
    const { result, lost } = await this.#send(at, { definition: admission.definition, args }, by)
    return lost.kind === 'forgotten' ? lostOutcome : { result, lost }
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#supervision.stop()
    this.#access?.close()
    this.#become('stopped')
    this.#settle()
  }

  #become(next: McpServerState): void {
    this.#state = next
    this.#ports.onChange()
  }

  #calledFor(tool: string): CalledServer {
    return {
      name: this.name,
      state: this.#state,
      link: this.#link,
      lastError: this.#lastError,
      pinned: this.#tools.pinned,
      callsOpen: this.#callsOpen,
      definition: this.#tools.find(tool),
    }
  }

  async #connect(mode: 'auto' | 'legacy', signal: AbortSignal): Promise<Link> {
    const { clock, environment, groups, version, sandbox, startMsMax, leaveMsMax } = this.#ports
    let listed: Link | null = null
    const address = addressOf(this.spec, environment)
    const next = await connectLink(
      address.kind === 'program' && 'command' in this.spec
        ? await confineServer(address, this.spec, sandbox)
        : address,
      {
        clock,
        groups,
        version,
        startMsMax,
        leaveMsMax,
        mode,
        signal,
        access: this.#access,
        elicitation: this.spec.elicitation !== false,
        onListChanged: () => void (listed === null ? null : this.#listSoon(listed)),
      },
    )
    try {
      listed = next
      await this.#list(next)
      return next
    } catch (error) {
      await next.drop('its tools could not be listed')
      if (error instanceof LoginNeeded || error instanceof InsufficientScopeError) throw error
      throw new Error(`its tools could not be listed: ${messageOf(error)}`, { cause: error })
    }
  }

  async #list(from: Link): Promise<void> {
    const { client } = from
    const hadSession = isInSession(client)
    try {
      await this.#tools.list(client, this.#stopping.signal)
    } catch (error) {
      if (!isForgotten(error, hadSession)) throw error
      await this.#renew(from, client)
    }
  }

  /** Lists the tools again, after a pause if the last list is recent. It covers all changes until then. */
  async #listSoon(link: Link): Promise<void> {
    if (this.#relisting) return
    this.#relisting = true
    const { clock } = this.#ports
    try {
      const waitMs = this.#relistedAtMs + relistMsMin - clock.now()
      if (waitMs > 0) await pause(clock, waitMs, this.#stopping.signal)
    } finally {
      this.#relisting = false
    }
    if (this.#stopping.signal.aborted) return
    this.#relistedAtMs = clock.now()
    await this.#refresh(link)
  }

  /** If the server does not answer, it is ended and so restarted. */
  async #refresh(link: Link): Promise<void> {
    if (this.#refreshing !== 'no') {
      this.#refreshing = 'again'
      return
    }
    try {
      do {
        this.#refreshing = 'once'
        await this.#list(link)
      } while (this.#isAgain() && link === this.#link)
    } catch (error) {
      if (link !== this.#link || this.#stopping.signal.aborted) return
      const silent = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout
      this.#lastError = silent
        ? 'it does not answer any more'
        : `its tools could not be listed: ${messageOf(error)}`
      await link.drop(this.#lastError)
    } finally {
      this.#refreshing = 'no'
    }
  }

  #isAgain(): boolean {
    return this.#refreshing === 'again'
  }

  async #keepLooking(at: Link): Promise<void> {
    const { signal } = this.#stopping
    while (at === this.#link && !signal.aborted) {
      await pause(this.#ports.clock, lookMs, signal)
      if (at === this.#link && !signal.aborted) await this.#refresh(at)
    }
  }

  /**
   * Connects for one life of the server. If a program ends at the question for its era, it is not asked
   * again.
   */
  async #begin(signal: AbortSignal): Promise<ConnectedServer> {
    this.#attempts++
    // Read before the attempt: a person may log in while it fails, and the server must not wait for the next one.
    const login = await this.#access?.file.version()
    let next: Link
    try {
      next = await this.#connect(this.#legacy || this.#attempts % 2 === 0 ? 'legacy' : 'auto', signal)
    } catch (error) {
      const needed = loginFor(error, this.name)
      if (needed !== null && !signal.aborted) return this.#beginAfterLogin(needed, login, signal)
      if (this.#attempts === 1 && error instanceof LinkError && error.asked && !signal.aborted)
        return this.#begin(signal)
      throw error
    }
    const gone = next.gone.then(async (reason) => {
      if (this.#link === next) this.#link = null
      await next.drop('it is gone')
      return { reason }
    })
    return { link: next, gone, stop: () => next.drop('it was stopped') }
  }

  /**
   * Waits without a limit until a person has logged in, then connects.
   *
   * @param before the version of the login with which the last attempt failed
   */
  async #beginAfterLogin(
    { message }: LoginNeeded,
    before: string | undefined,
    signal: AbortSignal,
  ): Promise<ConnectedServer> {
    const { clock, logger } = this.#ports
    const { file } = this.#access ?? {}
    if (this.#state !== 'needs_login')
      logger.warn('mcp_login_needed', `The MCP server ${this.name} is not connected: ${message}`, {
        server: this.name,
      })
    this.#lastError = message
    this.#attempts = 0
    this.#become('needs_login')
    this.#settle()
    for (;;) {
      await pause(clock, loginLookMs, signal)
      signal.throwIfAborted()
      if ((await file?.version()) !== before) return this.#begin(signal)
    }
  }

  #onStatus(status: SupervisionStatus<ConnectedServer>): void {
    if (status.kind === 'ready') this.#ready(status.child.link)
    else if (status.kind === 'escalated' && status.againMs === null) this.#giveUp(status)
    else {
      this.#restarts++
      this.#lastError = status.reason
      this.#become('restarting')
    }
    this.#settle()
  }

  #ready(link: Link): void {
    this.#link = link
    this.#legacy ||= link.legacy
    this.#lastError = null
    this.#become('connected')
    if ('url' in this.spec) void this.#keepLooking(link)
  }

  #giveUp({ reason, deaths }: { readonly reason: string; readonly deaths: number }): void {
    this.#lastError = `${reason} (given up after ${deaths} ${deaths === 1 ? 'time' : 'times'} within ${periodOf(this.spec)})`
    this.#tools.clear()
    this.#become('failed')
  }

  /** It stays `failed` until the daemon starts again, because the address cannot change before. */
  #refuse(reason: string): void {
    const { name } = this
    this.#lastError = reason
    this.#ports.logger.error('mcp_server_refused', `The MCP server ${name} cannot be started: ${reason}`, {
      server: name,
    })
    this.#become('failed')
    this.#settle()
  }
}

/** A server over HTTP cannot be restarted from here. It is connected again without a limit, if at all. */
function supervisorOf(spec: McpServerSpec): SupervisorSpec {
  const row = 'url' in spec && spec.restarts_max > 0 ? supervisors.mcp_http : supervisors.mcp_program
  return { ...row, intensity: { ...row.intensity, restartsMax: spec.restarts_max } }
}

const periodOf = (spec: McpServerSpec): string =>
  `${(supervisorOf(spec).intensity.periodMs ?? 0) / 60_000} minutes`

// Counts the open calls of each client. After a lost session, the old client is closed with its last call.

class UsedClients {
  readonly #calls = new WeakMap<Client, number>()

  /** Makes one call with the current client of a link. */
  async during<Value>(at: Link, call: () => Promise<Value>): Promise<Value> {
    const { client } = at
    this.#calls.set(client, this.#of(client) + 1)
    try {
      return await call()
    } finally {
      this.#calls.set(client, this.#of(client) - 1)
      this.closeUnused(at, client)
    }
  }

  /** Closes a client of an old session, unless it has open calls. */
  closeUnused(at: Link, client: Client): void {
    if (this.#of(client) === 0 && client !== at.client) void client.close().catch(() => {})
  }

  #of(client: Client): number {
    return this.#calls.get(client) ?? 0
  }
}

interface AccessPorts {
  readonly environment: Environment
  /** The folder of the logins. `null`: no server gets an OAuth token. */
  readonly loginsFolder: string | null
  readonly clock: Clock
}

/** What a person must do before the server can be connected, or `null`. */
function loginFor(error: unknown, server: string): LoginNeeded | null {
  if (error instanceof LoginNeeded) return error
  if (!(error instanceof InsufficientScopeError)) return null
  return new LoginNeeded(
    `its login does not allow to list its tools. Log in with more rights: ${loginCommand(server, error.requiredScope)}`,
  )
}

/** A server with a configured key needs no other token. */
function accessTo(
  server: string,
  spec: McpServerSpec,
  { environment, loginsFolder, clock }: AccessPorts,
): OAuthAccess | null {
  if (!('url' in spec) || loginsFolder === null || spec.oauth === false) return null
  if (Object.keys(spec.headers).some((name) => name.toLowerCase() === 'authorization')) return null
  return new OAuthAccess({
    server,
    url: spec.url,
    settings: spec.oauth ?? {},
    environment,
    folder: loginsFolder,
    clock,
  })
}

function addressFault(spec: McpServerSpec, environment: Environment): string | null {
  try {
    addressOf(spec, environment)
    return null
  } catch (error) {
    return messageOf(error)
  }
}
