// `mcp_servers` of the configuration: one server of tools.
import { supervisors } from '@beaver/core/supervision'
import { z } from 'zod'

const ofEveryMcpServer = {
  /** The permission of its tools, if no rule of `permissions` decides. */
  permission: z.enum(['allow', 'ask', 'deny']).default('ask'),
  /** Whether its results are the user's own text. Default: they are strangers' text. */
  trusted: z.boolean().default(false),
  /**
   * Those of its tools that only read. The server's own hints do not count. Default: every tool may have
   * effects.
   */
  tools_that_read: z.array(z.string().min(1)).max(1_000).default([]),
  /** Use only these of its tools. Default: all. */
  tools: z.array(z.string().min(1)).max(1_000).optional(),
  /**
   * Whether agents can read its resources, or patterns for their URIs. Default: they can, unless `tools`
   * selects.
   */
  resources: z.union([z.boolean(), z.array(z.string().min(1)).min(1).max(1_000)]).optional(),
  /** Whether agents can read its prompts. */
  prompts: z.boolean().optional(),
  /** Whether it may ask a person in the middle of a call. Default: yes. */
  elicitation: z.boolean().optional(),
  /** The time that one call may take. */
  timeout_ms: z.number().int().min(100).max(3_600_000).default(60_000),
  /**
   * The number of restarts within the period of the rows `mcp_program` and `mcp_http` of core's supervisors.
   */
  restarts_max: z.number().int().min(0).max(1_000).default(supervisors.mcp_program.intensity.restartsMax),
}
/** OAuth at a server over HTTP. What is left out, the servers say. */
const oauth = z
  .strictObject({
    client_id: z.string().min(1).optional(),
    /** `$NAME` is read from the environment of the daemon. */
    client_secret: z.string().min(1).optional(),
    /** The authorization server that the client belongs to. */
    issuer: z.url('must be a URL').optional(),
    client_metadata_url: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
    /** With a space between them. */
    scope: z.string().min(1).optional(),
    /** Of the redirect on 127.0.0.1. Default: a free one. */
    redirect_port: z.number().int().min(1).max(65_535).optional(),
    grant: z.enum(['authorization_code', 'client_credentials']).optional(),
  })
  .refine(
    ({ client_secret, client_id, issuer }) =>
      client_secret === undefined || (client_id !== undefined && issuer !== undefined),
    {
      error:
        'needs "client_id" and "issuer" beside "client_secret", so that the secret goes to no other server',
    },
  )
  .refine(({ grant, client_secret }) => grant !== 'client_credentials' || client_secret !== undefined, {
    error: 'needs "client_secret" for client_credentials',
  })

const mcpServer = z.union(
  [
    z.strictObject({
      command: z.string().min(1),
      args: z.array(z.string()).default([]),
      /**
       * The child gets PATH, HOME and these variables. `$NAME` is read from the environment of the daemon.
       */
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
      /** How Beaver gets a token. `false`: never. */
      oauth: z.union([oauth, z.literal(false)]).optional(),
      ...ofEveryMcpServer,
    }),
  ],
  'must have either "command" (a program) or "url" (an HTTP server), and no unknown field',
)

/** What an entry sends to its server. `$NAME` in it is read from the environment of the daemon. */
export function sentToServer(
  server: z.output<typeof mcpServer>,
): readonly (readonly [name: string, value: string])[] {
  if (!('url' in server)) return Object.entries(server.env)
  const secret = server.oauth === false ? undefined : server.oauth?.client_secret
  return [
    ...Object.entries(server.headers),
    ...(secret === undefined ? [] : [['client_secret', secret] as const]),
  ]
}

/** The names of the variables to which a value refers, as `$NAME` or `${NAME}`. `$$` is a dollar sign. */
export const variablesIn = (value: string): readonly string[] =>
  [...value.matchAll(/\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g)].flatMap(
    ([, braced, plain = braced]) => (plain === undefined ? [] : [plain]),
  )

/** The MCP servers of a configuration by their names, which begin the names of their tools. */
export const mcpServers = z
  .record(z.string(), mcpServer)
  .superRefine((servers, context) => {
    for (const name of Object.keys(servers)) {
      if (!/^[A-Za-z0-9_-]{1,32}$/.test(name))
        context.addIssue({
          code: 'custom',
          path: [name],
          message: 'the name must be 1 to 32 letters, digits, "-" or "_"',
        })
      if (Object.hasOwn(managedMcpServers, name))
        context.addIssue({
          code: 'custom',
          path: [name],
          message:
            'Beaver manages this MCP server itself. Remove the entry, or give your server another name',
        })
    }
  })
  .default({})

// The MCP servers that Beaver manages itself. They are in every configuration, and nobody can configure,
// replace or remove them. No process is started for one: its tools are Beaver's own, and they run in the
// daemon that drives the task.

export interface ManagedMcpServer {
  readonly category: 'team_workflow'
  /** The name for people. */
  readonly display_name: string
  readonly managed: true
  /** Where its tools run. */
  readonly runs_in: 'daemon'
}

/** By their names under `mcp`. */
export const managedMcpServers = {
  local_team_workflow_mcp: {
    category: 'team_workflow',
    display_name: '本地 Agent Team Workflow 工具',
    managed: true,
    runs_in: 'daemon',
  },
} as const satisfies Readonly<Record<string, ManagedMcpServer>>
