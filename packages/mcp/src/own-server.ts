// How Beaver's own MCP server is recognised: it says what it is, and marks its workflow tools. A client
// leaves these tools out, so that a worker has none and the mode lock holds (D-05, D-09, D-12). A false mark
// gains nothing, because it only takes a tool away. A program that passes tools on may drop the marks; then
// the workflow's name and arguments decide.
import { managedMcpServers } from '@beaver/platform'
import { addedWorkflowTools, createTeamWorkflowTools, type Workflow } from '@beaver/workflows'
import type { Client } from '@modelcontextprotocol/client'

/** The key under `experimental` of the capabilities. */
const serverMark = 'beaver'
/** The key in `_meta` of a workflow tool. Its value is the workflow's name. */
const toolMark = 'beaver/workflow'

export const ownCapability = (category: string): Record<string, Record<string, string>> => ({
  [serverMark]: { category },
})

export const workflowMeta = (workflow: string): Record<string, string> => ({ [toolMark]: workflow })

/** An older version of Beaver's own server has no mark. */
export function isOwnServer(client: Pick<Client, 'getServerCapabilities' | 'getServerVersion'>): boolean {
  const named = client.getServerVersion()?.name
  return (
    client.getServerCapabilities()?.experimental?.[serverMark] !== undefined ||
    Object.values(mcpCategories).some(({ server }) => server === named)
  )
}

/** Made when a server is first asked for its tools. */
let workflows: readonly Workflow[] | null = null

/** A tool as a server lists it. */
interface Listed {
  readonly name: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly _meta?: Readonly<Record<string, unknown>> | undefined
}

/** @param own whether Beaver's own server lists the tool */
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
  keyword: 'required' | 'properties',
): readonly unknown[] {
  const { [keyword]: properties } = schema
  return Array.isArray(properties) ? properties : Object.keys(properties ?? {})
}

export interface McpCategory {
  readonly id: string
  /** The server's name in the configuration of an MCP client. */
  readonly server: string
  readonly title: string
  /** The category's name for people, and the server's description. */
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
