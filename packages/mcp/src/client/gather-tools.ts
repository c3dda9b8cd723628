// Collects the tools that the MCP servers of one process offer together, each under one name. It only decides; start-mcp-servers.ts keeps the
// decision and informs the listeners.
// G1. A name means one tool of one server. The first server of the configuration gets it, and for the others the reason is kept.
// G2. A withheld tool keeps its name and is not offered.
import type { ExternalTool } from '@beaver/agent'
import type { LeftOut } from './list-tools.ts'
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
  /** For each server, the tools whose name another tool has. */
  readonly collisions: ReadonlyMap<string, readonly LeftOut[]>
}

/** The caller's deadline is later than ours by this much, so that we notice a server that hangs. */
const timeoutSlackMs = 1_000

export function gatherTools(servers: readonly SupervisedServer[], names: TakenNames): GatheredTools {
  const offered: ExternalTool[] = []
  const known = new Map<string, NamedTool>()
  const collisions = new Map<string, LeftOut[]>()
  for (const server of servers) {
    for (const tool of server.listed) {
      const name = offeredName(server.name, tool.name, names)
      if (known.has(name)) {
        collisions.set(server.name, [...(collisions.get(server.name) ?? []), { tool: tool.name, reason: `its name ${name} is taken by another tool` }])
        continue
      }
      known.set(name, { server, tool: tool.name })
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
  return { offered, known, collisions }
}
