// The names MCP tools are offered under: `<server>_<tool>`, within `^[a-zA-Z0-9_-]{1,64}$`.
// N1. A name depends on the configuration and on the tool's own name only, never on which server answered first.
// N2. What does not fit, is taken, or could be another server's tool as well, ends in a hash of both names.
import { createHash } from 'node:crypto'
import { isWorkflowTool } from '@beaver/workflows'

const charsMax = 64
const hashChars = 8

export interface TakenNames {
  /** All servers of the configuration. */
  readonly servers: readonly string[]
  /** Names of tools that are not MCP's. */
  readonly reserved: ReadonlySet<string>
}

/** @example offeredName('github', 'search issues', { servers: ['github'], reserved: new Set() }) // 'github_search_issues_' and eight letters or digits */
export function offeredName(server: string, tool: string, { servers, reserved }: TakenNames): string {
  const plain = `${server}_${tool}`
  const ambiguous = servers.some((other) => other !== server && other.startsWith(`${server}_`) && plain.startsWith(`${other}_`))
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(plain) && !ambiguous && !reserved.has(plain) && !isWorkflowTool(plain)) return plain
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, hashChars)
  return `${plain.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, charsMax - hashChars - 1)}_${hash}`
}
