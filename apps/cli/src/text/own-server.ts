// Describes an MCP server of the configuration that is Beaver itself, or that passes on Beaver's own tools.
import type { McpReport } from '@beaver/mcp'
import { oneLine } from './plain-text.ts'

const shownMax = 8

/** The text for a person; `null` if the server is neither. */
export function ownServerText({
  is_beaver: isBeaver,
  workflows,
}: Pick<McpReport['servers'][number], 'is_beaver' | 'workflows'>): string | null {
  if (!isBeaver && workflows.length === 0) return null
  const shown = workflows.slice(0, shownMax).map((name) => oneLine(name))
  const names = `${shown.join(', ')}${workflows.length > shownMax ? ' and more' : ''}`
  const what = isBeaver ? "It is Beaver's own server." : "It passes on tools of Beaver's own server."
  if (workflows.length === 0) return what
  return `${what} Root agents have its workflow tools from Beaver itself, and workers have none, so Beaver does not offer them again: ${names}`
}
