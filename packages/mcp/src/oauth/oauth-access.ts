// OAuthAccess: gives the requests to one MCP server its token, and renews a refused token without a person;
// log-in.ts asks people. A token goes only to the server for whose URL it was issued. One process renews at a
// time, and the others use its token. Tokens and the client's secret are hidden before their first request,
// and for a while after a renewal, because a server may repeat them.
import { type Clock, messageOf, visible } from '@beaver/core'
import { protectSecrets } from '@beaver/core/secrets'
import {
  auth,
  type AuthProvider,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  OAuthError,
  OAuthErrorCode,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client'
import type { Environment, OAuthSettings } from '../client/server-spec.ts'
import { guardedFetch } from './guarded-fetch.ts'
import { type Login, LoginFile } from './login-file.ts'
import { clientMetadata, staticClient } from './oauth-settings.ts'

type Refusal = Parameters<NonNullable<AuthProvider['onUnauthorized']>>[0]

/** How many secrets of a login are hidden, the newest ones. */
const hiddenMax = 12
/** Codes of failures that may pass. */
const serverFailures: ReadonlySet<string> = new Set([
  OAuthErrorCode.ServerError,
  OAuthErrorCode.TemporarilyUnavailable,
])

/** A person must log in. The message tells how. */
export class LoginNeeded extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.name = 'LoginNeeded'
  }
}

export interface OAuthPlace {
  readonly server: string
  readonly url: string
  readonly settings: OAuthSettings
  readonly environment: Environment
  readonly folder: string
  readonly clock: Clock
}

export class OAuthAccess implements AuthProvider {
  readonly file: LoginFile
  readonly #place: OAuthPlace
  #given: string | undefined
  #renewing: Promise<void> | null = null
  /** The hidden secrets by value, the newest last. */
  readonly #hidden = new Map<string, () => void>()

  constructor(place: OAuthPlace) {
    this.#place = place
    this.file = new LoginFile(place)
  }

  async token(): Promise<string | undefined> {
    return (this.#given = (await this.#read())?.tokens?.access_token)
  }

  /** Renews the token. @throws {LoginNeeded}, or the refusal itself if the server does not mention OAuth */
  async onUnauthorized({ response }: Refusal): Promise<void> {
    const challenged = /^(bearer|dpop)\b/i.test(response.headers.get('www-authenticate') ?? '')
    const { settings } = this.#place
    if (!challenged && this.#given === undefined && Object.keys(settings).length === 0)
      throw new SdkHttpError(
        SdkErrorCode.ClientHttpAuthentication,
        `it answered with HTTP ${response.status}`,
        { status: response.status },
      )
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
    this.#renewing ??= this.#renew({ resourceMetadataUrl, scope }).finally(() => (this.#renewing = null))
    await this.#renewing
  }

  close(): void {
    for (const release of this.#hidden.values()) release()
    this.#hidden.clear()
  }

  #renew(challenge: { resourceMetadataUrl: URL | undefined; scope: string | undefined }): Promise<void> {
    const refused = this.#given
    const { url, settings } = this.#place
    return this.file.alone(async () => {
      const login = (await this.#read()) ?? {}
      if (login.tokens !== undefined && login.tokens.access_token !== refused) return
      const isMachine = settings.grant === 'client_credentials'
      if (!isMachine && login.tokens?.refresh_token === undefined)
        throw this.needed(login.tokens === undefined ? 'it wants a login' : 'its login has ended')
      try {
        await auth(this.#provider(login), {
          serverUrl: url,
          fetchFn: guardedFetch(url, this.#place.clock),
          ...(challenge.resourceMetadataUrl === undefined
            ? {}
            : { resourceMetadataUrl: challenge.resourceMetadataUrl }),
          ...(isMachine && challenge.scope !== undefined ? { scope: challenge.scope } : {}),
        })
      } catch (error) {
        if (error instanceof LoginNeeded) throw error
        const refusal = error instanceof OAuthError && !serverFailures.has(error.code)
        if (refusal && !isMachine) throw this.needed('its login is not valid any more', error)
        throw new Error(`its authorization server did not give a token: ${shortReason(error)}`, {
          cause: error,
        })
      }
    })
  }

  /** @param why a clause */
  needed(why: string, cause?: unknown): LoginNeeded {
    const { server } = this.#place
    return new LoginNeeded(`${why}. Log in: beaver mcp login ${server}`, cause === undefined ? {} : { cause })
  }

  async #read(): Promise<Login | null> {
    const read = await this.file.read()
    if (read.kind === 'unusable')
      throw new LoginNeeded(`${read.message} Log in: beaver mcp login ${this.#place.server}`)
    this.#hide(read.login ?? {})
    return read.login
  }

  /** Hides a login's secrets wherever this process writes text. */
  #hide({ tokens, client }: Login): void {
    for (const value of [
      tokens?.access_token,
      tokens?.refresh_token,
      (client as { client_secret?: string } | undefined)?.client_secret,
    ]) {
      if (value === undefined || value === '' || this.#hidden.has(value)) continue
      this.#hidden.set(value, protectSecrets([{ name: `mcp.${this.#place.server}.token`, value }]))
    }
    for (const [value, release] of [...this.#hidden].slice(0, -hiddenMax)) {
      release()
      this.#hidden.delete(value)
    }
  }

  #provider(login: Login): OAuthClientProvider {
    const { settings, environment } = this.#place
    const configured = staticClient(settings, environment)
    const isMachine = settings.grant === 'client_credentials'
    let held = login
    const keep = async (change: Partial<Login>): Promise<void> => {
      held = { ...held, ...change }
      this.#hide(held)
      await this.file.write(held)
    }
    const ask = (): never => {
      throw this.needed('it wants a new login')
    }
    return {
      // The SDK takes a client without a redirect for a machine.
      redirectUrl: isMachine ? undefined : 'http://127.0.0.1/callback',
      clientMetadata: clientMetadata(settings, undefined),
      clientInformation: () => configured ?? held.client,
      ...(configured === null ? { saveClientInformation: (client) => keep({ client }) } : {}),
      ...(settings.client_metadata_url === undefined
        ? {}
        : { clientMetadataUrl: settings.client_metadata_url }),
      tokens: () => held.tokens,
      saveTokens: (tokens) => keep({ tokens }),
      discoveryState: () => held.discovery,
      saveDiscoveryState: (discovery) => keep({ discovery }),
      invalidateCredentials: (scope) =>
        scope === 'tokens' || scope === 'all' ? keep({ tokens: undefined }) : Promise.resolve(),
      redirectToAuthorization: ask,
      saveCodeVerifier: ask,
      codeVerifier: ask,
      ...(isMachine
        ? {
            prepareTokenRequest: (scope) =>
              new URLSearchParams({
                grant_type: 'client_credentials',
                ...(scope === undefined ? {} : { scope }),
              }),
          }
        : {}),
    }
  }
}

/** A server's words, which are untrusted: short and without hidden characters. */
const shortReason = (error: unknown): string => visible(messageOf(error)).slice(0, 300)
