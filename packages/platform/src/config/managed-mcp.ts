// The MCP servers that Beaver manages itself. They are in every configuration, and nobody can configure,
// replace or remove them. No process is started for one: its tools are Beaver's own, and they run in the
// daemon that drives the task.

export interface ManagedMcpServer {
  readonly category: 'team_workflow'
  /** The name for people. */
  readonly display_name: string
  readonly managed: true
  /** Where its tools run. */
  readonly runs_in: 'daemon'
}

/** By their names under `mcp`. */
export const managedMcpServers = {
  local_team_workflow_mcp: {
    category: 'team_workflow',
    display_name: '本地 Agent Team Workflow 工具',
    managed: true,
    runs_in: 'daemon',
  },
} as const satisfies Readonly<Record<string, ManagedMcpServer>>
