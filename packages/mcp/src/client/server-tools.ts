// ServerTools: the listed tools of one MCP server, and which of them may be offered. supervise-server.ts
// decides when to ask for the list, and pin-keeper.ts keeps the pins. A tool that changed, or that appeared
// later, is withheld until a person approves it. While the pins cannot be read or stored, no tool is offered.
import type { Logger } from '@beaver/core'
import type { Client } from '@modelcontextprotocol/client'
import type { PinKeeper, Pinned } from '../pins/pin-keeper.ts'
import { boundTools } from './bound-tools.ts'
import { type LeftOut, type ListedTool, type Listing, listTools } from './list-tools.ts'
import { type OwnTool, ownTools } from './own-tools.ts'
import type { McpServerSpec } from './server-spec.ts'

export interface ServerToolsPorts {
  readonly pins: PinKeeper
  readonly listMsMax: number
  /** The listed tools, or those that may be offered, may have changed. */
  onChange(): void
  readonly logger: Logger
}

const nothing: Listing = { tools: [], leftOut: [], workflows: [], isBeaver: false }

export class ServerTools {
  readonly #server: string
  readonly #spec: McpServerSpec
  readonly #ports: ServerToolsPorts
  #listing = nothing
  #own: readonly OwnTool[] = []
  #pinned: Pinned = { kind: 'ok', pinned: 0, changed: new Set(), appeared: new Set(), approved: new Set() }

  constructor(server: string, spec: McpServerSpec, ports: ServerToolsPorts) {
    this.#server = server
    this.#spec = spec
    this.#ports = ports
  }

  get listing(): Listing {
    return this.#listing
  }

  get own(): readonly OwnTool[] {
    return this.#own
  }

  /** How the list compares with the pins. */
  get pinned(): Pinned {
    return this.#pinned
  }

  /** Whether a tool is withheld. An approval may change this. */
  get withholds(): boolean {
    return this.#pinned.kind === 'withheld' || this.#pinned.changed.size > 0
  }

  /** Whether a person approved what the tool says. */
  isApproved(tool: string): boolean {
    return this.#pinned.kind === 'ok' && this.#pinned.approved.has(tool)
  }

  mayOffer(tool: string): boolean {
    return this.#pinned.kind === 'ok' && !this.#pinned.changed.has(tool)
  }

  find(tool: string): ListedTool | undefined {
    return (
      this.#listing.tools.find((each) => each.name === tool) ?? this.#own.find((each) => each.name === tool)
    )
  }

  /** Asks the server for its list. @throws the client's error if the server does not answer with a list */
  async list(client: Client, signal: AbortSignal): Promise<void> {
    const hasTools = client.getServerCapabilities()?.tools !== undefined
    const timeoutMs = Math.max(this.#ports.listMsMax, this.#spec.timeout_ms)
    this.#listing = hasTools
      ? boundTools(
          selectTools(
            await listTools(client, { timeoutMs, signal, http: 'url' in this.#spec }),
            this.#spec.tools,
          ),
        )
      : nothing
    this.#own = ownTools(client, this.#spec, this.#listing.tools)
    await this.review()
  }

  /** Compares the list with the pins again. */
  async review(): Promise<void> {
    const before = this.#pinned
    const pinned = await this.#ports.pins.check(this.#server, this.#listing.tools, this.#spec.tools)
    this.#pinned = pinned
    if (pinned.kind === 'withheld' && (before.kind === 'ok' || before.message !== pinned.message))
      this.#tellWithheld(pinned.message)
    if (pinned.kind === 'ok')
      for (const tool of pinned.changed)
        if (before.kind !== 'ok' || !before.changed.has(tool))
          this.#tellChanged(tool, pinned.appeared.has(tool))
    this.#ports.onChange()
  }

  /** Withdraws all tools. The caller reports the change. */
  clear(): void {
    this.#listing = nothing
    this.#own = []
  }

  #tellWithheld(reason: string): void {
    const server = this.#server
    this.#ports.logger.warn(
      'mcp_tools_withheld',
      `The tools of the MCP server ${server} are withheld: ${reason}`,
      { server },
    )
  }

  #tellChanged(tool: string, appeared: boolean): void {
    const server = this.#server
    this.#ports.logger.warn(
      'mcp_tool_changed',
      `A tool of the MCP server ${server} ${appeared ? 'appeared after the server was first seen' : 'has changed'} and is withheld. Look: beaver mcp pins. Approve: beaver mcp approve ${server}`,
      { server, tool },
    )
  }
}

/**
 * Keeps the configured tools of a listing. A configured tool that is not listed is left out with a reason.
 * @param wanted the names under `tools` in the configuration. Default: all tools.
 */
function selectTools(listing: Listing, wanted: readonly string[] | undefined): Listing {
  if (wanted === undefined) return listing
  const { tools, leftOut, workflows } = listing
  const missing = wanted.filter(
    (each) =>
      tools.every((tool) => tool.name !== each) &&
      leftOut.every(({ tool }) => tool !== each) &&
      !workflows.includes(each),
  )
  return {
    ...listing,
    tools: tools.filter((tool) => wanted.includes(tool.name)),
    leftOut: [
      ...leftOut.filter(({ tool }) => tool === '*' || wanted.includes(tool)),
      ...missing.map((tool): LeftOut => ({
        tool,
        reason: 'is in the configuration, but the server does not list it',
      })),
    ],
  }
}
