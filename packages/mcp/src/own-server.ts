// How Beaver's own MCP server is recognised. The server says what it is, and marks each of its workflow
// tools. A client leaves these tools out, because the workflow tools of Beaver itself stand for them: a
// worker has none, and the mode lock holds (D-05, D-09, D-12). A mark only takes a tool away from agents, so
// a server gains nothing by a false one. A program that passes tools on may change their names and drop their
// marks. Then the name of the workflow and its arguments decide.
import { createTeamWorkflowTools, moreWorkflowTools, type Workflow } from '@beaver/workflows'
import type { Client } from '@modelcontextprotocol/client'
import { mcpCategories } from './server/category.ts'

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
  const workflow = (workflows ??= [...createTeamWorkflowTools(), ...moreWorkflowTools]).find((each) =>
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
