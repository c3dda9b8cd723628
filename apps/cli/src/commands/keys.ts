// `beaver keys`: shows and changes which signatures count in the journal. `list` shows every key. `trust` and
// `revoke` need the operator's key, which is in the home of the daemon that started first.
import { BeaverError } from '@beaver/core'
import {
  checkOperator,
  keyStatus,
  type KeyPorts,
  type KeyRing,
  type KnownKey,
  readKeyRing,
  revokeKey,
  trustKey,
} from '@beaver/core/journal'
import { natsSystemLog } from '@beaver/nats'
import { homeKeys, machineName } from '@beaver/platform'
import { commandName } from '../command-name.ts'
import { type Connection, connect } from '../connection.ts'
import { type Context, contextOf, type GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { findSystem } from '../system/find-system.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'

export interface KeysOptions {
  readonly json?: true
  readonly reason?: string
}

export async function listKeys({ json }: KeysOptions, globals: GlobalOptions): Promise<number> {
  const context = contextOf(globals)
  const { screen } = context
  const ring = await withKeys(context, async (ports) => {
    const read = await readKeyRing(ports)
    if (read.operator !== null) checkOperator(read, ports)
    return read
  })
  if (json === true) screen.json({ keys: ring.keys.map((key) => answerOf(key, ring)) })
  else screen.print(...keyLines(ring, screen))
  return 0
}

export async function changeKey(
  verb: 'trust' | 'revoke',
  id: string | undefined,
  { json, reason }: KeysOptions,
  globals: GlobalOptions,
): Promise<number> {
  const context = contextOf(globals)
  const { screen } = context
  if (id === undefined)
    throw new BeaverError(
      'invalid_arguments',
      `Name the key: beaver keys ${verb} <key id>. "beaver keys list" lists the keys.`,
    )
  const ring = await withKeys(context, (ports) =>
    verb === 'trust' ? trustKey(id, ports) : revokeKey(id, reason ?? 'The operator gave no reason.', ports),
  )
  const key = ring.keys.find((each) => each.id.startsWith(id)) as KnownKey
  if (json === true) screen.json(answerOf(key, ring))
  else
    screen.print(
      `${screen.symbols.done} ${key.role} key ${key.id} of ${oneLine(key.name)}: ${keyStatus(key)}`,
    )
  return 0
}

async function withKeys<T>({ config }: Context, act: (ports: KeyPorts) => Promise<T>): Promise<T> {
  await using connection = await connect(findSystem(config, 'operator'))
  return await act(await keyPortsOf(connection, config))
}

/** The keys of the home, and the journal's system log of keys. */
export async function keyPortsOf(
  { nc, subjects }: Connection,
  { keysFolder, nats }: Context['config'],
): Promise<KeyPorts> {
  const log = await natsSystemLog(nc, subjects, nats)
  return {
    log,
    keys: homeKeys(keysFolder),
    namespace: subjects.stream,
    now: () => Date.now(),
    name: machineName(),
  }
}

const answerOf = (key: KnownKey, { operator }: KeyRing): object => ({
  key_id: key.id,
  role: key.role,
  status: keyStatus(key),
  name: key.name,
  key_epoch: key.epoch,
  public_key: key.publicKey,
  first_operator: key.id === operator,
  announced_at: key.announcedAt,
  trusted_at: key.trustedAt,
  trusted_from: key.trustedFrom,
  revoked_at: key.revokedAt,
  revoked_from: key.revokedFrom,
  reason: key.reason,
})

function keyLines(
  { keys, ignored }: KeyRing,
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
): string[] {
  if (keys.length === 0) return ['The journal has no keys yet. The first daemon makes them.']
  return [
    ...table<KnownKey>(
      [
        { title: 'KEY', cell: ({ id }) => id, paint: style.cyan },
        { title: 'ROLE', cell: ({ role }) => role },
        { title: 'STATE', cell: keyStatus },
        { title: 'EPOCH', cell: ({ epoch }) => (epoch === null ? '' : String(epoch)), optional: 2 },
        {
          title: 'FROM',
          cell: ({ trustedFrom, revokedFrom }) => String(revokedFrom ?? trustedFrom ?? ''),
          optional: 1,
        },
        {
          title: 'SINCE',
          cell: (key) => (key.revokedAt ?? key.trustedAt ?? key.announcedAt ?? '').slice(0, 10),
          optional: 3,
        },
        {
          title: 'NAME',
          cell: ({ name, reason }) => oneLine(reason === null ? name : `${name}: ${reason}`, 200),
          flexible: true,
        },
      ],
      keys,
      { width: columns === Infinity ? 160 : columns, title: style.dim },
    ),
    ...keys
      .filter((key) => keyStatus(key) === 'asks')
      .flatMap(({ id }) => ['', 'A key asks to be trusted:', `  ${commandName()} keys trust ${id}`]),
    ...(ignored.length === 0
      ? []
      : ['', style.red(`Somebody wrote ${ignored.length} events that do not count into the log of keys:`)]),
    ...ignored.slice(0, 20).map(({ revision, message }) => `  message ${revision}: ${oneLine(message)}`),
  ]
}
