// The connection of one command to a running system. Closing ends within `closeMsMax`, whatever the server
// does.
import { type BeaverClient, clientOn, type DaemonStatus } from '@beaver/client'
import { callerName, connectNats, type Subjects, subjectsOf } from '@beaver/nats'
import { homeKeys } from '@beaver/platform'
import type { FoundSystem } from './system/find-system.ts'

export type NatsConnection = Awaited<ReturnType<typeof connectNats>>

export interface Connection extends AsyncDisposable {
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly tenant: string
  readonly client: BeaverClient
  /**
   * The status of the daemon that answers first.
   *
   * @throws {BeaverError} `no_daemon`, `timeout`
   */
  daemonStatus(timeoutMs?: number, endpoints?: 'known' | 'asked'): Promise<DaemonStatus>
}

const connectMsMax = 3_000
/** On a busy machine, a connection may need more than one try. */
const connectPatienceMs = 6_000
/** A server that does not answer is noticed within three of these. */
const pingMs = 2_000
const closeMsMax = 1_000
const statusMsMax = 3_000
/** If `beaver up` runs, it is starting again what died. */
const restartMsMax = 10_000
/** On another system there may be no daemon at all, and a person should learn this soon. */
const awayMsMax = 2_000

/**
 * @param options `daemonMs`: how long a daemon, the projector and NATS may be away before a command says so
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
