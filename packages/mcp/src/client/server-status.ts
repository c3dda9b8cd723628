// What a daemon says of one MCP server.
import type { LeftOut } from './list-tools.ts'

/** `restarting`: it died or could not be reached, and is tried again. `failed`: left alone until the daemon starts anew. */
export type McpServerState = 'starting' | 'connected' | 'restarting' | 'failed' | 'stopped'

export interface McpServerStatus {
  readonly name: string
  readonly state: McpServerState
  /** `name version`, as the server calls itself. */
  readonly server: string | null
  readonly pid: number | null
  /** How many of its tools are offered. */
  readonly tools: number
  readonly pinned: number
  /** Tools that changed since they were pinned: withheld until approved. */
  readonly changed: readonly string[]
  readonly leftOut: readonly LeftOut[]
  readonly lastError: string | null
  readonly restarts: number
}
