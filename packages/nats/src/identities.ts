// The identities at the embedded server: one nkey for each role, in a file that only the home's user can
// read. A key is made once. A file without a key is an error, because a running process may use the old key.
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BeaverError } from '@beaver/core'
import { makeFolder } from '@beaver/platform/make-folder'
import { osUser } from '@beaver/platform/os-user'
import type { NatsLogin } from '@beaver/platform/nats-login'
import { nkeys } from '@nats-io/nats-core'
import { inboxPrefix } from './inbox.ts'
import { type Permissions, permissionsOf, type Role, roles } from './permissions.ts'
import { encodeToken, subjectsOf } from './subjects.ts'

export interface Identity {
  readonly role: Role
  /** In whose name it sends requests. */
  readonly name: string
  readonly publicKey: string
  readonly permissions: Permissions
}

export type KeyedIdentity = Identity & { readonly file: string }
export type NamedRole = Pick<Identity, 'role' | 'name'>

/** The part of Beaver for which a server has users. */
export interface IdentitiesOf {
  readonly namespace: string
  readonly tenant: string
}

const keysOf = (dataDir: string): string => join(dataDir, 'keys')
const keyFile = (dataDir: string, role: Role): string => join(keysOf(dataDir), `${role}.nk`)

/**
 * The client and the operator act in the name of the machine's user, so that the journal names a person. The
 * other parts act in their role's name.
 */
function nameOf(role: Role): string {
  return role === 'client' || role === 'operator' ? osUser() : role
}

export function embeddedLogin(dataDir: string, role: Role): NatsLogin {
  return { nkeyFile: keyFile(dataDir, role), caller: nameOf(role) }
}

/**
 * The identities of all roles. Missing keys are made.
 *
 * @throws {BeaverError} `invalid_configuration` if a file holds no key
 */
export function embeddedIdentities(dataDir: string, of: IdentitiesOf): KeyedIdentity[] {
  makeFolder(keysOf(dataDir))
  return roles.map((role) => keyed({ role, name: nameOf(role) }, keyFile(dataDir, role), of))
}

/**
 * Identities whose keys are in this folder, each in a file of the identity's name. Missing keys are made.
 *
 * @throws {BeaverError} `invalid_configuration` if a file holds no key
 */
export function identitiesWith(
  folder: string,
  named: readonly NamedRole[],
  scope: IdentitiesOf,
): KeyedIdentity[] {
  makeFolder(folder)
  return named.map((each) => keyed(each, join(folder, `${encodeToken(each.name)}.nk`), scope))
}

export function permissionsFor({ namespace, tenant }: IdentitiesOf, { role, name }: NamedRole): Permissions {
  return permissionsOf(role, subjectsOf(namespace, { tenant, caller: name }), inboxPrefix(name))
}

function keyed(named: NamedRole, file: string, scope: IdentitiesOf): KeyedIdentity {
  return { ...named, file, publicKey: publicKeyIn(file), permissions: permissionsFor(scope, named) }
}

function publicKeyIn(file: string): string {
  if (!existsSync(file)) {
    // The file appears as a whole, so that a process that dies here leaves no partial key.
    const half = `${file}.new`
    writeFileSync(half, nkeys.createUser().getSeed(), { mode: 0o600 })
    renameSync(half, file)
  }
  chmodSync(file, 0o600)
  try {
    return nkeys.fromSeed(Buffer.from(readFileSync(file, 'utf8').trim())).getPublicKey()
  } catch (cause) {
    throw new BeaverError(
      'invalid_configuration',
      `The file ${file} holds no NATS key. Remove it and start Beaver again, which makes a new one.`,
      { cause },
    )
  }
}
