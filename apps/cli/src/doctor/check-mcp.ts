// Checks whether each MCP server of the configuration could be started or reached, and what the daemon of
// this home reports of them. It starts and calls none of them.
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { messageOf } from '@beaver/core'
import type { McpReport, PinsRead } from '@beaver/mcp'
import type { Config } from '@beaver/platform'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { runningMcpReport } from '../text/mcp-servers.ts'
import { ownServerText } from '../text/own-server.ts'
import { type Finding, ok, warn } from './check.ts'

const leftOutShown = 3

export async function checkMcp(
  { mcp, home }: Pick<Config, 'mcp' | 'home'>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
  const servers = Object.entries(mcp)
  if (servers.length === 0) return []
  const { addressOf, mcpPinsFile, readPins } = await import('@beaver/mcp')
  const named: string[] = []
  const faults: Finding[] = []
  for (const [name, server] of servers) {
    named.push(`${name} (${'command' in server ? oneLine(server.command) : new URL(server.url).host})`)
    try {
      const address = addressOf(server, environment)
      if (
        address.kind === 'program' &&
        !isProgram(address.command, { path: address.env['PATH'] ?? '', cwd: address.cwd ?? '.' })
      )
        faults.push(
          warn(
            `MCP ${name}`,
            `There is no program ${JSON.stringify(address.command)}`,
            'Correct "command", or install the program. Until then, agents do not have its tools.',
          ),
        )
    } catch (error) {
      faults.push(warn(`MCP ${name}`, messageOf(error), 'Until then, agents do not have its tools.'))
    }
  }
  return [
    ok('MCP servers', `${counted(servers.length, 'server')} configured: ${named.join(', ')}`),
    ...faults,
    ...ofPins(await readPins(mcpPinsFile(home))),
    ...ofReport(await runningMcpReport(home)),
  ]
}

/** Tools that wait for an approval, whether a daemon runs or not. */
function ofPins(read: PinsRead): Finding[] {
  if (read.kind === 'unusable')
    return [warn('MCP pins', oneLine(read.message), 'Until then, agents get no tool of an MCP server.')]
  const waiting = Map.groupBy(
    read.pins.filter(({ changed }) => changed !== undefined),
    ({ server }) => server,
  )
  return [...waiting].map(([server, pins]) =>
    warn(
      `MCP ${oneLine(server)}`,
      `${counted(pins.length, 'tool')} changed or appeared and ${pins.length === 1 ? 'is' : 'are'} withheld: ${pins
        .slice(0, 5)
        .map(({ tool }) => oneLine(tool))
        .join(', ')}`,
      `Read what they say with "beaver mcp pins ${oneLine(server)}". If you agree: beaver mcp approve ${oneLine(server)}`,
    ),
  )
}

function ofReport(report: McpReport | null): Finding[] {
  return (report?.servers ?? []).flatMap((server): Finding[] => {
    const { name, state, left_out: leftOut, left_out_tools: tools, reason } = server
    const own = ownServerText(server)
    const told = own === null ? [] : [ok(`MCP ${oneLine(name)}`, own)]
    if (state === 'needs_login')
      return [
        warn(
          `MCP ${oneLine(name)}`,
          `The server ${oneLine(name)} needs a login: ${oneLine(reason ?? '')}`,
          `Type: beaver mcp login ${oneLine(name)}`,
        ),
      ]
    if (state === 'failed' || state === 'restarting')
      return [
        warn(
          `MCP ${oneLine(name)}`,
          `The server ${oneLine(name)} does not run: ${oneLine(reason ?? '')}`,
          'The log of the supervisor says more.',
        ),
      ]
    if (leftOut === 0) return told
    const shown = tools
      .slice(0, leftOutShown)
      .map(({ tool, reason: why }) => `${oneLine(tool)} (${oneLine(why)})`)
    const more = leftOut > shown.length ? `, and ${counted(leftOut - shown.length, 'more tool')}` : ''
    return [
      ...told,
      warn(
        `MCP ${oneLine(name)}`,
        `Agents do not get ${counted(leftOut, 'tool')} of ${oneLine(name)}: ${shown.join(', ')}${more}`,
        '"beaver tools list" lists them with their reasons. Correct them at the server, or select the tools that you need with "tools" in its configuration.',
      ),
    ]
  })
}

function isProgram(command: string, { path, cwd }: { path: string; cwd: string }): boolean {
  const places = command.includes('/')
    ? [resolve(cwd, command)]
    : path.split(delimiter).map((folder) => join(folder, command))
  return places.some((file) => {
    try {
      accessSync(file, constants.X_OK)
      return statSync(file).isFile()
    } catch {
      return false
    }
  })
}
