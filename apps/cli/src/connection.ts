// The connection of one command to a running system. Closing it takes at most `closeMsMax`, whatever the
// server does.
import { type BeaverClient, clientOn, type DaemonStatus } from '@beaver/client'
import { callerName, connectNats, type Subjects, subjectsOf } from '@beaver/nats'
import { homeKeys } from '@beaver/platform'
import type { FoundSystem } from './system/find-system.ts'

export type NatsConnection = Awaited<ReturnType<typeof connectNats>>

/** An open connection. The caller must dispose it. */
export interface Connection extends AsyncDisposable {
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly tenant: string
  readonly client: BeaverClient
  /**
   * The status of the daemon that answers first. `timeoutMs` is 3,000 by default. With `asked`, the daemon
   * first asks its endpoints.
   *
   * @throws {BeaverError} `no_daemon`, `timeout`
   */
  daemonStatus(timeoutMs?: number, endpoints?: 'known' | 'asked'): Promise<DaemonStatus>
}

const connectMsMax = 3_000
/** How long the command tries to connect, in milliseconds. On a busy machine, it may need several tries. */
const connectPatienceMs = 6_000
/**
 * The time between two pings, in milliseconds. A server that does not answer is noticed within three of them.
 */
const pingMs = 2_000
const closeMsMax = 1_000
const statusMsMax = 3_000
/** How long to wait for a daemon in a home with `beaver up`, which restarts a part that died. */
const restartMsMax = 10_000
/**
 * How long to wait for a daemon at any other server. It may have no daemon at all, and a person should learn
 * this soon.
 */
const awayMsMax = 2_000

/**
 * Connects to the system.
 *
 * @param options `timeoutMs`: how long one try to connect may take. Default: 3,000. `daemonMs`: how long a
 * request waits for a daemon, the projector and NATS. Default: 10,000 if the system was found by its home,
 * otherwise 2,000
 * @throws {BeaverError} `unreachable`, `server_too_old`
 */
export async function connect(
  system: FoundSystem,
  { timeoutMs = connectMsMax, daemonMs }: { timeoutMs?: number; daemonMs?: number } = {},
): Promise<Connection> {
  const nc = await connectNats({
    url: system.url,
    login: system.login,
    name: 'beaver-cli',
    timeoutMs,
    patienceMs: connectPatienceMs,
    pingMs,
  })
  const subjects = subjectsOf(system.namespace, {
    tenant: system.tenant,
    caller: callerName(system.url, system.login),
  })
  const operator = (): string | null =>
    system.keysFolder === null ? null : homeKeys(system.keysFolder).pinned(subjects.stream)
  const client = clientOn(nc, subjects, {
    operator,
    daemonMs: daemonMs ?? (system.pid === null ? awayMsMax : restartMsMax),
  })
  return {
    nc,
    subjects,
    tenant: system.tenant,
    client,
    daemonStatus: (timeoutMs = statusMsMax, endpoints) =>
      client.status({ timeoutMs, ...(endpoints === undefined ? {} : { endpoints }) }),
    async [Symbol.asyncDispose]() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, closeMsMax).unref())
      await Promise.race([nc.drain().catch(() => {}), late])
      await nc.close().catch(() => {})
    },
  }
}
