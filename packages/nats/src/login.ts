// How a process says to a NATS server who it is, and how it knows the server.
// L1. What stands in the URL comes first, then the file of credentials, the nkey, user and password, the token.
// L2. Files are read again at each connection, so that credentials can be replaced while a process runs.
// L3. No message contains a secret.
import { readFileSync } from 'node:fs'
import { BeaverError, messageOf } from '@beaver/core'
import type { NatsLogin } from '@beaver/platform/nats-login'
import {
  type Authenticator,
  credsAuthenticator,
  nkeyAuthenticator,
  nkeys,
  tokenAuthenticator,
  type TlsOptions,
  usernamePasswordAuthenticator,
} from '@nats-io/nats-core'

export interface LoginOptions {
  readonly servers: string[]
  readonly authenticator?: Authenticator
  readonly tls?: TlsOptions
}

/**
 * What the library needs to connect.
 *
 * @param url one server or several, separated by commas. User and password, or a token alone, may stand before an `@`
 * @throws {BeaverError} `invalid_configuration` if a file cannot be read, or the servers have different logins in their URLs
 */
export function loginOptions(url: string, login: NatsLogin = {}): LoginOptions {
  const servers = url.split(',').map((server) => split(server.trim()))
  const inUrls = [...new Set(servers.flatMap(({ userInfo }) => userInfo ?? []))]
  // The library asks for the login without saying which server it connects to.
  if (inUrls.length > 1) throw new BeaverError('invalid_configuration', 'The servers of NATS_URL have different logins. Give all of them the same one.')
  const tls = tlsOf(login)
  const authenticator = inUrls[0] === undefined ? authenticatorOf(login) : fromUrl(inUrls[0])
  return { servers: servers.map(({ address }) => address), ...(authenticator === null ? {} : { authenticator }), ...(tls === null ? {} : { tls }) }
}

/**
 * In whose name a process sends requests: "BEAVER_CALLER", else the user, the name in the credentials, or the public nkey. A server whose
 * permissions follow `beaver nats-config` accepts no other name from this login.
 *
 * @throws {BeaverError} `invalid_configuration` if a file cannot be read
 */
export function callerName(url: string, login: NatsLogin = {}): string {
  return loginName(url, login) ?? 'anonymous'
}

/** The same; `null` for a connection without a login. */
export function loginName(url: string, login: NatsLogin = {}): string | null {
  if (login.caller !== undefined) return login.caller
  const inUrl = url
    .split(',')
    .map((server) => split(server.trim()).userInfo)
    .find((userInfo) => userInfo !== null)
  if (inUrl !== undefined && inUrl !== null) return inUrl.includes(':') ? decoded(inUrl.split(':')[0] ?? '') || null : 'token'
  const { credsFile, nkeyFile, user, token } = login
  if (credsFile !== undefined) return nameInCreds(contentOf(credsFile, 'credentials'))
  if (nkeyFile !== undefined) return nkeys.fromSeed(seedIn(nkeyFile)).getPublicKey()
  return user ?? (token === undefined ? null : 'token')
}

/** The name that the JWT of a file of credentials gives to its user. */
function nameInCreds(content: string): string | null {
  const payload = /-----BEGIN NATS USER JWT-----\s+[^.\s]+\.([^.\s]+)\./.exec(content)?.[1]
  if (payload === undefined) return null
  try {
    const { name, sub } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { name?: unknown; sub?: unknown }
    return [name, sub].find((each): each is string => typeof each === 'string' && each !== '') ?? null
  } catch {
    return null
  }
}

function split(server: string): { address: string; userInfo: string | null } {
  const [, scheme = '', userInfo = null, rest = ''] = /^([a-z]+:\/\/)?(?:([^@/]*)@)?(.*)$/i.exec(server) ?? []
  return { address: scheme + rest, userInfo }
}

function fromUrl(userInfo: string): Authenticator {
  const [user = '', ...rest] = userInfo.split(':')
  return rest.length === 0 ? tokenAuthenticator(decoded(user)) : usernamePasswordAuthenticator(decoded(user), decoded(rest.join(':')))
}

/** A password may contain a `%` that encodes nothing. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function authenticatorOf({ credsFile, nkeyFile, user, password, token }: NatsLogin): Authenticator | null {
  if (credsFile !== undefined) {
    const read = (): string =>
      found(contentOf(credsFile, 'credentials'), /-----BEGIN NATS USER JWT-----[\s\S]*-----BEGIN USER NKEY SEED-----/, credsFile, 'credentials')
    read()
    return credsAuthenticator(() => Buffer.from(read()))
  }
  if (nkeyFile !== undefined) {
    const seed = (): Uint8Array => seedIn(nkeyFile)
    seed()
    return nkeyAuthenticator(seed)
  }
  if (user !== undefined) return usernamePasswordAuthenticator(user, password ?? '')
  return token === undefined ? null : tokenAuthenticator(token)
}

function seedIn(nkeyFile: string): Uint8Array {
  return Buffer.from(found(contentOf(nkeyFile, 'nkey'), /^SU[A-Z2-7]{56}$/m, nkeyFile, 'nkey', 'match'))
}

function tlsOf({ caFile, certFile, keyFile }: NatsLogin): TlsOptions | null {
  if (caFile === undefined && certFile === undefined && keyFile === undefined) return null
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new BeaverError('invalid_configuration', 'A client certificate needs NATS_CERT and NATS_KEY. Only one of them is set.')
  return {
    ...(caFile === undefined ? {} : { ca: contentOf(caFile, 'certificates of authorities') }),
    ...(certFile === undefined ? {} : { cert: contentOf(certFile, 'certificate') }),
    ...(keyFile === undefined ? {} : { key: contentOf(keyFile, 'key of the certificate') }),
  }
}

function contentOf(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new BeaverError('invalid_configuration', `The file ${file} (NATS ${what}) cannot be read: ${messageOf(cause)}`, { cause })
  }
}

/** The content, or what matches in it. */
function found(content: string, pattern: RegExp, file: string, what: string, wanted: 'content' | 'match' = 'content'): string {
  const match = pattern.exec(content)
  if (match === null) throw new BeaverError('invalid_configuration', `The file ${file} contains no NATS ${what}.`)
  return wanted === 'match' ? match[0] : content
}
