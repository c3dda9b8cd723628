// How many servers of a cluster hold the streams of Beaver, and which ones. All streams have the place of the
// journal, because work stops without any of them. Only `beaver nats apply` moves an existing stream. Servers
// that cannot fulfil an operator's wish are an error.
import type { JetStreamManager, Placement, StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { isRefusedWith, noStream, tooFewServers } from './api-refusal.ts'
import type { Subjects } from './subjects.ts'

export interface StreamPlace {
  /** How many servers hold each stream. Default: 3 in a cluster with three servers, otherwise 1. */
  readonly replicas?: number | undefined
  /** The cluster, and the tags that each of the servers has. Default: any servers. */
  readonly placement?:
    | { readonly cluster?: string | undefined; readonly tags?: readonly string[] | undefined }
    | undefined
}

/** As the configuration of a stream has it. */
export interface PlacedConfig {
  readonly num_replicas: number
  readonly placement?: Placement
}

type NewStream = Parameters<JetStreamManager['streams']['add']>[0]

const replicasInCluster = 3

/** How many replicas the servers of this connection can be expected to hold. */
export const replicasExpected = (nc: NatsConnection): number =>
  (nc.info?.cluster ?? '') === '' ? 1 : replicasInCluster

export async function addJournal(
  nc: NatsConnection,
  jsm: JetStreamManager,
  { replicas, placement }: StreamPlace,
  stream: NewStream,
): Promise<void> {
  const wanted = replicas ?? replicasExpected(nc)
  const at = placement === undefined ? {} : { placement: storedPlacement(placement) }
  const add = (num_replicas: number): Promise<StreamInfo> =>
    jsm.streams.add({ ...stream, ...at, num_replicas } as NewStream)
  try {
    await add(wanted)
  } catch (error) {
    if (replicas !== undefined || wanted === 1 || !isRefusedWith(error, ...tooFewServers)) throw error
    await add(1)
  }
}

/** The place of the journal, or of one server while there is no journal. */
export async function placeOfJournal(
  jsm: JetStreamManager,
  { stream }: Pick<Subjects, 'stream'>,
): Promise<PlacedConfig> {
  try {
    return placeIn((await jsm.streams.info(stream)).config)
  } catch (error) {
    if (isRefusedWith(error, noStream)) return { num_replicas: 1 }
    throw error
  }
}

/** The same, in the form that clients of buckets use. */
export async function placeOfBucket(
  jsm: JetStreamManager,
  subjects: Pick<Subjects, 'stream'>,
): Promise<{ replicas: number; placement?: Placement }> {
  const { num_replicas: replicas, ...at } = await placeOfJournal(jsm, subjects)
  return { replicas, ...at }
}

export const storedPlacement = ({
  cluster = '',
  tags = [],
}: NonNullable<StreamPlace['placement']>): Placement => ({ cluster, tags: [...tags] })

/** The place in the configuration of a stream. For any place, a server leaves the placement out or empty. */
export function placeIn({
  num_replicas,
  placement,
}: {
  readonly num_replicas: number
  readonly placement?: Partial<Placement> | undefined
}): PlacedConfig {
  const stored = storedPlacement({ cluster: placement?.cluster, tags: placement?.tags ?? undefined })
  return { num_replicas, ...(stored.cluster === '' && stored.tags.length === 0 ? {} : { placement: stored }) }
}
