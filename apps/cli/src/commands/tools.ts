// `beaver tools`: lists the tools that a profile may name, and shows one tool as a model reads it. It needs
// no running system.
import {
  type CatalogEntry,
  catalogEntries,
  defaultInventory,
  type LoadDiagnostic,
  resolveInventory,
} from '@beaver/agent'
import { BeaverError } from '@beaver/core'
import type { Config } from '@beaver/platform'
import { configuredRuleFaults, ruleFaultText, type Toolset } from '@beaver/tools'
import { createTeamWorkflowTools } from '@beaver/workflows'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import type { Screen } from '../screen.ts'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import {
  type ConfiguredServer,
  configuredServers,
  runningMcpReport,
  serverStateText,
} from '../text/mcp-servers.ts'
import { ownServerText } from '../text/own-server.ts'
import { table } from '../text/table.ts'
import { toolKindText } from '../text/tool-kind.ts'
import { toolsetOf } from '../toolset.ts'

interface ToolsOptions {
  readonly profile?: string
  readonly json?: true
}

export async function tools(
  verb: 'list' | 'schema',
  id: string | undefined,
  options: ToolsOptions,
  globals: GlobalOptions,
): Promise<number> {
  if (verb === 'list' && id !== undefined)
    throw new UsageError(`"tools list" takes no id. For one tool: beaver tools schema ${id}`)
  if (verb === 'schema' && id === undefined)
    throw new UsageError('Name the tool: beaver tools schema <id>. "beaver tools list" shows the ids.')
  const { config, screen } = contextOf(globals, 'tools')
  const toolset = await toolsetOf(config)
  if (toolset.diagnostics.length > 0) screen.warn(...toolset.diagnostics.map(diagnosticLine))
  if (verb === 'schema') {
    const { schema } = entryOf(id ?? '', toolset)
    if (options.json === true) screen.json(schema)
    else screen.print(JSON.stringify(schema, null, 2))
    return 0
  }
  const entries =
    options.profile === undefined ? catalogEntries(toolset) : entriesOf(options.profile, toolset)
  const rules = configuredRuleFaults(config, toolset)
  if (rules.length > 0) screen.warn(...rules.map((fault) => oneLine(ruleFaultText(fault), 600)))
  const leftOut = options.profile === undefined ? await leftOutLines(config) : []
  if (leftOut.length > 0) screen.warn(...leftOut)
  if (options.json === true)
    screen.json({
      tools: entries.map(({ id: toolId, kind, schema, does }) => ({
        id: toolId,
        kind,
        ...does,
        ...managedServerOf(schema.name, config),
        description: schema.description,
      })),
    })
  else screen.print(...(entries.length === 0 ? ['This profile has no tool.'] : toolsTable(entries, screen)))
  if (options.json !== true && options.profile === undefined)
    screen.print('', ...serversTable(config.managedMcp, await configuredServers(config), screen))
  return 0
}

export function toolsTable(
  entries: readonly CatalogEntry[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
): string[] {
  return table<CatalogEntry>(
    [
      { title: 'ID', cell: (entry) => oneLine(entry.id), paint: style.cyan },
      { title: 'KIND', cell: (entry) => entry.kind.replace('_', ' '), optional: 1 },
      ...(entries.some(({ does }) => does !== undefined)
        ? [
            {
              title: 'DOES',
              cell: ({ does }: CatalogEntry) => (does === undefined ? '-' : toolKindText(does)),
              optional: 2,
            },
          ]
        : []),
      { title: 'DESCRIPTION', cell: (entry) => oneLine(entry.schema.description), flexible: true },
    ],
    entries,
    { width: columns, title: style.dim },
  )
}

const workflowNames = createTeamWorkflowTools().map(({ name }) => name)

/** The MCP server that Beaver manages and that offers the tool; empty if there is none. */
function managedServerOf(tool: string, { managedMcp }: Pick<Config, 'managedMcp'>): object {
  const [found] = workflowNames.includes(tool)
    ? Object.entries(managedMcp).filter(([, { category }]) => category === 'team_workflow')
    : []
  return found === undefined ? {} : { server: { name: found[0], ...found[1] } }
}

/**
 * The table of the MCP servers: the one that Beaver manages, and those of the configuration. Only the daemon
 * knows the tools of the configured servers.
 */
export function serversTable(
  managed: Config['managedMcp'],
  configured: readonly ConfiguredServer[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
): string[] {
  const own = Object.entries(managed).map(([name, { runs_in: place, category, display_name: shown }]) => ({
    ...{ name, managed: 'by Beaver', place: `each ${place}`, category },
    tools: `${shown}: ${workflowNames.join(', ')}`,
  }))
  const others = configured.map((each) => ({
    name: oneLine(each.name),
    managed: '',
    place: '',
    category: '',
    tools: serverStateText(each),
  }))
  return table(
    [
      { title: 'MCP SERVER', cell: ({ name }) => name, paint: style.cyan },
      { title: 'MANAGED', cell: ({ managed: by }) => by },
      { title: 'RUNS IN', cell: ({ place }) => place, optional: 2 },
      { title: 'CATEGORY', cell: ({ category }) => category, optional: 1 },
      { title: 'TOOLS', cell: ({ tools: has }) => has, flexible: true },
    ],
    [...own, ...others],
    { width: columns, title: style.dim },
  )
}

/**
 * The lines about MCP servers: which tools the running daemon leaves out and why, and which servers are
 * Beaver's own.
 */
async function leftOutLines({ mcp, home }: Pick<Config, 'mcp' | 'home'>): Promise<string[]> {
  if (Object.keys(mcp).length === 0) return []
  const report = await runningMcpReport(home)
  return (report?.servers ?? []).flatMap((server) => {
    const { name, left_out: count, left_out_tools: listed } = server
    const own = ownServerText(server)
    return [
      ...(own === null ? [] : [`The MCP server ${oneLine(name)}: ${own}`]),
      ...listed.map(({ tool, reason }) =>
        oneLine(`The MCP server ${name}: agents do not get ${tool} (${reason})`, 600),
      ),
      ...(count > listed.length
        ? [
            oneLine(
              `The MCP server ${name}: agents do not get ${counted(count - listed.length, 'more tool')}.`,
            ),
          ]
        : []),
    ]
  })
}

const diagnosticLine = ({ file, severity, message }: LoadDiagnostic): string =>
  oneLine(`${severity}: ${file}: ${message}`)

function entryOf(id: string, toolset: Toolset): CatalogEntry {
  const entry = catalogEntries(toolset).find((each) => each.id === id)
  if (entry !== undefined) return entry
  throw new BeaverError(
    'unknown_tool',
    resolveInventory([id], toolset).diagnostics[0]?.message ?? `There is no tool ${JSON.stringify(id)}.`,
  )
}

function entriesOf(name: string, toolset: Toolset): CatalogEntry[] {
  const profile = toolset.profiles.get(name)
  if (profile === undefined) {
    const known = [...toolset.profiles.keys()].join(', ')
    throw new BeaverError(
      'unknown_profile',
      `There is no profile ${JSON.stringify(name)} (${known === '' ? 'none is loaded' : `loaded: ${known}`}).`,
    )
  }
  const {
    tools: own,
    teamWorkflows,
    definitions,
  } = profile.toolIds === null ? defaultInventory(toolset) : resolveInventory(profile.toolIds, toolset)
  const brought = new Set([...own, ...teamWorkflows, ...definitions].map((each) => each.name))
  return catalogEntries(toolset).filter((entry) => brought.has(entry.schema.name))
}
