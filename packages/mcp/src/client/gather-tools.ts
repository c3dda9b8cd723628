// What the MCP servers of one process offer together: every tool under one name. It decides only; start-mcp-servers.ts keeps what it
// decided and tells the listeners.
// G1. A name stands for one tool of one server: the first server of the configuration has it, and the others say why they lack it.
// G2. A withheld tool keeps its name and is not offered.
import type { ExternalTool } from '@beaver/agent'
import type { LeftOut } from './list-tools.ts'
import { offeredName, type TakenNames } from './offered-name.ts'
import type { SupervisedServer } from './supervise-server.ts'

export interface NamedTool {
  readonly server: SupervisedServer
  /** As the server calls it. */
  readonly tool: string
}

export interface GatheredTools {
  readonly offered: readonly ExternalTool[]
  /** By the name under which it is offered; withheld tools too. */
  readonly known: ReadonlyMap<string, NamedTool>
  /** By server: tools whose name another tool has. */
  readonly collisions: ReadonlyMap<string, readonly LeftOut[]>
}

/** The caller's own deadline comes after ours, so that we notice a server that hangs. */
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
