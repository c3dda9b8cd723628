// `beaver backup` and `beaver restore`: copy everything that a system cannot make again, whether it runs or
// not, and make a system from such a copy.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BeaverError, shellWord } from '@beaver/core'
import { placedStreams } from '@beaver/nats'
import { type Config, lockHome, readSystemFile, requireOwnHome } from '@beaver/platform'
import { type Connection, connect } from '../connection.ts'
import { commandName } from '../command-name.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import type { Manifest } from '../system/backup-manifest.ts'
import { findSystem } from '../system/find-system.ts'
import { makeBackup } from '../system/make-backup.ts'
import { restoreBackup, withOwnServer } from '../system/restore-backup.ts'
import { bytes, count, counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { progressOn } from '../view/progress.ts'

export interface BackupOptions {
  readonly json?: true
}

export async function backup(to: string, { json }: BackupOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  const folder = resolve(to)
  const progress = progressOn(screen, json !== true)
  const make = (connection: Connection): Promise<Manifest> =>
    makeBackup({
      connection,
      home: config.home,
      folder,
      version: ownVersion(),
      onProgress: (doing) => progress.say(doing),
    })
  let manifest: Manifest
  try {
    manifest = await withStreams(config, make)
  } finally {
    progress.end()
  }
  const leftOut = streamsBeside(config, manifest)
  const keysOutside = config.keysFolder.startsWith(join(config.home, '/')) ? null : config.keysFolder
  if (json === true)
    screen.json({ folder, ...figuresOf(manifest), left_out: leftOut, keys_outside: keysOutside })
  else
    screen.print(
      `${screen.symbols.done} Backup in ${folder}`,
      ...streamLines(manifest),
      `Each of ${counted(manifest.files.length, 'file')} (${bytes(sizeOf(manifest))}) was read again, and has the SHA-256 that manifest.json names.`,
      'The backup holds private keys and tokens: a person who can read it can act in the name of this system.',
      ...(keysOutside === null ? [] : [`The keys in ${keysOutside} (BEAVER_KEYS) are not in the backup.`]),
      ...leftOut.map(
        (name) => `The stream ${oneLine(name)} is not in the backup: it is of another namespace or tenant.`,
      ),
    )
  return 0
}

export async function restore(
  from: string,
  { json }: BackupOptions,
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals)
  const progress = progressOn(screen, json !== true)
  const { manifest, marks, findings } = await restoreBackup(config, resolve(from), (doing) =>
    progress.say(doing),
  ).finally(() => progress.end())
  if (json === true) screen.json({ home: config.home, ...figuresOf(manifest), marks, findings })
  else
    screen.print(
      `${screen.symbols.done} Restored to ${config.home}, as it was on ${manifest.made_at}`,
      ...streamLines(manifest),
      `Each file of the backup had its SHA-256, and each stream was restored up to the message that the backup names${marks === 0 ? '' : `. The journal fits ${counted(marks, 'mark')}`}.`,
      ...findings.map((text) => screen.style.red(`The daemons will write nothing: ${oneLine(text)}`)),
      ...(await replicaAdvice(config)),
      'Stop the system from which the backup is before you start this one. Then:',
      `  ${commandName()} up --home ${shellWord(config.home)}`,
      `  ${commandName()} audit verify --home ${shellWord(config.home)}`,
    )
  return findings.length === 0 ? 0 : 1
}

/**
 * Advice for a cluster: a restored stream has as many replicas as it had in the backup, which may be only
 * one.
 */
async function replicaAdvice(config: Config): Promise<string[]> {
  if (config.nats_url === undefined) return []
  await using connection = await connect(findSystem(config, 'operator'))
  const streams = await placedStreams(connection.nc, connection.subjects)
  return streams.some(({ cluster, num_replicas: replicas }) => cluster !== null && replicas === 1)
    ? [
        'One server of the cluster holds the streams, as it was in the backup. For three replicas: beaver nats apply',
      ]
    : []
}

/**
 * Connects to the streams of the running system, of the configured server, or of this home's server, which is
 * started for the time of `act`.
 */
async function withStreams<T>(config: Config, act: (connection: Connection) => Promise<T>): Promise<T> {
  if (config.nats_url !== undefined || readSystemFile(config.home) !== null) {
    await using connection = await connect(findSystem(config, 'operator'))
    return await act(connection)
  }
  requireOwnHome(config)
  if (!existsSync(join(config.home, 'nats', 'jetstream')))
    throw new BeaverError(
      'not_found',
      `There is nothing to back up in ${config.home}: it has no journal. Name the home with --home, or the server with NATS_URL.`,
    )
  const unlock = lockHome(config.home)
  try {
    return await withOwnServer(config, config.home, act)
  } finally {
    unlock()
  }
}

const sizeOf = ({ files }: Manifest): number => files.reduce((sum, { bytes: size }) => sum + size, 0)

const figuresOf = (manifest: Manifest): object => ({
  made_at: manifest.made_at,
  namespace: manifest.namespace,
  tenant: manifest.tenant,
  streams: manifest.streams.map(({ config, created, state }) => ({
    name: config.name,
    created,
    messages: state.messages,
    last_sequence: state.last_seq,
  })),
  files: manifest.files.length,
  bytes: sizeOf(manifest),
})

const streamLines = ({ streams }: Manifest): string[] =>
  streams.map(
    ({ config, state }) =>
      `  ${config.name}  ${state.messages === 0 ? 'empty' : `${counted(state.messages, 'message')}, up to message ${count(state.last_seq)}`}`,
  )

/** The streams of the embedded server that are not in the backup. */
function streamsBeside({ home, nats_url: url }: Config, { streams }: Manifest): string[] {
  const folder = join(home, 'nats', 'jetstream', '$G', 'streams')
  if (url !== undefined || !existsSync(folder)) return []
  return readdirSync(folder).filter(
    (name) => /^(KV_|OBJ_)?BEAVER_/.test(name) && !streams.some(({ config }) => config.name === name),
  )
}

const ownVersion = (): string =>
  (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string })
    .version
