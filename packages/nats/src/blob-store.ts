// The BlobStore port on a JetStream object store: one object per SHA-256.
import { BeaverError, type BlobStore } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { Objm } from '@nats-io/obj'
import type { Subjects } from './subjects.ts'

const knownMax = 10_000

export async function natsBlobStore(nc: NatsConnection, subjects: Subjects): Promise<BlobStore> {
  const store = await new Objm(nc).create(subjects.blobBucket, { description: 'Beaver: payloads of the journal by their SHA-256' })
  const known = new Set<string>()
  return {
    async put(sha256, bytes) {
      if (known.has(sha256)) return
      const there = await store.info(sha256)
      if (there === null || there.deleted) await store.putBlob({ name: sha256 }, bytes)
      if (known.size >= knownMax) known.clear()
      known.add(sha256)
    },
    async get(sha256) {
      const bytes = await store.getBlob(sha256)
      if (bytes === null) throw new BeaverError('blob_missing', `The payload ${sha256} is not in the blob store ${subjects.blobBucket}.`)
      return bytes
    },
  }
}
