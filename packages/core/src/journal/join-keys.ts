// Joins a process to the keys of a journal, so that its signatures count; also an operator's commands to
// trust and revoke. The first daemon of a journal without an operator makes the operator's key in its own
// home. A home pins the first operator that it sees in a namespace; later it refuses any other one, and a
// journal that lost its operator. Only a home with the operator's key trusts its own keys; all others ask and
// wait.
import { BeaverError } from '../errors.ts'
import type { KeyRole, SystemEvent, SystemLogName } from '../events/system-catalog.ts'
import type { KeyStore } from '../ports/key-store.ts'
import { KeyRing, keyStatus } from './key-ring.ts'
import { leafContent, type SigningKey, signTree } from './signature.ts'
import type { SystemLog } from './system-log.ts'
import {
  appendSystemEvent,
  type ReadSystemLog,
  readSystemEntries,
  type SystemWriter,
} from './system-record.ts'

/** What joining needs. */
export interface KeyPorts {
  readonly log: SystemLog
  readonly keys: KeyStore
  /** The name of the journal's stream. Each tenant of a namespace has a stream of its own. */
  readonly namespace: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** A name of this machine, for people who read the list of keys. */
  readonly name: string
}

/**
 * Reads the keys of a journal.
 *
 * @example
 * await joinJournal('daemon', keyPorts)
 * const { operator } = await readKeyRing(keyPorts)
 * operator === keyPorts.keys.operator()?.id // => true
 */
export async function readKeyRing({
  log,
  namespace,
}: {
  readonly log: Pick<SystemLog, 'read'>
  readonly namespace: string
}): Promise<KeyRing> {
  return new KeyRing(namespace, readSystemEntries('keys', await log.read('keys')))
}

/**
 * Checks that the operator of a journal is the one that this home knows, and pins the first one.
 *
 * @throws {BeaverError} `operator_changed`
 * @example
 * const { ring } = await joinJournal('daemon', keyPorts)
 * checkOperator(ring, keyPorts)
 * keyPorts.keys.pinned('default') === ring.operator // => true
 */
export function checkOperator(
  ring: KeyRing,
  { keys, namespace }: Pick<KeyPorts, 'keys' | 'namespace'>,
): void {
  const pinned = keys.pinned(namespace)
  if (pinned === ring.operator) return
  if (pinned === null) return keys.pin(namespace, ring.operator as string)
  const now = ring.operator === null ? 'It has no operator now' : `Its operator is ${ring.operator} now`
  throw new BeaverError(
    'operator_changed',
    `The journal ${namespace} is not the one that this home knows. ${now}, and it was ${pinned}. Somebody may have replaced the journal or its ` +
      `keys. If you replaced it yourself, remove ${keys.place}/operators/${namespace} and start again.`,
  )
}

const triesMax = 20

/**
 * Makes the signatures of this home's key of a role count, and returns the key.
 *
 * @throws {BeaverError} `key_untrusted`, `operator_changed`, `unreachable`
 * @example
 * const { ring, key } = await joinJournal('daemon', keyPorts)
 * ring.find(key.id)?.role // => 'daemon'
 */
export async function joinJournal(
  role: 'daemon' | 'projector',
  ports: KeyPorts,
): Promise<{ readonly ring: KeyRing; readonly key: SigningKey }> {
  const { keys, namespace } = ports
  for (let tries = 0; tries < triesMax; tries++) {
    let ring = await readKeyRing(ports)
    if (ring.operator === null && role === 'daemon' && mayFound(ports)) ring = await found(ports)
    checkOperator(ring, ports)
    const key = keys.own(role)
    const known = ring.find(key.id)
    const status = known === null ? 'unknown' : keyStatus(known)
    if (status === 'trusted') return { ring, key }
    if (status === 'revoked') {
      keys.putAside(role, key.id)
      continue
    }
    const operator = keys.operator()
    const mayTrust = operator !== null && ring.mayOperate(operator.id)
    if (mayTrust)
      await trust(ports, operator, { id: key.id, publicKey: key.publicKey, role, name: ports.name })
    else if (status === 'unknown') await announce(ports, key, role)
    if (!mayTrust) throw untrusted(key, role, ports)
  }
  throw new BeaverError('unreachable', `The keys of the journal ${namespace} change too fast.`)
}

/** A home may make a journal's first operator if it never saw another one. */
function mayFound({ keys, namespace }: KeyPorts): boolean {
  const pinned = keys.pinned(namespace)
  return pinned === null || pinned === keys.operator()?.id
}

const untrusted = ({ id }: SigningKey, role: KeyRole, { namespace }: KeyPorts): BeaverError =>
  new BeaverError(
    'key_untrusted',
    `The operator of the journal ${namespace} does not trust the key ${id} of this ${role} yet. Ask the operator to run this, and start again:\n` +
      `  beaver keys trust ${id}`,
  )

/** Announces the operator of a journal that has none. Of several homes that try at once, one wins. */
async function found(ports: KeyPorts): Promise<KeyRing> {
  const operator = ports.keys.makeOperator()
  const first = ({ events }: ReadSystemLog): SystemEvent | null =>
    new KeyRing(ports.namespace, { events, faults: [] }).operator === null
      ? announcement(operator, 'operator', ports)
      : null
  return ringOf(ports, await appendSystemEvent(ports.log, 'keys', first, writerOf(operator, ports)))
}

async function announce(ports: KeyPorts, key: SigningKey, role: KeyRole): Promise<void> {
  const decide = (read: ReadSystemLog): SystemEvent | null =>
    ringOf(ports, read).find(key.id) === null ? announcement(key, role, ports) : null
  await appendSystemEvent(ports.log, 'keys', decide, writerOf(key, ports))
}

const announcement = ({ id, publicKey }: SigningKey, role: KeyRole, { name }: KeyPorts): SystemEvent => ({
  type: 'key_announced',
  data: { key_id: id, public_key: publicKey, role, name },
})

type Subject = {
  readonly id: string
  readonly publicKey: string
  readonly role: KeyRole
  readonly name: string
}

async function trust(
  ports: KeyPorts,
  operator: SigningKey,
  { id, publicKey, role, name }: Subject,
): Promise<KeyRing> {
  const decide = (read: ReadSystemLog): SystemEvent | null => {
    const ring = ringOf(ports, read)
    const known = ring.find(id)
    if (known !== null && keyStatus(known) !== 'asks') return null
    return {
      type: 'key_trusted',
      data: { key_id: id, public_key: publicKey, role, name, key_epoch: ring.nextEpoch },
    }
  }
  return ringOf(ports, await appendSystemEvent(ports.log, 'keys', decide, writerOf(operator, ports)))
}

const ringOf = ({ namespace }: Pick<KeyPorts, 'namespace'>, read: ReadSystemLog): KeyRing =>
  new KeyRing(namespace, read)

/** Signs the events of the log `keys`. */
function writerOf(key: SigningKey, { namespace, now }: KeyPorts): SystemWriter {
  const sign: SystemWriter['sign'] = ({ hash }) =>
    signTree(key, namespace, [leafContent('keys', hash)])[0] as string
  return { source: `/beaver/keys/${key.id}`, now, sign }
}

/**
 * The operator's key of this home, for the commands of an operator.
 *
 * @throws {BeaverError} `key_untrusted` if this home is not the operator's; `operator_changed`
 */
function operatorKey(ring: KeyRing, ports: KeyPorts): SigningKey {
  checkOperator(ring, ports)
  const key = ports.keys.operator()
  if (key !== null && ring.mayOperate(key.id)) return key
  throw new BeaverError(
    'key_untrusted',
    `Only the operator of the journal ${ports.namespace} may do this, and ${ports.keys.place} does not have the operator's key ${ring.operator}. Use the home ` +
      `of the daemon that started first, or name the folder with its keys: BEAVER_KEYS=…`,
  )
}

/**
 * Signs entries of the system log `redactions` as the operator. In a journal without an operator, nothing is
 * signed.
 *
 * @throws {BeaverError} `key_untrusted` if this home is not the operator's; `operator_changed`
 * @example
 * await joinJournal('daemon', keyPorts)
 * const { sign } = await operatorSigner(keyPorts)
 * const hash = 'f'.repeat(64)
 * const signature = sign?.({ name: 'redactions', hash, before: emptySystemLog })
 * const ring = await readKeyRing(keyPorts)
 * ring.faultOf('redactions', { lastHash: hash, signature, revision: 9 }) // => null
 */
export async function operatorSigner(ports: KeyPorts): Promise<Pick<SystemWriter, 'sign'>> {
  const ring = await readKeyRing(ports)
  return ring.operator === null ? {} : { sign: systemSign(operatorKey(ring, ports), ring) }
}

/**
 * Signs entries of all system logs but `keys`.
 *
 * @example
 * const { ring, key } = await joinJournal('projector', keyPorts)
 * const hash = 'f'.repeat(64)
 * const signature = systemSign(key, ring)({ name: 'checkpoints', hash })
 * ring.faultOf('checkpoints', { lastHash: hash, signature, revision: 9 }) // => null
 */
export const systemSign =
  (key: SigningKey, { journal }: Pick<KeyRing, 'journal'>) =>
  ({ name, hash }: { readonly name: SystemLogName; readonly hash: string }): string =>
    signTree(key, journal, [leafContent(name, hash)])[0] as string

/**
 * Trusts a key that asks for it.
 *
 * @throws {BeaverError} `not_found`, `conflict`, `key_untrusted`, `operator_changed`
 * @example
 * await joinJournal('daemon', keyPorts)
 * await trustKey('no-such-key', keyPorts) // throws not_found
 */
export async function trustKey(id: string, ports: KeyPorts): Promise<KeyRing> {
  const ring = await readKeyRing(ports)
  const operator = operatorKey(ring, ports)
  const known = knownKey(ring, id, ports)
  if (keyStatus(known) === 'revoked')
    throw new BeaverError(
      'conflict',
      `The key ${known.id} was revoked. It cannot be trusted again; make a new key.`,
    )
  return trust(ports, operator, known)
}

/**
 * Revokes a key. What it signed before stays valid.
 *
 * @throws {BeaverError} `not_found`, `conflict`, `key_untrusted`, `operator_changed`
 * @example
 * await joinJournal('daemon', keyPorts)
 * const { key } = await joinJournal('projector', keyPorts)
 * const ring = await revokeKey(key.id, 'Its machine was sold.', keyPorts)
 * ring.find(key.id)?.reason // => 'Its machine was sold.'
 */
export async function revokeKey(id: string, reason: string, ports: KeyPorts): Promise<KeyRing> {
  const ring = await readKeyRing(ports)
  const operator = operatorKey(ring, ports)
  const known = knownKey(ring, id, ports)
  const decide = (read: ReadSystemLog): SystemEvent | null => {
    const now = ringOf(ports, read)
    if (now.find(known.id)?.revokedFrom !== null) return null
    const operators = now.keys.filter(
      ({ role, trustedFrom, revokedFrom }) =>
        role === 'operator' && trustedFrom !== null && revokedFrom === null,
    )
    if (operators.length === 1 && operators[0]?.id === known.id)
      throw new BeaverError(
        'conflict',
        `The key ${known.id} is the only operator's key. Without it nobody could trust or revoke keys any more.`,
      )
    return { type: 'key_revoked', data: { key_id: known.id, reason } }
  }
  return ringOf(ports, await appendSystemEvent(ports.log, 'keys', decide, writerOf(operator, ports)))
}

/** A key by its id or by the beginning of its id. */
function knownKey(
  ring: KeyRing,
  id: string,
  { namespace }: KeyPorts,
): Subject & Parameters<typeof keyStatus>[0] {
  const [found, ...others] = id === '' ? [] : ring.keys.filter((key) => key.id.startsWith(id))
  if (found !== undefined && others.length === 0) return found
  const why =
    found === undefined
      ? `There is no key ${id} in the journal ${namespace}.`
      : `Several keys of the journal ${namespace} begin with ${id}.`
  throw new BeaverError('not_found', `${why} "beaver keys list" lists them.`)
}
