// `oauth` of an MCP server in the configuration, and Beaver's own metadata as a client.
import type { OAuthClientMetadata } from '@modelcontextprotocol/client'
import { type Environment, expand, type OAuthSettings } from '../client/server-spec.ts'

export interface StaticClient {
  readonly client_id: string
  readonly client_secret?: string
  readonly issuer?: string
}

/**
 * The configured client, or `null`.
 * @throws {BeaverError} `invalid_configuration`, which names an unset variable
 */
export function staticClient(
  { client_id, client_secret, issuer }: OAuthSettings,
  environment: Environment,
): StaticClient | null {
  if (client_id === undefined) return null
  return {
    client_id,
    ...(client_secret === undefined ? {} : { client_secret: expand(client_secret, environment) }),
    ...(issuer === undefined ? {} : { issuer }),
  }
}

export function clientMetadata(
  { scope, grant }: OAuthSettings,
  redirectUrl: string | undefined,
): OAuthClientMetadata {
  return {
    client_name: 'Beaver',
    redirect_uris: redirectUrl === undefined ? [] : [redirectUrl],
    grant_types:
      grant === 'client_credentials' ? ['client_credentials'] : ['authorization_code', 'refresh_token'],
    response_types: grant === 'client_credentials' ? [] : ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
    ...(scope === undefined ? {} : { scope }),
  }
}
