// The MCP servers of a configuration, with what the daemon of this home reports about them.
import type { McpReport } from '@beaver/mcp'
import { type Config, isAlive } from '@beaver/platform'
import { counted } from './figures.ts'

/** The report of the daemon that runs in this home. `null`: no daemon runs. */
export async function runningMcpReport(home: string): Promise<McpReport | null> {
  const { mcpReportFile, readMcpReport } = await import('@beaver/mcp')
  const report = readMcpReport(mcpReportFile(home))
  return report !== null && isAlive({ pid: report.pid, started: null }) ? report : null
}

/** A server of the configuration. `state` and `tools` are `null` if no daemon reports the server. */
export interface ConfiguredServer {
  readonly name: string
  readonly managed: false
  readonly state: McpReport['servers'][number]['state'] | null
  /** How many of its tools agents can use. */
  readonly tools: number | null
}

/** The servers that the configuration names, without the entry of Beaver itself. */
export async function configuredServers({
  mcp,
  home,
}: Pick<Config, 'mcp' | 'home'>): Promise<readonly ConfiguredServer[]> {
  const names = Object.keys(mcp)
  const report = names.length === 0 ? null : await runningMcpReport(home)
  return names.map((name) => {
    const found = report?.servers.find((each) => each.name === name)
    return { name, managed: false, state: found?.state ?? null, tools: found?.tools ?? null }
  })
}

/** For example `connected, 8 tools`. */
export const serverStateText = ({ state, tools }: ConfiguredServer): string =>
  state === null
    ? 'configured; no daemon here reports it'
    : `${state.replace('_', ' ')}${tools === null ? '' : `, ${counted(tools, 'tool')}`}`
