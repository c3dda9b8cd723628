// The embedded nats-server: a child process that listens only on loopback and keeps its data under the data
// folder. It does not outlive its parent: a guard shell ends it when the parent's pipe closes.
import { openSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BeaverError, messageOf } from '@beaver/core'
import { natsServerAdvice } from '@beaver/platform/installation'
import { makeFolder } from '@beaver/platform/make-folder'
import { execFile, spawn } from '@beaver/platform/programs'
import { scheduleAsBatch } from '@beaver/platform/scheduling'
import { compareVersions, serverVersionMin } from './connect.ts'
import type { Identity } from './identities.ts'
import type { Permissions } from './permissions.ts'

export interface EmbeddedServer {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Resolves when the server has ended, for any reason. */
  readonly closed: Promise<{ code: number | null }>
  stop(): Promise<void>
}

const startMsMax = 15_000
const stopMsMax = 5_000

/**
 * The version of a nats-server binary.
 * @throws {BeaverError} `server_missing` if it cannot be run
 */
export async function natsServerVersion(binary: string): Promise<string> {
  try {
    const stdout = await new Promise<string>((resolve, reject) => {
      execFile(binary, ['--version'], { timeout: 10_000, encoding: 'utf8' }, (error, said) =>
        error === null ? resolve(said) : reject(error as Error),
      )
    })
    const version = /v?(\d+\.\d+\.\d+\S*)/.exec(stdout)?.[1]
    if (version !== undefined) return version
    throw new Error(`it says ${JSON.stringify(stdout.trim())}`)
  } catch (cause) {
    throw new BeaverError(
      'server_missing',
      `The nats-server ${binary} cannot be run (${messageOf(cause)}). ${natsServerAdvice()}`,
      { cause },
    )
  }
}

export interface EmbeddedServerOptions {
  readonly binary: string
  readonly dataDir: string
  /** Default: a free port. A restart may ask for the earlier port, so that clients can reconnect. */
  readonly port?: number
  /** Default: `always`, which syncs every write. */
  readonly sync?: 'always' | 'default'
  /** Who may log in, each with its own key. Default: everybody, without a login. */
  readonly identities?: readonly Pick<Identity, 'publicKey' | 'permissions'>[]
}

/** @throws {BeaverError} `server_missing`, `server_too_old`, `start_failed` */
export async function startEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const version = await natsServerVersion(options.binary)
  if (compareVersions(version, serverVersionMin) < 0) {
    throw new BeaverError(
      'server_too_old',
      `The nats-server ${options.binary} is version ${version}; Beaver needs ${serverVersionMin} or newer. ${natsServerAdvice()}`,
    )
  }
  const portsDir = join(options.dataDir, 'ports')
  await rm(portsDir, { recursive: true, force: true })
  makeFolder(portsDir)
  const configFile = join(options.dataDir, 'nats-server.conf')
  await writeFile(configFile, configText(options, portsDir), { mode: 0o600 })
  const logFile = join(options.dataDir, 'nats-server.log')

  const child = spawn('sh', ['-c', guard, 'sh', options.binary, '-c', configFile], {
    stdio: ['ignore', openSync(logFile, 'a', 0o600), openSync(logFile, 'a', 0o600), 'pipe'],
    detached: true,
  })
  const lifeline = child.stdio[3] as NodeJS.WritableStream & { destroy(): void }
  lifeline.on('error', () => {}) // The guard has ended, and `closed` reports it.
  let gone = false
  const closed = new Promise<{ code: number | null }>((resolve) => {
    const end = (code: number | null): void => {
      gone = true
      lifeline.destroy()
      resolve({ code })
    }
    child.once('exit', end)
    child.once('error', () => end(null))
  })
  const stop = async (): Promise<void> => {
    if (gone) return
    lifeline.destroy()
    const timer = setTimeout(() => killGroup(child.pid), stopMsMax)
    await closed
    clearTimeout(timer)
  }

  const deadline = Date.now() + startMsMax
  while (Date.now() < deadline && !gone) {
    const found = await readPorts(portsDir)
    if (found !== null) {
      await scheduleAsBatch(found.pid)
      return { ...found, closed, stop }
    }
    await sleep(5)
  }
  await stop()
  const last = lastErrorIn(await readFile(logFile, 'utf8').catch(() => ''))
  throw new BeaverError(
    'start_failed',
    `The embedded nats-server did not start${last === null ? '' : `: ${last}`}. Its log: ${logFile}`,
  )
}

/** The last error in the log of nats-server, or `null`. The log is plain text, with a mark for the level. */
export function lastErrorIn(log: string): string | null {
  const errors = log.split('\n').flatMap((line) => /\[(?:FTL|ERR)\] (.*)$/.exec(line)?.[1] ?? [])
  return errors.at(-1)?.trim() ?? null
}

/** Ends the server when its parent ends, which closes descriptor 3. Other users cannot read its files. */
const guard = `umask 077; "$@" 3<&- </dev/null & pid=$!
trap 'kill -TERM $pid 2>/dev/null' TERM INT HUP
{ cat <&3 >/dev/null 2>&1; kill -TERM $pid 2>/dev/null; } &
exec 3<&-
wait $pid; code=$?
while kill -0 $pid 2>/dev/null; do wait $pid; code=$?; done
exit $code`

function configText(options: EmbeddedServerOptions, portsDir: string): string {
  return [
    '# Written by Beaver at every start.',
    `listen: "127.0.0.1:${options.port ?? -1}"`,
    `ports_file_dir: ${JSON.stringify(portsDir)}`,
    'jetstream {',
    `  store_dir: ${JSON.stringify(join(options.dataDir, 'jetstream'))}`,
    ...(options.sync === 'default' ? [] : ['  sync_interval: always']),
    '}',
    ...usersText(options.identities),
    '',
  ].join('\n')
}

function usersText(identities: EmbeddedServerOptions['identities']): string[] {
  if (identities === undefined) return []
  return [
    'authorization {',
    '  users: [',
    ...identities.flatMap(({ publicKey, permissions }) =>
      userLines([`nkey: ${JSON.stringify(publicKey)}`], permissions),
    ),
    '  ]',
    '}',
  ]
}

async function readPorts(dir: string): Promise<{ url: string; port: number; pid: number } | null> {
  const name = (await readdir(dir).catch(() => [])).find((file) => file.endsWith('.ports'))
  const pid = Number(/_(\d+)\.ports$/.exec(name ?? '')?.[1])
  if (name === undefined) return null
  try {
    const { nats } = JSON.parse(await readFile(join(dir, name), 'utf8')) as { nats: string[] }
    const url = nats[0] as string
    return { url, port: Number(new URL(url).port), pid }
  } catch {
    return null // The file is only half written. The caller looks again.
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

/**
 * One user and its permissions, as lines of a NATS server's configuration.
 *
 * @param login the lines that say how the user logs in, such as `nkey: "U…"`
 * @param indent spaces before each line
 */
export function userLines(
  login: readonly string[],
  { publish, denied = [], subscribe, answers }: Permissions,
  indent = '    ',
): string[] {
  const list = (subjects: readonly string[]): string[] => [
    ...subjects.map(
      (subject, i) => `${indent}      ${JSON.stringify(subject)}${i < subjects.length - 1 ? ',' : ''}`,
    ),
  ]
  return [
    `${indent}{`,
    ...login.map((line) => `${indent}  ${line}`),
    `${indent}  permissions {`,
    `${indent}    publish { allow: [`,
    ...list(publish),
    ...(denied.length === 0
      ? [`${indent}    ] }`]
      : [`${indent}    ], deny: [`, ...list(denied), `${indent}    ] }`]),
    `${indent}    subscribe { allow: [`,
    ...list(subscribe),
    `${indent}    ] }`,
    // A task that somebody waits for may run for days, and its answer is the reply to the first request.
    ...(answers ? [`${indent}    allow_responses { max: 1, expires: "720h" }`] : []),
    `${indent}  }`,
    `${indent}}`,
  ]
}
