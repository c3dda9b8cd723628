// The categories of tools that `beaver mcp` can list, with their names.
import { managedMcpServers } from '@beaver/platform'

export interface McpCategory {
  readonly id: string
  /** The server's name in the configuration of an MCP client. */
  readonly server: string
  /** The server's title. */
  readonly title: string
  /** The category's name for people, which is also the server's description. */
  readonly displayName: string
  readonly instructions: string
}

export const mcpCategories = {
  team_workflow: {
    id: 'team_workflow',
    server: 'local_team_workflow_mcp',
    title: 'Beaver Local Team Workflow Tools',
    displayName: managedMcpServers.local_team_workflow_mcp.display_name,
    instructions:
      'Each tool runs a team of agents on the Beaver system of this machine and answers with its result. A team may take minutes; progress is told while it runs. An agent may wait for a person: the progress says what waits, and the person sees it with "beaver approve" and "beaver answer" and decides there. When no system runs, a tool answers with the code no_daemon and what to do.',
  },
} as const satisfies Readonly<Record<string, McpCategory>>

export type McpCategoryId = keyof typeof mcpCategories

export function isMcpCategory(id: string): id is McpCategoryId {
  return Object.hasOwn(mcpCategories, id)
}
