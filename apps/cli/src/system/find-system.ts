// Finds the system that a command talks to: by --nats-url, otherwise by NATS_URL, otherwise by the
// configuration file, otherwise the system in this home.
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { BeaverError } from '@beaver/core'
import { embeddedLogin, type Role, roleLogin } from '@beaver/nats'
import { type Config, type NatsLogin, readSystemFile } from '@beaver/platform'
import { osUser } from '@beaver/platform/os-user'
import { commandName } from '../command-name.ts'

/** The address of a system, and the login for it. */
export interface FoundSystem {
  readonly url: string
  readonly login: NatsLogin
  readonly namespace: string
  readonly tenant: string
  /** The process id of `beaver up`; `null` if the system was not found by its home. */
  readonly pid: number | null
  /** The folder with the keys of the home; `null` if the system was not found by its home. */
  readonly keysFolder: string | null
  /**
   * The path of the log of the embedded server. Absent if the system was not found by its home, or has no
   * embedded server.
   */
  readonly serverLog?: string | undefined
}

/** Finds the system; returns `null` if no server is configured and none runs in this home. */
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
  // A stranger's home could name the stranger's server, which would then get the login.
  const running = config.foreignHome ? null : readSystemFile(config.home)
  if (running === null) return null
  const { nats_url: url, namespace, tenant, pid, embedded } = running
  const of = { url, namespace, tenant, pid, keysFolder: config.keysFolder }
  return embedded
    ? { ...of, login: loginAt(config.home), serverLog: serverLogAt(config.home) }
    : { ...of, login: roleLogin(config.natsLogin, 'client') }
}

/** The login of a role at the embedded server of a home. */
export function loginAt(home: string, role: Role = 'client'): NatsLogin {
  return embeddedLogin(join(home, 'nats'), role)
}

/**
 * The path of the embedded server's log. It is beside the server's data, not in the folder of the other logs.
 */
export const serverLogAt = (home: string): string => join(home, 'nats', 'nats-server.log')

/** Whether a system that was found by its home has ended in the meantime. */
export function hasEnded(found: FoundSystem, config: Config): boolean {
  return found.pid !== null && readSystemFile(config.home)?.pid !== found.pid
}

/**
 * Finds the system, with the login for a role.
 *
 * @param role the role in which the command acts. At a server that Beaver did not start, the configured login
 * decides. Default: `client`
 * @throws {BeaverError} `unreachable` if no system is found
 */
export function findSystem(config: Config, role: Role = 'client'): FoundSystem {
  const found = lookForSystem(config)
  if (found === null && !config.foreignHome)
    mustRead([config.home, join(config.home, 'run'), join(config.home, 'run', 'system.json')])
  if (found === null)
    throw new BeaverError(
      'unreachable',
      `No Beaver system is running with its data in ${config.home}. Start one with "${commandName()} up", or set NATS_URL.`,
    )
  return inRole(role, found, config)
}

/**
 * Checks that the user may read the paths. Otherwise an unreadable home would look like a home in which
 * nothing runs.
 *
 * @param access throws the error of Node.js if a path cannot be read
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
 * Returns the system with the login for a role. At a server that Beaver did not start, the configured login
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
