// Collects the tools that the MCP servers of one process offer together, each under one name. It only
// decides; start-mcp-servers.ts keeps the decision and informs the listeners. A name means one tool of one
// server. The first server of the configuration gets it, and for the others the reason is kept. A withheld
// tool keeps its name and is not offered. What is offered together is bounded, because every request to a
// model contains it. The servers get their places in their order. Whose text a tool returns and whether it
// has effects is what the operator says. What the server says about itself does not count.
import type { ExternalTool } from '@beaver/agent'
import { boundText, ToolBudget, totalBounds } from './bound-tools.ts'
import type { LeftOut } from './list-tools.ts'
import { isOwnTool } from './own-tools.ts'
import { offeredName, type TakenNames } from './offered-name.ts'
import type { SupervisedServer } from './supervise-server.ts'

export interface NamedTool {
  readonly server: SupervisedServer
  /** The server's own name for the tool. */
  readonly tool: string
}

export interface GatheredTools {
  readonly offered: readonly ExternalTool[]
  /** All tools, including withheld ones, by the name under which they are offered. */
  readonly known: ReadonlyMap<string, NamedTool>
  /** For each server, the tools whose name another tool has, and those for which there is no room. */
  readonly leftOut: ReadonlyMap<string, readonly LeftOut[]>
}

/** The caller's deadline is later than ours by this much, so that we notice a server that hangs. */
const timeoutSlackMs = 1_000

export function gatherTools(servers: readonly SupervisedServer[], names: TakenNames): GatheredTools {
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
        ...(isOwnTool(tool) && tool.act === 'read_resource' ? { describes: true } : {}),
        ...(reads ? ({ effects: 'reads', sink: 'query' } as const) : {}),
        timeoutMs: server.spec.timeout_ms + timeoutSlackMs,
      })
    }
  }
  return { offered, known, leftOut }
}
