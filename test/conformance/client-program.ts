// The client of Beaver as a program for the conformance suite of MCP: it connects to the server whose URL is
// its last argument, logs in if the server wants a login, calls the tools of the scenario, and ends. The
// suite looks at what the server saw.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AskPerson } from '@beaver/agent'
import { type JsonObject, type JsonValue, systemClock } from '@beaver/core'
import { logIn, loginPlace, type McpConnections, type McpHttpSpec, startMcpServers } from '@beaver/mcp'
import { until } from '@beaver/testing'
import { z } from 'zod'

const context = z
  .looseObject({
    client_id: z.string().optional(),
    client_secret: z.string().optional(),
    issuer: z.string().optional(),
    toolCalls: z
      .array(z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).default({}) }))
      .optional(),
  })
  .parse(JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}'))
const url = process.argv.at(-1) ?? ''
const folder = mkdtempSync(join(tmpdir(), 'beaver-conformance-'))
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const say = (text: string): void => void process.stderr.write(`${text}\n`)

/** The operator of a machine knows where its client is registered. */
async function issuerOf(): Promise<string> {
  const said = await fetch(new URL(`/.well-known/oauth-protected-resource${new URL(url).pathname}`, url))
  return (
    z.object({ authorization_servers: z.array(z.string()).min(1) }).parse(await said.json())
      .authorization_servers[0] ?? ''
  )
}

const oauth = {
  ...(context.client_id === undefined ? {} : { client_id: context.client_id }),
  ...(context.client_secret === undefined
    ? {}
    : { client_secret: context.client_secret, issuer: context.issuer ?? (await issuerOf()) }),
  ...(scenario.startsWith('auth/client-credentials') ? { grant: 'client_credentials' as const } : {}),
  ...(scenario === 'auth/basic-cimd'
    ? { client_metadata_url: 'https://conformance-test.local/client-metadata.json' }
    : {}),
}
const spec: McpHttpSpec = {
  url,
  headers: {},
  permission: 'allow',
  timeout_ms: 10_000,
  restarts_max: 1,
  oauth,
}
/** A person who accepts everything, and leaves out every field with a default. */
const accepts: AskPerson = async ({ options, form }) =>
  form === undefined
    ? { action: 'accept', answers: [options?.[0] ?? 'text'] }
    : { action: 'accept', content: {} }

const connections = await startMcpServers(
  { test: spec },
  {
    environment: {},
    pinsFile: join(folder, 'pins.json'),
    loginsFolder: join(folder, 'logins'),
    version: '0.0.0',
    random: () => 0,
  },
)
try {
  await connections.settled
  for (let logins = 0; logins < 3 && connections.status[0]?.state === 'needs_login'; logins++)
    await connected(connections)
  if (connections.status[0]?.state !== 'connected')
    throw new Error(`it is ${connections.status[0]?.state}: ${connections.status[0]?.lastError}`)
  for (const { name, arguments: args } of callsOf(connections)) await called(connections, name, args)
} catch (error) {
  say(`failed: ${String(error)}`)
  process.exitCode = 1
} finally {
  await connections.close()
  rmSync(folder, { recursive: true, force: true })
}

/** Logs in as a person does who reads why the server is not connected. */
async function connected({ status: [server] }: McpConnections, scope?: string): Promise<void> {
  const place = loginPlace(spec, {
    server: 'test',
    environment: {},
    folder: join(folder, 'logins'),
    clock: systemClock,
  })
  const asked = scope ?? scopeIn(server?.lastError ?? '')
  if (server?.state !== 'needs_login' && scope === undefined) return
  await logIn({
    ...place,
    scope: asked,
    show: (page) => void fetch(page),
    signal: AbortSignal.timeout(8_000),
  })
  const before = server?.lastError
  await until(
    'it is connected',
    () => connections.status[0]?.state === 'connected' || connections.status[0]?.lastError !== before,
    { withinMs: 8_000 },
  )
}

function scopeIn(message: string): string | undefined {
  return /--scope "([^"]*)"/.exec(message)?.[1]
}

function callsOf({ tools }: McpConnections): { readonly name: string; readonly arguments: JsonObject }[] {
  if (context.toolCalls !== undefined)
    return context.toolCalls.map(({ name, arguments: args }) => ({
      name: `test_${name}`,
      arguments: args as JsonObject,
    }))
  const [first] = tools
  const echoed = (name: string): JsonObject | null =>
    name === 'test_json_schema_echo' ? { schema: (first?.parameters ?? {}) as JsonObject } : null
  return tools.map(({ name, parameters }) => ({ name, arguments: echoed(name) ?? argumentsFor(parameters) }))
}

function argumentsFor({ properties = {} }: { readonly properties?: unknown }): JsonObject {
  return Object.fromEntries(
    Object.entries(properties as Record<string, { readonly type?: string }>).map(([name, { type }]) => [
      name,
      valueOf(type),
    ]),
  )
}

function valueOf(type: string | undefined): JsonValue {
  return type === 'number' || type === 'integer'
    ? 5
    : type === 'boolean'
      ? true
      : type === 'object'
        ? {}
        : type === 'array'
          ? []
          : 'text'
}

async function called(at: McpConnections, name: string, args: JsonObject): Promise<void> {
  const call = () => at.call({ name, callId: 'call', arguments: args }, AbortSignal.timeout(20_000), accepts)
  const result = await call()
  say(`${name}: ${result.error ?? 'ok'} ${result.content.slice(0, 300)}`)
  if (result.error !== 'mcp_login_needed') return
  // What a person does with this message.
  await connected(at, scopeIn(result.content) ?? '')
  const again = await call()
  say(`${name} again: ${again.error ?? 'ok'} ${again.content.slice(0, 300)}`)
}
