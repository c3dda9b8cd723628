// How a process logs in to a NATS server. The login in the URL comes first, then the credentials file, the
// nkey, user and password, the token. Files are read again at each connection, so that credentials can be
// replaced while a process runs. No message contains a secret.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BeaverError, messageOf } from '@beaver/core'
import type { NatsLogin } from '@beaver/platform/nats-login'
import {
  type Authenticator,
  credsAuthenticator,
  nkeyAuthenticator,
  nkeys,
  type ReconnectToServerHandler,
  tokenAuthenticator,
  type TlsOptions,
  usernamePasswordAuthenticator,
} from '@nats-io/nats-core'
import { type Role, roles } from './permissions.ts'
import { decodeToken, encodeToken } from './subjects.ts'

/**
 * The login of a role: the role's key in the folder of keys, if there is one and no other login. A client's
 * key is that of its name. Otherwise every role has the same login.
 *
 * @throws {BeaverError} `invalid_configuration` if nothing says in whose name the client asks
 */
export function roleLogin({ keysFolder, ...login }: NatsLogin, role: Role): NatsLogin {
  const { credsFile, nkeyFile, user, token } = login
  if (keysFolder === undefined || [credsFile, nkeyFile, user, token].some((setting) => setting !== undefined))
    return login
  const caller = role === 'client' ? (login.caller ?? clientIn(keysFolder)) : role
  return { ...login, caller, nkeyFile: join(keysFolder, `${encodeToken(caller)}.nk`) }
}

/** The client of a folder of keys: `client`, or the only name in it that is no other role. */
function clientIn(keysFolder: string): string {
  const names = keysIn(keysFolder)
  const [first, ...others] = names.filter((name) => !roles.some((role) => role === name))
  if (names.includes('client') || (first === undefined && !names.includes('operator'))) return 'client'
  if (first !== undefined && others.length === 0) return first
  throw new BeaverError(
    'invalid_configuration',
    `Nothing says in whose name this process asks NATS. Set BEAVER_CALLER to a name whose key is in ${keysFolder}: ${[first, ...others, 'operator'].filter((name) => name !== undefined && names.includes(name)).join(', ')}.`,
  )
}

function keysIn(folder: string): string[] {
  try {
    return readdirSync(folder).flatMap((file) =>
      file.endsWith('.nk') ? [decodeToken(file.slice(0, -'.nk'.length))] : [],
    )
  } catch {
    return []
  }
}

export interface LoginOptions {
  readonly servers: string[]
  readonly authenticator?: Authenticator
  /** Tells the authenticator which server the library chose. Absent: all servers have the same login. */
  readonly reconnectToServer?: ReconnectToServerHandler
  readonly tls?: TlsOptions
}

/**
 * What the library needs to connect.
 *
 * @param url one server or several, separated by commas. User and password, or only a token, come before an
 * `@`. A server without a login has that of the first server with one
 * @throws {BeaverError} `invalid_configuration` if a file cannot be read, or if the servers have different
 * users and `login.caller` is missing
 */
export function loginOptions(url: string, login: NatsLogin = {}): LoginOptions {
  const servers = url.split(',').map((server) => splitUrl(server.trim()))
  const inUrls = [...new Set(servers.flatMap(({ userInfo }) => userInfo ?? []))]
  if (login.caller === undefined) mustHaveOneName(inUrls)
  const tls = tlsOf(login)
  const authenticating =
    inUrls.length > 1
      ? byServer(servers, inUrls[0] as string)
      : sameForAll(inUrls[0] === undefined ? authenticatorOf(login) : fromUrl(inUrls[0]))
  return {
    servers: servers.map(({ address }) => address),
    ...authenticating,
    ...(tls === null ? {} : { tls }),
  }
}

/** A process has one name at all servers. */
function mustHaveOneName(userInfos: readonly string[]): void {
  const names = [...new Set(userInfos.map(nameIn))]
  if (names.length > 1)
    throw new BeaverError(
      'invalid_configuration',
      `The servers of NATS_URL have different users (${names.join(', ')}). A process asks in one name: give all servers the same user, or set BEAVER_CALLER to the name that all of them allow.`,
    )
}

const sameForAll = (authenticator: Authenticator | null): Pick<LoginOptions, 'authenticator'> =>
  authenticator === null ? {} : { authenticator }

/** A server that another one announced has the login of the server before it. */
function byServer(
  servers: readonly { address: string; userInfo: string | null }[],
  usual: string,
): Pick<LoginOptions, 'authenticator' | 'reconnectToServer'> {
  const logins = new Map(servers.map(({ address, userInfo }) => [address, fromUrl(userInfo ?? usual)]))
  let now = fromUrl(usual)
  return {
    authenticator: (nonce) => now(nonce),
    // The library asks before each attempt. It prefers the first server, and null accepts its choice.
    reconnectToServer([next]) {
      now = logins.get(next?.src ?? '') ?? now
      return null
    },
  }
}

/**
 * The name in which a process sends requests: `BEAVER_CALLER`, else the user, the name in the credentials, or
 * the public nkey. A server with permissions from `beaver nats-config` accepts no other name from this login.
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
    .map((server) => splitUrl(server.trim()).userInfo)
    .find((userInfo) => userInfo !== null)
  if (inUrl !== undefined && inUrl !== null) return nameIn(inUrl)
  const { credsFile, nkeyFile, user, token } = login
  if (credsFile !== undefined) return nameInCreds(contentOf(credsFile, 'credentials'))
  if (nkeyFile !== undefined) return nkeys.fromSeed(seedIn(nkeyFile)).getPublicKey()
  return user ?? (token === undefined ? null : 'token')
}

/** A token names nobody. */
const nameIn = (userInfo: string): string | null =>
  userInfo.includes(':') ? decoded(userInfo.split(':')[0] ?? '') || null : 'token'

/** The user's name in the JWT of a credentials file. */
function nameInCreds(content: string): string | null {
  const payload = /-----BEGIN NATS USER JWT-----\s+[^.\s]+\.([^.\s]+)\./.exec(content)?.[1]
  if (payload === undefined) return null
  try {
    const { name, sub } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
      name?: unknown
      sub?: unknown
    }
    return [name, sub].find((each): each is string => typeof each === 'string' && each !== '') ?? null
  } catch {
    return null
  }
}

export function splitUrl(server: string): { address: string; userInfo: string | null } {
  const [, scheme = '', userInfo = null, rest = ''] = /^([a-z]+:\/\/)?(?:([^@/]*)@)?(.*)$/i.exec(server) ?? []
  return { address: scheme + rest, userInfo }
}

function fromUrl(userInfo: string): Authenticator {
  const [user = '', ...rest] = userInfo.split(':')
  return rest.length === 0
    ? tokenAuthenticator(decoded(user))
    : usernamePasswordAuthenticator(decoded(user), decoded(rest.join(':')))
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
      found(
        contentOf(credsFile, 'credentials'),
        /-----BEGIN NATS USER JWT-----[\s\S]*-----BEGIN USER NKEY SEED-----/,
        credsFile,
        'credentials',
      )
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
    throw new BeaverError(
      'invalid_configuration',
      'A client certificate needs NATS_CERT and NATS_KEY. Only one of them is set.',
    )
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
    throw new BeaverError(
      'invalid_configuration',
      `The file ${file} (NATS ${what}) cannot be read: ${messageOf(cause)}`,
      { cause },
    )
  }
}

/** The content, or what matches in it. */
function found(
  content: string,
  pattern: RegExp,
  file: string,
  what: string,
  wanted: 'content' | 'match' = 'content',
): string {
  const match = pattern.exec(content)
  if (match === null)
    throw new BeaverError('invalid_configuration', `The file ${file} contains no NATS ${what}.`)
  return wanted === 'match' ? match[0] : content
}
