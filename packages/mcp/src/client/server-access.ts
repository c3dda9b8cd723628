// How a server is reached: its address, its login.
import { type Clock, messageOf } from '@beaver/core'
import { InsufficientScopeError } from '@modelcontextprotocol/client'
import { LoginNeeded, OAuthAccess } from '../oauth/oauth-access.ts'
import { loginCommand } from './call-result.ts'
import { addressOf, type Environment, type McpServerSpec } from './server-spec.ts'

interface AccessPorts {
  readonly environment: Environment
  /** The folder of the logins. `null`: no server gets a token of OAuth. */
  readonly loginsFolder: string | null
  readonly clock: Clock
}

/** What a person has to do before the server can be connected, or `null`. */
export function loginFor(error: unknown, server: string): LoginNeeded | null {
  if (error instanceof LoginNeeded) return error
  if (!(error instanceof InsufficientScopeError)) return null
  return new LoginNeeded(
    `its login does not allow to list its tools. Log in with more rights: ${loginCommand(server, error.requiredScope)}`,
  )
}

/** A server whose key the configuration has needs no other token. */
export function accessTo(
  server: string,
  spec: McpServerSpec,
  { environment, loginsFolder, clock }: AccessPorts,
): OAuthAccess | null {
  if (!('url' in spec) || loginsFolder === null || spec.oauth === false) return null
  if (Object.keys(spec.headers).some((name) => name.toLowerCase() === 'authorization')) return null
  return new OAuthAccess({
    server,
    url: spec.url,
    settings: spec.oauth ?? {},
    environment,
    folder: loginsFolder,
    clock,
  })
}

export function addressFault(spec: McpServerSpec, environment: Environment): string | null {
  try {
    addressOf(spec, environment)
    return null
  } catch (error) {
    return messageOf(error)
  }
}
