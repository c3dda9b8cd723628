// Checks whether each MCP server of the configuration could be started or reached. It starts and calls none of them.
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { messageOf } from '@beaver/core'
import type { Config } from '@beaver/platform'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { type Finding, ok, warn } from './check.ts'

export async function checkMcp({ mcp }: Pick<Config, 'mcp'>, environment: Readonly<Record<string, string | undefined>>): Promise<Finding[]> {
  const servers = Object.entries(mcp)
  if (servers.length === 0) return []
  const { addressOf } = await import('@beaver/mcp')
  const named: string[] = []
  const faults: Finding[] = []
  for (const [name, server] of servers) {
    named.push(`${name} (${'command' in server ? oneLine(server.command) : new URL(server.url).host})`)
    try {
      const address = addressOf(server, environment)
      if (address.kind === 'program' && !isProgram(address.command, { path: address.env['PATH'] ?? '', cwd: address.cwd ?? '.' }))
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
  return [ok('MCP servers', `${counted(servers.length, 'server')} configured: ${named.join(', ')}`), ...faults]
}

function isProgram(command: string, { path, cwd }: { path: string; cwd: string }): boolean {
  const places = command.includes('/') ? [resolve(cwd, command)] : path.split(delimiter).map((folder) => join(folder, command))
  return places.some((file) => {
    try {
      accessSync(file, constants.X_OK)
      return statSync(file).isFile()
    } catch {
      return false
    }
  })
}
