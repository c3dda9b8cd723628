// The status of one MCP server, as a daemon reports it.
import type { LeftOut } from './list-tools.ts'

/**
 * `restarting`: it died or could not be reached, and is tried again. `needs_login`: a person must log in
 * first. `failed`: no more tries until the daemon starts again.
 */
export type McpServerState = 'starting' | 'connected' | 'restarting' | 'needs_login' | 'failed' | 'stopped'

export interface McpServerStatus {
  readonly name: string
  readonly state: McpServerState
  /** The server's own name and version, as `name version`. */
  readonly server: string | null
  readonly pid: number | null
  /** The number of its offered tools. */
  readonly tools: number
  readonly pinned: number
  /** Tools that changed since they were pinned, and are withheld until a person approves them. */
  readonly changed: readonly string[]
  readonly leftOut: readonly LeftOut[]
  /** Beaver's own workflow tools, which agents have from Beaver itself. */
  readonly workflows: readonly string[]
  /** Whether it is Beaver's own server. `false` before it has listed its tools. */
  readonly isBeaver: boolean
  /** Tools that a model provider refuses. Runs with another provider have them. */
  readonly refused: readonly LeftOut[]
  readonly lastError: string | null
  readonly restarts: number
}
