// The BlobStore port on a JetStream object store: one object for each SHA-256, which any client of object
// stores can read. Only a redaction deletes chunks (erase-blob.ts).
// A read uses direct get, because the object store client makes a consumer for each read: it stays for 300 s,
// and the server allows 1,000 of them for a stream.
import { BeaverError, type BlobStore, type Clock, messageOf, pause, systemClock } from '@beaver/core'
import { type Removals, type Replacements, replacementsOf } from '@beaver/core/journal'
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream'
import { headers, type MsgHdrs, type NatsConnection, nuid } from '@nats-io/nats-core'
import { Objm } from '@nats-io/obj'
import { hash } from 'node:crypto'
import { z } from 'zod'
import { readLast, readPage, StreamAbsent } from './direct-read.ts'
import { storedMessageOf } from './leader-read.ts'
import { lineOf } from './line.ts'
import { placeOfBucket } from './stream-place.ts'
import type { Subjects } from './subjects.ts'

const knownMax = 10_000
const blobBytesMax = 256 * 1024 * 1024
/** The usual chunk size of the object store client. */
const chunkBytesMax = 128 * 1024
const triesMsMax = 30_000
const answerMsMax = 5_000
const retryMs = 100
const chunksMax = 64

export async function natsBlobStore(
  nc: NatsConnection,
  subjects: Subjects,
  clock: Clock = systemClock,
): Promise<BlobStore> {
  const bucket = subjects.blobBucket
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: 5_000 })
  await new Objm(nc).create(bucket, {
    description: 'Beaver: payloads of the journal by their SHA-256',
    ...(await placeOfBucket(jsm, subjects)),
  })
  const known = new Set<string>()
  return {
    async put(sha256, bytes) {
      if (known.has(sha256)) return
      const name = { bucket, sha256 }
      await untilDone(nc, name, 'written to', async (signal) => {
        if (!(await isWhole(nc, jsm, { ...name, signal })) && !(await isRedacted(jsm, name)))
          await writeBlob(nc, name, bytes, clock)
      })
      if (known.size >= knownMax) known.clear()
      known.add(sha256)
    },
    get: natsBlobReader(nc, subjects).get,
  }
}

/** Reads texts without making the bucket, for processes that must not write. `now`: what was removed. */
export const natsTexts = (
  nc: NatsConnection,
  subjects: Pick<Subjects, 'blobBucket'>,
  now: () => Promise<Removals>,
): Replacements => replacementsOf(natsBlobReader(nc, subjects), now)

function natsBlobReader(
  nc: NatsConnection,
  { blobBucket: bucket }: Pick<Subjects, 'blobBucket'>,
): Pick<BlobStore, 'get'> {
  let opened: Promise<JetStreamManager> | null = null
  return {
    async get(sha256) {
      const jsm = await (opened ??= jetstreamManager(nc, { checkAPI: false, timeout: 5_000 }))
      const name = { bucket, sha256 }
      return untilDone(nc, name, 'read from', (signal) => readBlob(nc, jsm, { ...name, signal }))
    },
  }
}

/** Repeats `act` while another try may help, and begins no try after `triesMsMax`. */
async function untilDone<Value>(
  nc: NatsConnection,
  { bucket, sha256 }: BlobName,
  how: string,
  act: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const ending = AbortSignal.timeout(triesMsMax)
  for (;;) {
    try {
      return await act(ending)
    } catch (error) {
      if (error instanceof BeaverError && lasting.has(error.code)) throw error
      if (ending.aborted || nc.isClosed())
        throw new BeaverError(
          'unreachable',
          `The blob ${sha256} cannot be ${how} the blob store ${bucket}: ${messageOf(error)}`,
          { cause: error },
        )
      await lineOf(nc).up(triesMsMax)
      await pause(systemClock, retryMs, ending)
    }
  }
}

async function isWhole(
  nc: NatsConnection,
  jsm: JetStreamManager,
  name: BlobName & { signal: AbortSignal },
): Promise<boolean> {
  try {
    await readBlob(nc, jsm, name)
    return true
  } catch (error) {
    if (error instanceof BeaverError && lasting.has(error.code)) return false
    throw error
  }
}

/**
 * Writes an object as clients of object stores do: first the chunks under a new name, then the entry that
 * contains this name. If the answer to the entry is lost, the entry may be stored, so the chunks stay. (The
 * object store client deletes them in this case, and leaves an object that cannot be read.)
 */
async function writeBlob(
  nc: NatsConnection,
  { bucket, sha256 }: BlobName,
  bytes: Uint8Array,
  clock: Clock,
): Promise<void> {
  const id = nuid.next()
  const chunkBytes = Math.min(chunkBytesMax, nc.info?.max_payload ?? chunkBytesMax)
  const chunks = Math.ceil(bytes.length / chunkBytes)
  for (let i = 0; i < chunks; i++)
    await store(nc, `$O.${bucket}.C.${id}`, bytes.subarray(i * chunkBytes, (i + 1) * chunkBytes))
  const entry = {
    name: sha256,
    options: { max_chunk_size: chunkBytes },
    bucket,
    nuid: id,
    size: bytes.length,
    chunks,
    mtime: new Date(clock.now()).toISOString(),
    digest: `SHA-256=${urlSafe(Buffer.from(sha256, 'hex'))}`,
    deleted: false,
  }
  const replaces = headers()
  replaces.set('Nats-Rollup', 'sub')
  await store(nc, entrySubject({ bucket, sha256 }), Buffer.from(JSON.stringify(entry)), replaces)
}

const storeAnswer = z.object({
  seq: z.number().optional(),
  error: z.object({ description: z.string() }).optional(),
})

export async function store(
  nc: NatsConnection,
  subject: string,
  payload: Uint8Array,
  hdrs?: MsgHdrs,
): Promise<void> {
  const answer = await lineOf(nc).request(subject, payload, {
    timeout: answerMsMax,
    ...(hdrs === undefined ? {} : { headers: hdrs }),
  })
  const { data } = storeAnswer.safeParse(jsonOf(answer.data))
  if (data?.seq === undefined)
    throw new Error(data?.error?.description ?? 'the server did not say that it stored it')
}

/** Another try does not help against these errors. */
const lasting = new Set(['blob_missing', 'blob_corrupt', 'too_large'])

/** The part of an object's entry that a read needs. */
const objectEntry = z.object({
  nuid: z.string(),
  size: z.int().nonnegative(),
  deleted: z.boolean().optional(),
})

interface BlobName {
  readonly bucket: string
  readonly sha256: string
}

/**
 * Holds no more than the object's own size, which is at most `blobBytesMax`.
 * @throws {BeaverError} `blob_missing`, `blob_corrupt`, `too_large`; any other error may be tried again
 */
async function readBlob(
  nc: NatsConnection,
  jsm: JetStreamManager,
  { bucket, sha256, signal }: BlobName & { signal: AbortSignal },
): Promise<Uint8Array> {
  const stream = `OBJ_${bucket}`
  const name = { bucket, sha256 }
  const { nuid, size } = await objectOf(nc, jsm, name)
  if (size > blobBytesMax)
    throw new BeaverError(
      'too_large',
      `The blob ${sha256} in the blob store ${bucket} has ${size} bytes. Beaver reads at most ${blobBytesMax}.`,
    )
  const bytes = Buffer.allocUnsafe(size)
  let filled = 0
  for (let from = 1; filled < size;) {
    const page = await readPage(nc, stream, {
      from,
      subject: `$O.${bucket}.C.${nuid}`,
      messagesMax: chunksMax,
      signal,
    })
    for (const { sequence, payload } of page.messages) {
      if (filled + payload.length > size)
        throw corrupt(name, `it holds more than the ${size} bytes of its entry`)
      bytes.set(payload, filled)
      filled += payload.length
      from = sequence + 1
    }
    if (filled < size && !page.more)
      throw corrupt(name, `it holds ${filled} of the ${size} bytes of its entry`)
  }
  const found = hash('sha256', bytes)
  if (found !== sha256) throw corrupt(name, `the SHA-256 of its content is ${found}`)
  return bytes
}

export const redactedMark = { beaver: 'redacted' } as const

const storedEntry = z.looseObject({
  nuid: z.string(),
  metadata: z.looseObject({ beaver: z.string().optional() }).optional(),
})

/** The entry of an object, as the leader has it; `null` if there is none. */
export async function entryOf(
  jsm: JetStreamManager,
  { bucket, sha256 }: BlobName,
): Promise<z.infer<typeof storedEntry> | null> {
  const last = await storedMessageOf(jsm, `OBJ_${bucket}`, { last_by_subj: entrySubject({ bucket, sha256 }) })
  return last === null ? null : (storedEntry.safeParse(jsonOf(last.payload)).data ?? null)
}

const isRedacted = async (jsm: JetStreamManager, name: BlobName): Promise<boolean> =>
  (await entryOf(jsm, name))?.metadata?.beaver === redactedMark.beaver

/** Asks the nearest copy first. Only the leader can say that an object does not exist. */
async function objectOf(
  nc: NatsConnection,
  jsm: JetStreamManager,
  { bucket, sha256 }: BlobName,
): Promise<z.infer<typeof objectEntry>> {
  const stream = `OBJ_${bucket}`
  const subject = entrySubject({ bucket, sha256 })
  const near = await readLast(nc, stream, subject).catch(absentHasNone)
  const payload = near?.payload ?? (await storedMessageOf(jsm, stream, { last_by_subj: subject }))?.payload
  const parsed = payload === undefined ? null : objectEntry.safeParse(jsonOf(payload))
  if (parsed === null || parsed.data?.deleted === true)
    throw new BeaverError('blob_missing', `The blob ${sha256} is not in the blob store ${bucket}.`)
  if (!parsed.success) throw corrupt({ bucket, sha256 }, 'its entry is not one of an object store')
  return parsed.data
}

function absentHasNone(error: unknown): null {
  if (error instanceof StreamAbsent) return null
  throw error
}

/** Base64 with padding, as object stores write it. */
const urlSafe = (bytes: Buffer): string => bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_')

export const entrySubject = ({ bucket, sha256 }: BlobName): string =>
  `$O.${bucket}.M.${urlSafe(Buffer.from(sha256))}`

function jsonOf(payload: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(payload).toString())
  } catch {
    return null
  }
}

const corrupt = ({ bucket, sha256 }: BlobName, why: string): BeaverError =>
  new BeaverError(
    'blob_corrupt',
    `The blob ${sha256} in the blob store ${bucket} does not have the content that its name says: ${why}.`,
  )
