// Leaves a server of a cluster that is frozen or cut off, for one at which the journal answers. A ping does
// not show that a server is cut off. During an election of a leader, no server is better.
import { steadyClock } from '@beaver/core'
import type { ClusterInfo, StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { followersOf } from './placed-streams.ts'

/** A process looks for another server when the journal has not answered for this time. */
export const elsewhereMs = 3_000
const answerMsMax = 1_000
const lookEveryMs = 1_000

/** How a connection reaches the servers of its URL. */
export interface Ways {
  /** `host:port` of each server. */
  readonly servers: readonly string[]
  /** Makes a connection of its own to one of them. */
  connectTo(server: string): Promise<NatsConnection>
  /** Where the next connection goes. */
  prefer(server: string): void
}

const ways = new WeakMap<NatsConnection, Ways>()
/** When a connection looked last; `Infinity` while it looks. */
const lookedAtMs = new WeakMap<NatsConnection, number>()

export const knowWays = (nc: NatsConnection, its: Ways): void => void ways.set(nc, its)

/**
 * Goes to another server at which the journal answers, and cuts what is under way on the connection.
 *
 * @returns whether it went
 */
export async function leaveServer(nc: NatsConnection, stream: string): Promise<boolean> {
  const its = ways.get(nc)
  if (its === undefined || steadyClock.now() - (lookedAtMs.get(nc) ?? -Infinity) < lookEveryMs) return false
  lookedAtMs.set(nc, Infinity)
  try {
    const others = its.servers.filter((server) => server !== nc.getServer())
    its.prefer(
      await Promise.any(others.map(async (server) => (await requireAnswer(its, server, stream), server))),
    )
    await nc.reconnect()
    return true
  } catch {
    return false // No other server is better, or this connection was closed meanwhile.
  } finally {
    lookedAtMs.set(nc, steadyClock.now())
  }
}

async function requireAnswer(its: Ways, server: string, stream: string): Promise<void> {
  const nc = await its.connectTo(server)
  try {
    const answer = (await nc.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeout: answerMsMax })).json<
      { error?: unknown } & Partial<StreamInfo>
    >()
    if (answer.error !== undefined || !hearsMost(answer.cluster))
      throw new Error('the journal does not answer there')
  } finally {
    await nc.close()
  }
}

/**
 * Whether the leader of a stream hears enough followers to store. Without them it still answers questions.
 */
export function hearsMost(cluster: ClusterInfo | undefined): boolean {
  const followers = followersOf(cluster)
  return 2 * (followers.filter(({ offline }) => !offline).length + 1) > followers.length + 1
}
