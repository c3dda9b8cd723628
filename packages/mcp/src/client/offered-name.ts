// The names under which MCP tools are offered: `<server>_<tool>`, within `^[a-zA-Z0-9_-]{1,64}$`. A name
// depends only on the configuration and on the tool's own name, never on which server answered first. If a
// name does not fit, is taken, or could also be a tool of another server, it ends in a hash of both names.
import { createHash } from 'node:crypto'
import { isWorkflowTool } from '@beaver/workflows'

const charsMax = 64
const hashChars = 8

export interface TakenNames {
  /** The names of all servers of the configuration. */
  readonly servers: readonly string[]
  /** The names of tools that are not MCP tools. */
  readonly reserved: ReadonlySet<string>
}

/**
 * @example offeredName('github', 'search issues', { servers: ['github'], reserved: new Set() }) // 'github_search_issues_' and a hash
 */
export function offeredName(server: string, tool: string, { servers, reserved }: TakenNames): string {
  const plain = `${server}_${tool}`
  const ambiguous = servers.some(
    (other) => other !== server && other.startsWith(`${server}_`) && plain.startsWith(`${other}_`),
  )
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(plain) && !ambiguous && !reserved.has(plain) && !isWorkflowTool(plain))
    return plain
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, hashChars)
  return `${plain.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, charsMax - hashChars - 1)}_${hash}`
}
