// `mcp_servers` of the configuration: one server of tools.
import { supervisors } from '@beaver/core'
import { z } from 'zod'

const ofEveryMcpServer = {
  /** The permission of its tools, if no rule of `permissions` decides. */
  permission: z.enum(['allow', 'ask', 'deny']).default('ask'),
  /** Whether its results are the user's own text. Default: they are strangers' text. */
  trusted: z.boolean().default(false),
  /** Those of its tools that only read. The server's own hints do not count. Default: every tool may have effects. */
  tools_that_read: z.array(z.string().min(1)).max(1_000).default([]),
  /** Use only these of its tools. Default: all. */
  tools: z.array(z.string().min(1)).max(1_000).optional(),
  /** The time that one call may take. */
  timeout_ms: z.number().int().min(100).max(3_600_000).default(60_000),
  /** The number of restarts within the period of the rows `mcp_program` and `mcp_http` of core's supervisors. */
  restarts_max: z.number().int().min(0).max(1_000).default(supervisors.mcp_program.intensity.restartsMax),
}
export const mcpServer = z.union(
  [
    z.strictObject({
      command: z.string().min(1),
      args: z.array(z.string()).default([]),
      /** The child gets PATH, HOME and these variables. `$NAME` is read from the environment of the daemon. */
      env: z.record(z.string(), z.string()).default({}),
      cwd: z.string().optional(),
      /** Whether it has a network in the sandbox. */
      network: z.boolean().default(true),
      /** Folders in which it may write in the sandbox, besides `cwd` and those that `args` and `env` name. */
      writable: z.array(z.string().min(1)).default([]),
      ...ofEveryMcpServer,
    }),
    z.strictObject({
      url: z.url('must be a URL'),
      /** `$NAME` is read from the environment of the daemon. */
      headers: z.record(z.string(), z.string()).default({}),
      ...ofEveryMcpServer,
    }),
  ],
  'must have either "command" (a program) or "url" (an HTTP server), and no unknown field',
)
