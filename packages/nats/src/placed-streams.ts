// The streams of Beaver as the servers of a cluster hold them, and how to change their place.
import { BeaverError } from '@beaver/core'
import {
  type ClusterInfo,
  type JetStreamManager,
  jetstreamManager,
  type PeerInfo,
  type StreamInfo,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { isRefusedWith, noStream } from './api-refusal.ts'
import { natsFault } from './nats-fault.ts'
import { type PlacedConfig, placeIn } from './stream-place.ts'
import type { Subjects } from './subjects.ts'

/** A server that follows the leader of a stream. */
export interface StreamFollower {
  readonly server: string
  /** Whether it has all, or nearly all, that the leader has. */
  readonly current: boolean
  /** Whether the leader has not heard it for some seconds. */
  readonly offline: boolean
  /** How many messages it is behind. */
  readonly lag: number
}

/** What a stream holds, in one word. */
type Held = 'journal' | 'wakes' | 'blobs' | 'memory' | 'budgets' | 'channels'

/** `num_replicas` is 0 while no server answers for the stream. */
export interface PlacedStream extends PlacedConfig {
  readonly name: string
  readonly what: Held
  /** The name of the cluster; `null` if the server is alone. */
  readonly cluster: string | null
  /** The server that answers for the stream; `null` if none does now. */
  readonly leader: string | null
  readonly followers: readonly StreamFollower[]
  /** Whether the servers still move it to its configured place. */
  readonly moving: boolean
  readonly messages: number
  readonly bytes: number
  /** Whether the login may not ask about the stream. Then nothing else is known. Default: it may. */
  readonly refused?: true
}

const answerMsMax = 3_000
/** A follower answers the leader every second. */
const awayNs = 4_000_000_000

const named = ({
  stream,
  wakeStream,
  blobBucket,
  memoryBucket,
  budgetBucket,
  channelStream,
}: Subjects): readonly { readonly name: string; readonly what: Held }[] => [
  { name: stream, what: 'journal' },
  { name: wakeStream, what: 'wakes' },
  { name: `OBJ_${blobBucket}`, what: 'blobs' },
  { name: `KV_${memoryBucket}`, what: 'memory' },
  { name: `KV_${budgetBucket}`, what: 'budgets' },
  { name: channelStream, what: 'channels' },
]

/**
 * The existing streams, the journal first.
 *
 * @param wanted default: all. A login of the role `client` may ask about the journal and the blobs only; of the others it learns
 * that it may not
 * @throws {BeaverError} `timeout`, `unreachable` if the journal has no leader now
 */
export async function placedStreams(
  nc: NatsConnection,
  subjects: Subjects,
  wanted?: readonly Held[],
): Promise<readonly PlacedStream[]> {
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: answerMsMax })
  const streams = named(subjects).filter(({ what }) => wanted?.includes(what) ?? true)
  const found = await Promise.all(streams.map(async (each) => placedNow(jsm, each)))
  return found.filter((each) => each !== null)
}

/** `null`: there is no such stream. A stream for which no server answers has no leader. */
async function placedNow(
  jsm: JetStreamManager,
  stream: { readonly name: string; readonly what: Held },
): Promise<PlacedStream | null> {
  try {
    return placed(stream, await jsm.streams.info(stream.name))
  } catch (error) {
    if (isRefusedWith(error, noStream)) return null
    const fault = natsFault(error)
    if (stream.what === 'journal') throw fault
    const unknown = { num_replicas: 0, cluster: 'not known', leader: null, followers: [], moving: false }
    const isRefused = fault instanceof BeaverError && fault.code === 'not_allowed'
    return { ...stream, ...unknown, messages: 0, bytes: 0, ...(isRefused ? { refused: true } : {}) }
  }
}

function placed(stream: { readonly name: string; readonly what: Held }, info: StreamInfo): PlacedStream {
  const { cluster, config } = info
  // A server that is alone names neither itself nor a cluster.
  const name = cluster?.name ?? ''
  return {
    ...stream,
    ...placeIn(config),
    cluster: name === '' ? null : name,
    leader: name === '' || (cluster?.leader ?? '') === '' ? null : (cluster?.leader ?? null),
    // The server sends this field, but the client's types lack it.
    moving: (cluster as { readonly desired?: unknown } | undefined)?.desired !== undefined,
    followers: followersOf(cluster),
    messages: info.state.messages,
    bytes: info.state.bytes,
  }
}

/** The followers of a stream as its leader hears them, by name. */
export function followersOf(cluster: ClusterInfo | undefined): readonly StreamFollower[] {
  // A server leaves out what is false or 0.
  const peers: readonly Partial<PeerInfo>[] = cluster?.replicas ?? []
  return peers
    .map(({ name: server = '', current = false, offline = false, active = 0, lag = 0 }) => {
      const isAway = offline || active > awayNs
      return { server, current: current && !isAway, offline: isAway, lag }
    })
    .toSorted((a, b) => (a.server < b.server ? -1 : 1))
}

/** How safely the servers hold a stream. */
export interface Standing {
  /** The number of servers that answer and have all messages. */
  readonly up: number
  /** The number of servers that must answer before anything is stored. */
  readonly needed: number
  /** Whether the stream continues if any one server is lost now. */
  readonly survives: boolean
}

export function standingOf({
  num_replicas: replicas,
  leader,
  followers,
  moving,
}: Pick<PlacedStream, 'num_replicas' | 'leader' | 'followers' | 'moving'>): Standing {
  const up = (leader === null ? 0 : 1) + followers.filter(({ current }) => current).length
  const needed = Math.floor(replicas / 2) + 1
  return { up, needed, survives: !moving && up - 1 >= needed }
}

/** Gives a stream another place. The servers copy messages afterwards. @throws what the server says */
export async function placeStream(
  nc: NatsConnection,
  name: string,
  { num_replicas, placement }: PlacedConfig,
): Promise<void> {
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 10_000 })
  await jsm.streams.update(name, { num_replicas, ...(placement === undefined ? {} : { placement }) })
}
