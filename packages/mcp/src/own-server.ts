// How Beaver's own MCP server is recognised. The server says what it is, and marks each of its workflow
// tools. A client leaves these tools out, because the workflow tools of Beaver itself stand for them: a
// worker has none, and the mode lock holds (D-05, D-09, D-12). A mark only takes a tool away from agents, so
// a server gains nothing by a false one. A program that passes tools on may change their names and drop their
// marks. Then the name of the workflow and its arguments decide.
import { managedMcpServers } from '@beaver/platform'
import { addedWorkflowTools, createTeamWorkflowTools, type Workflow } from '@beaver/workflows'
import type { Client } from '@modelcontextprotocol/client'

/** The key under `experimental` of the capabilities of Beaver's own server. */
const serverMark = 'beaver'
/** The key in `_meta` of a workflow tool. Its value is the name of the workflow. */
const toolMark = 'beaver/workflow'

/** What Beaver's own server says under `experimental`. */
export const ownCapability = (category: string): Record<string, Record<string, string>> => ({
  [serverMark]: { category },
})

/** `_meta` of the tool of a workflow. */
export const workflowMeta = (workflow: string): Record<string, string> => ({ [toolMark]: workflow })

/** Whether a client is connected to Beaver's own server. One of an older version has no mark. */
export function isOwnServer(client: Pick<Client, 'getServerCapabilities' | 'getServerVersion'>): boolean {
  const named = client.getServerVersion()?.name
  return (
    client.getServerCapabilities()?.experimental?.[serverMark] !== undefined ||
    Object.values(mcpCategories).some(({ server }) => server === named)
  )
}

/** They are made when a server is first asked for its tools. */
let workflows: readonly Workflow[] | null = null

/** A tool as a server lists it. */
interface Listed {
  readonly name: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly _meta?: Readonly<Record<string, unknown>> | undefined
}

/** Whether a tool is one of Beaver's workflow tools. @param own whether Beaver's own server lists it */
export function isOwnWorkflow({ name, inputSchema, _meta }: Listed, own: boolean): boolean {
  if (_meta?.[toolMark] !== undefined) return true
  const workflow = (workflows ??= [...createTeamWorkflowTools(), ...addedWorkflowTools()]).find((each) =>
    name.endsWith(each.name),
  )
  if (workflow === undefined) return false
  return (
    own ||
    propertiesOf(workflow.parameters, 'required').every((each) =>
      propertiesOf(inputSchema, 'properties').includes(each),
    )
  )
}

function propertiesOf(
  schema: Readonly<Record<string, unknown>>,
  of: 'required' | 'properties',
): readonly unknown[] {
  const { [of]: given } = schema
  return Array.isArray(given) ? given : Object.keys(given ?? {})
}

// The categories of tools that `beaver mcp` can list, with their names.

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
