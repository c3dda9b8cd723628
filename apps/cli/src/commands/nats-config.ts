// `beaver nats-config`: prints the users and permissions that Beaver needs at a NATS server that it does not
// start. It needs no running system.
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { requestContracts } from '@beaver/contracts'
import { messageOf } from '@beaver/core'
import {
  encodeToken,
  type Identity,
  identitiesWith,
  type NamedRole,
  permissionsFor,
  roles,
  subjectsOf,
  userLines,
} from '@beaver/nats'
import { type Config, makeFolder } from '@beaver/platform'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { counted } from '../text/figures.ts'

export interface NatsConfigOptions {
  /** The names of the clients. Default: `client`. */
  readonly client?: readonly string[]
  /** Requests that a client may not send, each as `name:request`. */
  readonly deny?: readonly string[]
  /** The folder of the keys; missing keys are made. Default: no keys, and users log in with passwords. */
  readonly keys?: string
  /** The tenants of the server. Default: the tenant of the configuration. */
  readonly tenant?: readonly string[]
  /** Whether to print an account for each tenant, with its users. Default: false. */
  readonly account?: true
  readonly json?: true
}

export async function natsConfig(options: NatsConfigOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  const tenants = [...new Set(options.tenant ?? [config.tenant])]
  const before = options.keys === undefined ? [] : keyFiles(options.keys)
  const users = tenants.flatMap((tenant) => usersOf({ ...config, tenant }, options, tenants.length > 1))
  if (options.keys === undefined) requireDistinct(users)
  else screen.warn(...madeKeys(options.keys, before))
  if (options.json === true)
    screen.json({
      namespace: config.namespace,
      tenant: tenants.length === 1 ? tenants[0] : null,
      users: users.map(({ tenant, role, name, publicKey: public_key, environment, permissions }) => ({
        ...{ tenant, role, name, public_key, environment, permissions },
      })),
    })
  else
    screen.write(
      `${(options.account === true ? accountsText(config, tenants, users) : usersText(config, tenants, users)).join('\n')}\n`,
    )
  return 0
}

/**
 * The files with keys in a folder and in the folders of tenants.
 *
 * @throws {UsageError} if the folder cannot be made or read
 */
function keyFiles(folder: string): readonly string[] {
  try {
    makeFolder(folder)
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.nk'))
  } catch (error) {
    throw new UsageError(
      `The keys cannot be kept in ${folder}: ${messageOf(error)}. Name another folder with --keys.`,
    )
  }
}

/** Says which keys are new: a person who mistyped the folder would give them to a server unseen. */
function madeKeys(folder: string, before: readonly string[]): string[] {
  const made = keyFiles(folder).filter((name) => !before.includes(name))
  return made.length === 0
    ? []
    : [`Beaver made ${counted(made.length, 'new key')} in ${folder}: ${made.toSorted().join(', ')}`]
}

/**
 * Checks that names and passwords differ: a server knows a user with a password only by name, and reads the
 * password from an environment variable.
 *
 * @throws {UsageError}
 */
function requireDistinct(users: readonly User[]): void {
  for (const said of ['user', 'password'] as const) {
    const place = said === 'user' ? 0 : 1
    const twice = [...Map.groupBy(users, ({ login }) => login[place])].find(([, of]) => of.length > 1)
    if (twice === undefined) continue
    const [one, other] = twice[1].map(({ role, tenant }) => `the ${role} of ${JSON.stringify(tenant)}`)
    throw new UsageError(
      `${one} and ${other} would have the same ${said} (${twice[0]}). Give them other names, or use --keys.`,
    )
  }
}

interface User extends Omit<Identity, 'publicKey'> {
  readonly tenant: string
  readonly publicKey: string | null
  /** The user's name without the tenant. */
  readonly called: string
  /** The lines of the server's configuration that define the user's login. */
  readonly login: readonly string[]
  /** The environment variables of the processes that log in as this user. */
  readonly environment: Readonly<Record<string, string>>
  readonly comment: string
}

const says: Readonly<Record<Identity['role'], string>> = {
  client: 'submits tasks, decides about calls, and reads',
  daemon: 'the daemon',
  projector: 'the projector',
  gateway: 'the HTTP interface; may ask on behalf of the users of its tokens',
  operator: 'a person who looks after the streams; may ask on behalf of users',
}

/**
 * The users of the configuration's tenant, with the denied requests in their permissions.
 *
 * @param isOneOfMany whether the server has several tenants. Then the name of a user with a password contains
 * the tenant, because the server knows the user only by name, and keys are in a folder for each tenant
 */
function usersOf(
  config: Config,
  { client = ['client'], keys, deny = [] }: NatsConfigOptions,
  isOneOfMany: boolean,
): User[] {
  const denials = deny.map((each) => denialOf(each, client))
  return allUsers(config, client, { keys, isOneOfMany }).map((user) => {
    const denied = denials.flatMap(({ name, request }) => {
      const subjects = subjectsOf(config.namespace, { tenant: config.tenant, caller: user.name })
      // A request for actors names the daemon in a further token.
      return user.role === 'client' && user.called === name
        ? [subjects.service(request), ...(request === 'actors' ? [`${subjects.service(request)}.*`] : [])]
        : []
    })
    return denied.length === 0
      ? user
      : {
          ...user,
          permissions: { ...user.permissions, denied: [...(user.permissions.denied ?? []), ...denied] },
        }
  })
}

/** @throws {UsageError} for an unknown client or an unknown request */
function denialOf(
  text: string,
  clients: readonly string[],
): { readonly name: string; readonly request: string } {
  const [name = '', request = ''] = text.split(/:(?=[^:]*$)/)
  if (!clients.includes(name))
    throw new UsageError(
      `--deny ${JSON.stringify(text)} names no client. Write it as <client>:<request>, for example ${clients[0]}:task.submit.`,
    )
  if (!Object.hasOwn(requestContracts, request))
    throw new UsageError(
      `There is no request ${JSON.stringify(request)}. These are the requests: ${Object.keys(requestContracts).join(', ')}.`,
    )
  return { name, request }
}

interface UsersWith {
  readonly keys: string | undefined
  readonly isOneOfMany: boolean
}

function allUsers(config: Config, client: readonly string[], { keys, isOneOfMany }: UsersWith): User[] {
  const { tenant } = config
  const ofTenant = isOneOfMany ? { BEAVER_TENANT: tenant } : {}
  const named: NamedRole[] = roles.flatMap((role): NamedRole[] =>
    role === 'client' ? client.map((name) => ({ role, name })) : [{ role, name: role }],
  )
  if (keys === undefined)
    return named.map(({ role, name: called }) => {
      const name = isOneOfMany ? `${tenant}-${called}` : called
      const variable = `BEAVER_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_PASSWORD`
      return {
        ...{
          tenant,
          role,
          name,
          called,
          publicKey: null,
          permissions: permissionsFor(config, { role, name }),
        },
        login: [`user: ${JSON.stringify(name)}`, `password: $${variable}`],
        environment: { ...ofTenant, NATS_USER: name, NATS_PASSWORD: `the value of ${variable}` },
        comment: says[role],
      }
    })
  const folder = isOneOfMany ? join(resolve(keys), encodeToken(tenant)) : resolve(keys)
  return identitiesWith(folder, named, config).map((identity) => ({
    ...identity,
    ...{ tenant, called: identity.name },
    login: [`nkey: ${JSON.stringify(identity.publicKey)}`],
    environment: { ...ofTenant, NATS_NKEY: identity.file, BEAVER_CALLER: identity.name },
    comment: says[identity.role],
  }))
}

const header = ({ namespace }: Config, tenants: readonly string[], users: readonly User[]): string[] => [
  `# Users of Beaver: namespace ${JSON.stringify(namespace)}, ${tenants.length === 1 ? 'tenant' : 'tenants'} ${tenants.map((tenant) => JSON.stringify(tenant)).join(', ')}. Written by "beaver nats-config".`,
  ...(users.some(({ publicKey }) => publicKey === null)
    ? ['# A password is read from the environment of the nats-server.']
    : []),
  '# The server must have JetStream, and should sync always:',
  '#   jetstream { store_dir: "…", sync_interval: always }',
  '# The server takes one such block. For several tenants, name all of them: beaver nats-config --tenant acme --tenant beta',
]

function userText({ role, name, comment, login, environment, permissions }: User, indent: string): string[] {
  const variables = Object.entries(environment).map(([variable, value]) => `${variable}=${value}`)
  return [
    `${indent}# ${role}${role === name ? '' : ` ${name}`}: ${comment}. Its environment: ${variables.join(' ')}`,
    ...userLines(login, permissions, indent),
  ]
}

function usersText(config: Config, tenants: readonly string[], users: readonly User[]): string[] {
  return [
    ...header(config, tenants, users),
    'authorization {',
    '  users: [',
    ...users.flatMap((user) => userText(user, '    ')),
    '  ]',
    '}',
  ]
}

/**
 * An account for each tenant. An account has its own streams and subjects, so no tenant can reach those of
 * another, whatever the permissions are.
 */
function accountsText(config: Config, tenants: readonly string[], users: readonly User[]): string[] {
  return [
    ...header(config, tenants, users),
    'accounts {',
    ...tenants.flatMap((tenant) => [
      `  BEAVER_${encodeToken(tenant).replaceAll('=', '_')} {`,
      '    jetstream: enabled',
      '    users: [',
      ...users.filter((user) => user.tenant === tenant).flatMap((user) => userText(user, '      ')),
      '    ]',
      '  }',
    ]),
    '}',
  ]
}
