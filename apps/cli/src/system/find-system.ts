// Finds the system for a command: first by --nats-url, then by NATS_URL, then by the configuration file, then
// in this home.
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { BeaverError } from '@beaver/core'
import { embeddedLogin, type Role, roleLogin } from '@beaver/nats'
import { type Config, type NatsLogin, readSystemFile } from '@beaver/platform'
import { osUser } from '@beaver/platform/os-user'

export interface FoundSystem {
  readonly url: string
  readonly login: NatsLogin
  readonly namespace: string
  readonly tenant: string
  /** The process of `beaver up`, if the system was found by its home. */
  readonly pid: number | null
  /** The folder with the keys that the home knows, if the system was found by its home. */
  readonly keysFolder: string | null
  /** The log of the embedded server, if the system was found by its home. */
  readonly serverLog?: string | undefined
}

/** Returns `null` if no server is configured and none runs in this home. */
export function lookForSystem(config: Config): FoundSystem | null {
  if (config.nats_url !== undefined)
    return {
      url: config.nats_url,
      login: roleLogin(config.natsLogin, 'client'),
      namespace: config.namespace,
      tenant: config.tenant,
      pid: null,
      keysFolder: null,
    }
  // A stranger's home could name a server of the stranger's, which would get the login.
  const running = config.foreignHome ? null : readSystemFile(config.home)
  if (running === null) return null
  const { nats_url: url, namespace, tenant, pid, embedded } = running
  const of = { url, namespace, tenant, pid, keysFolder: config.keysFolder }
  return embedded
    ? { ...of, login: loginAt(config.home), serverLog: serverLogAt(config.home) }
    : { ...of, login: roleLogin(config.natsLogin, 'client') }
}

/** The login of a command at the embedded server of a home. */
export function loginAt(home: string, role: Role = 'client'): NatsLogin {
  return embeddedLogin(join(home, 'nats'), role)
}

/**
 * The log of the embedded server of a home. It is beside the server's data, not in the folder of the other
 * logs.
 */
export const serverLogAt = (home: string): string => join(home, 'nats', 'nats-server.log')

/** Whether a system that was found by its home has ended since. */
export function hasEnded(found: FoundSystem, config: Config): boolean {
  return found.pid !== null && readSystemFile(config.home)?.pid !== found.pid
}

/**
 * @param role in which role the command acts. At a server of the user's own, the configured login decides
 * @throws {BeaverError} `unreachable`
 */
export function findSystem(config: Config, role: Role = 'client'): FoundSystem {
  const found = lookForSystem(config)
  if (found === null && !config.foreignHome)
    mustRead([config.home, join(config.home, 'run'), join(config.home, 'run', 'system.json')])
  if (found === null)
    throw new BeaverError(
      'unreachable',
      `No Beaver system is running with its data in ${config.home}. Start one with "beaver up", or set NATS_URL.`,
    )
  return inRole(role, found, config)
}

/**
 * What a user may not read says nothing of what is in it.
 *
 * @param access throws what Node throws if a path cannot be read
 * @throws {BeaverError} `unreachable` if the user may not read one of the paths that exist
 */
export function mustRead(
  paths: readonly string[],
  access: (path: string) => void = (path) => accessSync(path, constants.R_OK),
): void {
  for (const path of paths) {
    try {
      access(path)
    } catch (cause) {
      const { code = '' } = cause as NodeJS.ErrnoException
      if (code !== 'EACCES' && code !== 'EPERM') continue
      const todo = 'Run the command as the user who runs Beaver, or choose another home with --home.'
      throw new BeaverError('unreachable', `The user ${osUser()} may not read ${path} (${code}). ${todo}`, {
        cause,
      })
    }
  }
}

/**
 * The same system for a command that acts in a role. At a server of the user's own, the configured login
 * decides.
 */
export function inRole(
  role: Role,
  found: FoundSystem,
  { home, natsLogin }: Pick<Config, 'home' | 'natsLogin'>,
): FoundSystem {
  if (role === 'client') return found
  return {
    ...found,
    login: found.login.nkeyFile === loginAt(home).nkeyFile ? loginAt(home, role) : roleLogin(natsLogin, role),
  }
}
