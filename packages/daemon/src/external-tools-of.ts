// The external tools of the daemon's process: those of the configured MCP servers, and those of a program
// that embeds the daemon. If no MCP server is configured, the MCP client is not loaded: it is a large part of
// a daemon's start.
import type { ExternalTools } from '@beaver/agent'
import { type Logger, silentLogger } from '@beaver/core'
import type { Config } from '@beaver/platform'

export interface OwnedExternalTools extends ExternalTools {
  /** Ends the connections made here. */
  close(): Promise<void>
}

/** @param taken names that no MCP tool may have */
export async function externalToolsOf(
  config: Pick<Config, 'mcp' | 'home' | 'sandbox' | 'sandbox_readable'>,
  embedded: ExternalTools | null,
  taken: readonly string[],
  logger: Logger = silentLogger,
): Promise<OwnedExternalTools> {
  if (Object.keys(config.mcp).length === 0) return owned(embedded ?? none, async () => {})
  const { joinExternalTools, mcpLoginsFolder, mcpPinsFile, mcpReportFile, startMcpServers } =
    await import('@beaver/mcp')
  const mcp = await startMcpServers(config.mcp, {
    environment: process.env,
    pinsFile: mcpPinsFile(config.home),
    loginsFolder: mcpLoginsFolder(config.home),
    reportFile: mcpReportFile(config.home),
    version: '0.1.0',
    reserved: taken,
    sandbox: { mode: config.sandbox, hidden: [config.home], readable: config.sandbox_readable },
    logger,
  })
  const joined = embedded === null ? mcp : joinExternalTools([embedded, mcp])
  return owned(joined, () => mcp.close())
}

const none: ExternalTools = {
  tools: [],
  onChange: () => () => {},
  call: async ({ name }) => ({
    success: false,
    error: 'tool_not_available',
    content: `There is no tool ${name} any more.`,
  }),
}

/** `tools` changes, so it is read again for each access. */
const owned = (from: ExternalTools, close: () => Promise<void>): OwnedExternalTools => ({
  get tools() {
    return from.tools
  },
  onChange: (listener) => from.onChange(listener),
  ...(from.arrival === undefined ? {} : { arrival: from.arrival.bind(from) }),
  ...(from.refused === undefined ? {} : { refused: from.refused.bind(from) }),
  ...(from.describe === undefined ? {} : { describe: from.describe.bind(from) }),
  call: (...call) => from.call(...call),
  close,
})
