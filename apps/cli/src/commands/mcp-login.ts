// `beaver mcp login` and `beaver mcp logout`: log Beaver in and out at an MCP server over HTTP. Both change
// the file of the login; a daemon that waits for the login reads the file within seconds.
import { BeaverError, messageOf, systemClock } from '@beaver/core'
import { logIn, loginPlace, logOut, mcpLoginsFolder } from '@beaver/mcp'
import { contextOf, type GlobalOptions } from '../context.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { oneLine } from '../text/plain-text.ts'

export interface McpLoginOptions {
  readonly json?: true
  readonly scope?: string
}

export async function login(
  server: string,
  options: McpLoginOptions,
  globals: GlobalOptions,
): Promise<number> {
  const { screen, spec, place } = serverOf(server, globals)
  if (spec.oauth !== undefined && spec.oauth !== false && spec.oauth.grant === 'client_credentials')
    throw new BeaverError(
      'invalid_configuration',
      `The MCP server ${server} has the grant client_credentials, so Beaver logs in there by itself.`,
    )
  using interrupts = listenForInterrupts()
  const show = (url: URL): void => {
    // The URL goes to stderr, because a person needs it even if stdout is for a program.
    process.stderr.write(
      `Open this page in a browser, and log in:\n\n  ${url.href}\n\nBeaver waits for ten minutes.\n`,
    )
  }
  try {
    const { scope } = await logIn({
      ...loginPlace(spec, place),
      scope: options.scope,
      show,
      signal: interrupts.asked,
    })
    if (options.json === true) screen.json({ server, scope })
    else
      screen.print(
        `Logged in to the MCP server ${server}${scope === null ? '' : ` with the scope ${oneLine(scope)}`}.`,
      )
    return 0
  } catch (error) {
    throw new BeaverError(
      'login_failed',
      `The login at the MCP server ${server} failed: ${oneLine(messageOf(error), 500)}`,
      { cause: error },
    )
  }
}

export async function logout(
  server: string,
  options: McpLoginOptions,
  globals: GlobalOptions,
): Promise<number> {
  const { screen, spec, place } = serverOf(server, globals)
  const revocation = await logOut({ ...place, url: spec.url, settings: spec.oauth || {} })
  const revoked = revocation?.kind === 'revoked'
  const why = revocation === null || revocation.kind === 'revoked' ? null : oneLine(revocation.why, 500)
  if (options.json === true) screen.json({ server, removed: revocation !== null, revoked, reason: why })
  else if (revocation === null) screen.print(`There is no login at the MCP server ${server}.`)
  else if (why === null)
    screen.print(`The login at the MCP server ${server} is removed, and its tokens are revoked.`)
  else
    screen.print(
      `The login at the MCP server ${server} is removed from this machine. Its tokens were not revoked there. ${why}`,
    )
  return 0
}

function serverOf(server: string, globals: GlobalOptions) {
  const { config, screen } = contextOf(globals)
  const spec = config.mcp[server]
  if (spec === undefined)
    throw new BeaverError('not_found', `The configuration has no MCP server ${JSON.stringify(server)}.`)
  if (!('url' in spec))
    throw new BeaverError(
      'invalid_configuration',
      `The MCP server ${server} is a program. Only a server over HTTP has a login.`,
    )
  if (spec.oauth === false)
    throw new BeaverError(
      'invalid_configuration',
      `The MCP server ${server} has "oauth": false, so Beaver does not log in there.`,
    )
  return {
    screen,
    spec,
    place: {
      server,
      environment: { ...process.env, ...config.mcpVariables },
      folder: mcpLoginsFolder(config.home),
      clock: systemClock,
    },
  }
}
