// Writes one value to a key-value bucket of any NATS server.
import { Kvm } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/nats-core'

/** The earlier values that a new bucket keeps. NATS allows at most 64. */
const history = 64

/** Makes the bucket if it does not exist. Resolves when the value is stored. */
export async function putInBucket(
  nc: NatsConnection,
  { bucket, key, value }: { readonly bucket: string; readonly key: string; readonly value: string },
): Promise<void> {
  const buckets = new Kvm(nc)
  // A bucket that exists keeps the settings that its owner gave it.
  const store = await buckets.create(bucket, { history }).catch(() => buckets.open(bucket))
  await store.put(key, value)
}
