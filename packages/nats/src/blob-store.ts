// The BlobStore port on a JetStream object store: one object for each SHA-256. Any client of object stores can read it.
// B1. A read makes no consumer: the object's entry and its chunks are read by direct get. (The object store client makes a
//     consumer for each read, which lingers for 300 s; the server allows 1,000 for a stream.)
// B2. What is given out has the SHA-256 it was asked for by. B3. A read holds no more than the object's own size, at most
//     `blobBytesMax`, and ends within `readMsMax`.
import { BeaverError, type BlobStore, messageOf, pause, systemClock } from '@beaver/core'
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { Objm } from '@nats-io/obj'
import { hash } from 'node:crypto'
import { z } from 'zod'
import { readLast, readPage, StreamAbsent } from './direct-read.ts'
import { messageOf as storedMessageOf } from './journal-reader.ts'
import { lineOf } from './line.ts'
import type { Subjects } from './subjects.ts'

const knownMax = 10_000
const blobBytesMax = 256 * 1024 * 1024
const readMsMax = 30_000
const retryMs = 100
const chunksMax = 64

export async function natsBlobStore(nc: NatsConnection, subjects: Subjects): Promise<BlobStore> {
  const bucket = subjects.blobBucket
  const store = await new Objm(nc).create(bucket, { description: 'Beaver: payloads of the journal by their SHA-256' })
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 5_000 })
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
      const ending = AbortSignal.timeout(readMsMax)
      for (;;) {
        try {
          return await readBlob(nc, jsm, { bucket, sha256, signal: ending })
        } catch (error) {
          if (error instanceof BeaverError && lasting.has(error.code)) throw error
          if (ending.aborted || nc.isClosed()) throw unreachable(bucket, sha256, error)
          await lineOf(nc).up(readMsMax)
          await pause(systemClock, retryMs, ending)
        }
      }
    },
  }
}

/** Errors that another try does not mend. */
const lasting = new Set(['blob_missing', 'blob_corrupt', 'too_large'])

/** What the object store keeps of an object, as far as a read needs it. */
const objectEntry = z.object({ nuid: z.string(), size: z.int().nonnegative(), deleted: z.boolean().optional() })

interface BlobName {
  readonly bucket: string
  readonly sha256: string
}

/** @throws {BeaverError} `blob_missing`, `blob_corrupt`, `too_large`; what may be mended by another try, as it comes */
async function readBlob(nc: NatsConnection, jsm: JetStreamManager, { bucket, sha256, signal }: BlobName & { signal: AbortSignal }): Promise<Uint8Array> {
  const stream = `OBJ_${bucket}`
  const name = { bucket, sha256 }
  const { nuid, size } = await objectOf(nc, jsm, name)
  if (size > blobBytesMax)
    throw new BeaverError('too_large', `The payload ${sha256} in the blob store ${bucket} has ${size} bytes; at most ${blobBytesMax} are read.`)
  const bytes = Buffer.allocUnsafe(size)
  let filled = 0
  for (let from = 1; filled < size;) {
    const page = await readPage(nc, stream, { from, subject: `$O.${bucket}.C.${nuid}`, messagesMax: chunksMax, signal })
    for (const { sequence, payload } of page.messages) {
      if (filled + payload.length > size) throw corrupt(name, `it holds more than the ${size} bytes of its entry`)
      bytes.set(payload, filled)
      filled += payload.length
      from = sequence + 1
    }
    if (filled < size && !page.more) throw corrupt(name, `it holds ${filled} of the ${size} bytes of its entry`)
  }
  const found = hash('sha256', bytes)
  if (found !== sha256) throw corrupt(name, `the SHA-256 of its content is ${found}`)
  return bytes
}

/** Looks at the nearest copy of the stream first; only the leader can say that there is no object. */
async function objectOf(nc: NatsConnection, jsm: JetStreamManager, { bucket, sha256 }: BlobName): Promise<z.infer<typeof objectEntry>> {
  const stream = `OBJ_${bucket}`
  const subject = `$O.${bucket}.M.${base64Url(sha256)}`
  const near = await readLast(nc, stream, subject).catch(absentHasNone)
  const payload = near?.payload ?? (await storedMessageOf(jsm, stream, { last_by_subj: subject }))?.payload
  const parsed = payload === undefined ? null : objectEntry.safeParse(jsonOf(payload))
  if (parsed === null || parsed.data?.deleted === true) throw new BeaverError('blob_missing', `The payload ${sha256} is not in the blob store ${bucket}.`)
  if (!parsed.success) throw corrupt({ bucket, sha256 }, 'its entry is not one of an object store')
  return parsed.data
}

function absentHasNone(error: unknown): null {
  if (error instanceof StreamAbsent) return null
  throw error
}

/** With padding, as object stores write it. */
const base64Url = (text: string): string => Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_')

function jsonOf(payload: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(payload).toString())
  } catch {
    return null
  }
}

const corrupt = ({ bucket, sha256 }: BlobName, why: string): BeaverError =>
  new BeaverError('blob_corrupt', `The payload ${sha256} in the blob store ${bucket} is not what its name says: ${why}.`)

const unreachable = (bucket: string, sha256: string, cause: unknown): BeaverError =>
  new BeaverError('unreachable', `The payload ${sha256} cannot be read from the blob store ${bucket}: ${messageOf(cause)}`, { cause })
