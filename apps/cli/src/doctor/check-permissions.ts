// Tries what the identities at the NATS server can do beyond their roles, and reports what gets through. The
// attempts change nothing.
import { join } from 'node:path'
import { messageOf } from '@beaver/core'
import {
  beyondRole,
  callerName,
  connectNats,
  embeddedLogin,
  type NatsLogin,
  permitted,
  type Role,
  roles,
  subjectsOf,
} from '@beaver/nats'
import { type Config, readSystemFile } from '@beaver/platform'
import { type FoundSystem, lookForSystem } from '../system/find-system.ts'
import { fail, type Finding, ok, warn } from './check.ts'

const connectMsMax = 3_000
const namedMax = 3

/**
 * The identities that this user can use: all at the embedded server, or the one that the environment gives.
 */
export async function checkPermissions(config: Config): Promise<Finding[]> {
  const found = lookForSystem(config)
  if (found === null) return []
  const embedded = config.nats_url === undefined && readSystemFile(config.home)?.embedded === true
  const logins: [Role, NatsLogin][] = embedded
    ? roles.map((role) => [role, embeddedLogin(join(config.home, 'nats'), role)])
    : [[roleOf(found), found.login]]
  try {
    const beyond: string[] = []
    for (const [role, login] of logins) {
      const can = await canBeyond(found, role, login)
      if (can === 'anything') return [asksNobody(found)]
      if (can.length > 0) beyond.push(`${callerName(found.url, login)} (${role}) can also ${listed(can)}`)
    }
    const whom = embedded
      ? 'no identity of the embedded server'
      : `${callerName(found.url, found.login)} at ${new URL(hostOf(found.url)).host}`
    if (beyond.length > 0)
      return [
        fail(
          'permissions',
          `${beyond.join('; ')}.`,
          'Give each user the permissions that "beaver nats-config" prints, and no others.',
        ),
      ]
    return [
      ok(
        'permissions',
        embedded
          ? `${whom} can do more than its role (${logins.length} tried)`
          : `${whom} can do no more than ${roleOf(found) === 'operator' ? 'an' : 'a'} ${roleOf(found)}`,
      ),
    ]
  } catch (error) {
    return [
      warn(
        'permissions',
        `They could not be tried: ${messageOf(error)}`,
        'Correct the login, and run "beaver doctor" again.',
      ),
    ]
  }
}

/** `beaver nats-config` gives each role but that of a client to the user of the same name. */
const roleOf = ({ url, login }: FoundSystem): Role =>
  roles.find((role) => role === callerName(url, login)) ?? 'client'

async function canBeyond(found: FoundSystem, role: Role, login: NatsLogin): Promise<string[] | 'anything'> {
  const nc = await connectNats({ url: found.url, login, name: 'beaver-doctor', timeoutMs: connectMsMax })
  try {
    if (nc.info?.auth_required !== true) return 'anything'
    const subjects = subjectsOf(found.namespace, {
      tenant: found.tenant,
      caller: callerName(found.url, login),
    })
    return (await permitted(nc, beyondRole(role, subjects))).map(({ what }) => what)
  } finally {
    await nc.close()
  }
}

const asksNobody = ({ url }: FoundSystem): Finding =>
  warn(
    'permissions',
    `The NATS server at ${new URL(hostOf(url)).host} asks nobody for a login. Who reaches it can read every task, write into the journal, delete from it and decide approvals.`,
    'Set up the users that "beaver nats-config" prints.',
  )

const hostOf = (url: string): string => {
  const first = url.split(',')[0] ?? url
  return first.includes('://') ? first : `nats://${first}`
}

const listed = (all: readonly string[]): string =>
  all.length <= namedMax
    ? all.join(', ')
    : `${all.slice(0, namedMax).join(', ')}, and ${all.length - namedMax} other things`
