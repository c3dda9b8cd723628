// Writes one value to a key-value bucket of any NATS server.
import { Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/nats-core'

/** The earlier values that a new bucket keeps. NATS allows at most 64. */
const history = 64

export async function putInBucket(
  nc: NatsConnection,
  { bucket, key, value }: { readonly bucket: string; readonly key: string; readonly value: string },
): Promise<void> {
  const buckets = new Kvm(nc)
  // An existing bucket keeps its owner's settings.
  const store = await buckets.create(bucket, { history }).catch(() => buckets.open(bucket))
  await store.put(key, value)
}
