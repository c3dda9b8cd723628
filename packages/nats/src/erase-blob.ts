// Erases a blob that was redacted, which only an operator may do. The object's entry stays and says that it
// was redacted, so the same content is never stored under this name again.
import { BeaverError } from '@beaver/core'
import { jetstreamManager } from '@nats-io/jetstream'
import { headers, type NatsConnection } from '@nats-io/nats-core'
import { entryOf, entrySubject, redactedMark, store } from './blob-store.ts'
import { readPage } from './direct-read.ts'
import type { Subjects } from './subjects.ts'

const chunksMax = 64
const eraseMsMax = 60_000

/**
 * Overwrites the bytes of each chunk. Call it again to complete an erasure that was interrupted.
 * @throws {BeaverError} `blob_missing` if there is no such blob; `unreachable` if a chunk cannot be erased
 */
export async function eraseBlob(
  nc: NatsConnection,
  { blobBucket: bucket }: Subjects,
  sha256: string,
): Promise<{ readonly chunks: number }> {
  const stream = `OBJ_${bucket}`
  const jsm = await jetstreamManager(nc, { timeout: 10_000 })
  const entry = await entryOf(jsm, { bucket, sha256 })
  if (entry === null)
    throw new BeaverError('blob_missing', `The blob ${sha256} is not in the blob store ${bucket}.`)
  const replaces = headers()
  replaces.set('Nats-Rollup', 'sub')
  const tombstone = { ...entry, size: 0, chunks: 0, digest: '', deleted: true, metadata: redactedMark }
  await store(nc, entrySubject({ bucket, sha256 }), Buffer.from(JSON.stringify(tombstone)), replaces)
  const signal = AbortSignal.timeout(eraseMsMax)
  let chunks = 0
  for (;;) {
    const page = await readPage(nc, stream, {
      from: 1,
      subject: `$O.${bucket}.C.${entry.nuid}`,
      messagesMax: chunksMax,
      signal,
    })
    if (page.messages.length === 0) return { chunks }
    for (const { sequence } of page.messages) {
      if (!(await jsm.streams.deleteMessage(stream, sequence, true)))
        throw new BeaverError(
          'unreachable',
          `A part of the blob ${sha256} cannot be erased from the blob store ${bucket}. Try again.`,
        )
      chunks++
    }
  }
}
