// `oauth` of an MCP server in the configuration, and what Beaver says about itself as a client.
import type { OAuthClientMetadata } from '@modelcontextprotocol/client'
import { type Environment, expand } from '../client/server-spec.ts'

/** The settings of the operator. Everything may be left out: then the servers say what is needed. */
export interface OAuthSettings {
  /** The client that was registered at the authorization server. Default: Beaver registers itself. */
  readonly client_id?: string | undefined
  /** Its secret. `$NAME` is read from the environment. */
  readonly client_secret?: string | undefined
  /** The authorization server that the client belongs to. Its secret goes to no other. */
  readonly issuer?: string | undefined
  /**
   * The https URL of a client metadata document, which is the id of the client at servers that support this.
   */
  readonly client_metadata_url?: string | undefined
  /** The scopes to ask for, with a space between them. Default: those that the server names. */
  readonly scope?: string | undefined
  /** The port of the redirect on 127.0.0.1. Default: a free one. */
  readonly redirect_port?: number | undefined
  /** `client_credentials`: the client itself logs in, without a person. Default: `authorization_code`. */
  readonly grant?: 'authorization_code' | 'client_credentials' | undefined
}

export interface StaticClient {
  readonly client_id: string
  readonly client_secret?: string
  readonly issuer?: string
}

/**
 * The client of the configuration, or `null`. @throws {BeaverError} `invalid_configuration`, which names a
 * variable that is not set
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
