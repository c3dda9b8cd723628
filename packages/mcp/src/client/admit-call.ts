// Decides whether a call of an MCP tool is sent. A refusal has a code, and tells the model how to go on.
import type { ExternalResult } from '@beaver/agent'
import type { Pinned } from '../pins/pin-keeper.ts'
import { failed } from './call-result.ts'
import type { Link } from './link.ts'
import type { ListedTool } from './list-tools.ts'
import type { McpServerState } from './server-status.ts'

export interface CalledServer {
  readonly name: string
  readonly state: McpServerState
  /** `null` if there is no connection. */
  readonly link: Link | null
  readonly lastError: string | null
  readonly pinned: Pinned
  readonly callsOpen: number
  /** The tool as the server lists it. */
  readonly definition: ListedTool | undefined
}

export type CallAdmission =
  | { readonly kind: 'admitted'; readonly link: Link; readonly definition: ListedTool }
  | { readonly kind: 'refused'; readonly result: ExternalResult }

const callsOpenMax = 1_000

export function admitCall(tool: string, server: CalledServer, signal: AbortSignal): CallAdmission {
  const { name, state, link, pinned, callsOpen, definition } = server
  if (signal.aborted) return refused('cancelled', `The call of ${tool} was stopped.`)
  if (link === null || state !== 'connected')
    return refused(state === 'needs_login' ? 'mcp_login_needed' : 'mcp_server_down', downMessage(server))
  if (pinned.kind === 'withheld')
    return refused('tool_changed', `The tool ${tool} is withheld: ${pinned.message}`)
  if (pinned.changed.has(tool)) {
    const why = pinned.appeared.has(tool)
      ? 'is new. A person must approve it first'
      : 'has changed since a person approved it. A person must approve it again first'
    return refused('tool_changed', `The tool ${tool} of the MCP server ${name} ${why}. Continue without it.`)
  }
  if (callsOpen >= callsOpenMax)
    return refused(
      'mcp_server_busy',
      `${callsOpenMax} calls of the MCP server ${name} are already open. Call again later.`,
    )
  if (definition === undefined)
    return refused('tool_not_available', `The MCP server ${name} has no tool ${tool} any more.`)
  return { kind: 'admitted', link, definition }
}

const refused = (code: string, message: string): CallAdmission => ({
  kind: 'refused',
  result: failed(code, message),
})

function downMessage({ name, state, lastError }: CalledServer): string {
  const why = lastError === null ? '' : `: ${lastError}`
  if (state === 'failed') return `The MCP server ${name} is not running${why}. Continue without its tools.`
  if (state === 'needs_login')
    return `The MCP server ${name} is not connected${why}. Continue without its tools.`
  return `The MCP server ${name} is not connected at the moment${why}. Beaver is starting it again. Call again later, or continue without it.`
}
