// The status of one MCP server, as a daemon reports it.
import type { LeftOut } from './list-tools.ts'

/**
 * `restarting`: it died or could not be reached, and is tried again. `needs_login`: a person must log in
 * first. `failed`: it is left alone until the daemon starts again.
 */
export type McpServerState = 'starting' | 'connected' | 'restarting' | 'needs_login' | 'failed' | 'stopped'

export interface McpServerStatus {
  readonly name: string
  readonly state: McpServerState
  /** The server's own name and version, as `name version`. */
  readonly server: string | null
  readonly pid: number | null
  /** The number of its tools that are offered. */
  readonly tools: number
  readonly pinned: number
  /** The tools that changed since they were pinned. They are withheld until they are approved. */
  readonly changed: readonly string[]
  readonly leftOut: readonly LeftOut[]
  /** Those that are Beaver's own workflow tools. Agents have these from Beaver itself. */
  readonly workflows: readonly string[]
  /** Whether it is Beaver's own server. `false` before it has listed its tools. */
  readonly isBeaver: boolean
  /** Those that a model provider refuses. Runs that ask another provider have them. */
  readonly refused: readonly LeftOut[]
  readonly lastError: string | null
  readonly restarts: number
}
