// Removes the login at an MCP server: asks the authorization server to revoke it (RFC 7009), and deletes the
// file whatever the server answers. Tokens go only to the revocation endpoint of the server that issued them,
// and a configured client's secret only to its issuer.
import { messageOf } from '@beaver/core'
import { type OAuthClientInformationMixed, selectClientAuthMethod } from '@modelcontextprotocol/client'
import { guardedFetch } from './guarded-fetch.ts'
import { type Login, LoginFile } from './login-file.ts'
import type { OAuthPlace } from './oauth-access.ts'
import { staticClient } from './oauth-settings.ts'

/** `not_asked`: there was nothing to revoke, or the server has no revocation. `why` is a sentence. */
export type Revocation =
  | { readonly kind: 'revoked' }
  | { readonly kind: 'not_asked' | 'refused'; readonly why: string }

/** @returns `null`: there was no login */
export async function logOut(place: OAuthPlace): Promise<Revocation | null> {
  const file = new LoginFile(place)
  return file.alone(async () => {
    const read = await file.read()
    const revocation = await revoked(read.kind === 'ok' ? read.login : null, place).catch(
      (error: unknown): Revocation => refusal(messageOf(error)),
    )
    return (await file.remove()) ? revocation : null
  })
}

const refusal = (why: string): Revocation => ({
  kind: 'refused',
  why: why.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, 300),
})

async function revoked(login: Login | null, place: OAuthPlace): Promise<Revocation> {
  const { tokens, discovery } = login ?? {}
  if (tokens === undefined) return { kind: 'not_asked', why: 'The login had no token.' }
  const metadata = discovery?.authorizationServerMetadata
  const endpoint = (metadata as { revocation_endpoint?: string } | undefined)?.revocation_endpoint
  if (metadata === undefined || endpoint === undefined)
    return { kind: 'not_asked', why: 'The authorization server names no place where a token can be revoked.' }
  const configured = staticClient(place.settings, place.environment)
  const client: OAuthClientInformationMixed | undefined = configured ?? login?.client
  if (client === undefined)
    return { kind: 'not_asked', why: 'The login does not say to which client it belongs.' }
  if (configured?.issuer !== undefined && configured.issuer !== metadata.issuer)
    return {
      kind: 'not_asked',
      why: 'The login was issued by another server than the one that the configuration names.',
    }
  const methods = (metadata as { revocation_endpoint_auth_methods_supported?: string[] })
    .revocation_endpoint_auth_methods_supported
  const method = selectClientAuthMethod(
    client,
    methods ?? metadata.token_endpoint_auth_methods_supported ?? [],
  )
  // The refresh token comes first: with it, a server also ends every token that it produced.
  const held = [
    ['refresh_token', tokens.refresh_token],
    ['access_token', tokens.access_token],
  ] as const
  let revokes = false
  for (const [hint, token] of held) {
    if (token === undefined) continue
    const form = new URLSearchParams({
      token,
      token_type_hint: hint,
      ...(method === 'client_secret_basic' ? {} : { client_id: client.client_id }),
    })
    if (method === 'client_secret_post' && client.client_secret !== undefined)
      form.set('client_secret', client.client_secret)
    const basic = [client.client_id, client.client_secret ?? ''].map(formEncoded).join(':')
    const response = await guardedFetch(place.url, place.clock)(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        ...(method === 'client_secret_basic'
          ? { authorization: `Basic ${Buffer.from(basic).toString('base64')}` }
          : {}),
      },
      body: form.toString(),
    })
    if (response.ok) revokes = true
    // A server may revoke only one kind of token.
    else if (!(await isUnsupported(response)))
      return refusal(`The authorization server answered with HTTP ${response.status}.`)
  }
  return revokes
    ? { kind: 'revoked' }
    : refusal('The authorization server does not revoke tokens of this kind.')
}

const formEncoded = (text: string): string => new URLSearchParams({ x: text }).toString().slice(2)

async function isUnsupported(response: Response): Promise<boolean> {
  const body: unknown = await response.json().catch(() => null)
  return (
    typeof body === 'object' &&
    body !== null &&
    (body as { error?: unknown }).error === 'unsupported_token_type'
  )
}
