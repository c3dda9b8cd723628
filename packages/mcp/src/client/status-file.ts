// The status of a daemon's MCP servers in a file of its home, so that the doctor need not ask the daemon.
// Nothing depends on this report, so a failed write is no failure. A reader checks that the process that
// wrote it still runs.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolder } from '@beaver/platform'
import { z } from 'zod'
import type { McpServerStatus } from './server-status.ts'

const file = z.object({
  pid: z.number(),
  servers: z.array(
    z.object({
      name: z.string(),
      state: z.enum(['starting', 'connected', 'restarting', 'needs_login', 'failed', 'stopped']),
      tools: z.number(),
      changed: z.number(),
      left_out: z.number(),
      /** The first tools that were left out. */
      left_out_tools: z.array(z.object({ tool: z.string(), reason: z.string() })).default([]),
      /** Whether it is Beaver's own server. */
      is_beaver: z.boolean().default(false),
      /** The first of Beaver's own workflow tools. */
      workflows: z.array(z.string()).default([]),
      /** Why the server is not connected. */
      reason: z.string().nullable(),
    }),
  ),
})
export type McpReport = z.infer<typeof file>

const leftOutReported = 100

export const mcpReportFile = (home: string): string => join(home, 'run', 'mcp.json')

export function writeMcpReport(path: string, status: readonly McpServerStatus[], pid: number): void {
  const servers = status.map(
    ({ name, state, tools, changed, leftOut, refused, isBeaver, workflows, lastError }) => ({
      name,
      state,
      tools,
      changed: changed.length,
      left_out: leftOut.length + refused.length,
      left_out_tools: [...refused, ...leftOut].slice(0, leftOutReported),
      is_beaver: isBeaver,
      workflows: workflows.slice(0, leftOutReported),
      reason: lastError,
    }),
  )
  try {
    makeFolder(dirname(path))
    writeFileSync(`${path}.${pid}`, JSON.stringify({ pid, servers }), { mode: 0o600 })
    renameSync(`${path}.${pid}`, path)
  } catch {
    rmSync(`${path}.${pid}`, { force: true })
  }
}

/** `null` if there is no report. */
export function readMcpReport(path: string): McpReport | null {
  try {
    return file.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return null
  }
}
