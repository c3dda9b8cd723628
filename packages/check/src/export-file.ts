// An export of a journal: NDJSON with a header, one line for each message, one for each piece of evidence,
// then one for each referenced blob, also for images. The writer holds one page of messages, one blob, and
// all names of blobs. The reader reads the file twice, first to find the blobs.
// An export of a part also has the system logs `keys`, to verify signatures, and `redactions`, so that
// archived messages do not look lost; it also has the replacements of removed texts. A payload that is not
// UTF-8 is in base64, so the bytes are exact.
import { hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { z } from 'zod'
import {
  type Evidence,
  type JournalAbout,
  type JournalSource,
  noEvidence,
  type StreamMessage,
  UnreadableJournal,
} from './source.ts'
import { placeOf } from './layout.ts'

const format = 'beaver-journal/1'

const header = z.object({
  format: z.literal(format),
  namespace: z.string(),
  stream: z.string(),
  created: z.string(),
  last_sequence: z.int().nonnegative(),
  exported_at: z.string(),
  whole: z.boolean(),
})
const messageLine = z.object({
  seq: z.int().positive(),
  time: z.string(),
  subject: z.string(),
  payload: z.string().optional(),
  payload_base64: z.string().optional(),
  signature: z.string().optional(),
  leaf: z.int().nonnegative().optional(),
  proof: z.array(z.base64()).optional(),
})
const evidenceLine = z.union([
  z.strictObject({ key: z.string() }),
  z.strictObject({ checkpoint: z.string() }),
  z.strictObject({ heads: z.string() }),
  z.strictObject({
    consistency: z.strictObject({ size: z.int().nonnegative(), hashes: z.array(z.base64()) }),
  }),
])
const blobLine = z.object({ blob: z.string(), base64: z.base64() })

/** The lines without line ends. `exportedAt` is in RFC 3339. */
export async function* exportLines(
  source: JournalSource,
  exportedAt: string,
  onProgress?: (sequence: number) => void,
): AsyncGenerator<string> {
  const { namespace, stream, created, lastSequence, whole } = source.about
  yield JSON.stringify({
    format,
    namespace,
    stream,
    created,
    last_sequence: lastSequence,
    exported_at: exportedAt,
    whole,
  } satisfies z.input<typeof header>)
  const blobs = new Set<string>()
  const systemRead = new Set<number>()
  for await (const page of source.pages()) {
    for (const message of page) {
      yield JSON.stringify(lineOf(message))
      for (const name of blobsIn(message)) blobs.add(name)
      if (isOf('keys', message) || isOf('redactions', message)) systemRead.add(message.sequence)
    }
    onProgress?.(page.at(-1)?.sequence ?? 0)
  }
  for (const pages of whole ? [] : [source.keys(), source.redactions()])
    for await (const page of pages)
      for (const message of page) {
        if (systemRead.has(message.sequence)) continue
        yield JSON.stringify(lineOf(message))
        for (const name of blobsIn(message)) blobs.add(name)
      }
  for (const line of evidenceLines(source.evidence ?? noEvidence)) yield JSON.stringify(line)
  for (const name of blobs) {
    const bytes = await source.readBlob(name)
    // An event in a blob may name images, which follow it.
    for (const image of bytes === null ? [] : imagesIn(bytes)) blobs.add(image)
    if (bytes !== null)
      yield JSON.stringify({
        blob: name,
        sha256: hash('sha256', bytes),
        base64: Buffer.from(bytes).toString('base64'),
      })
  }
}

function evidenceLines({ keys, checkpoint, heads, consistency }: Evidence): z.input<typeof evidenceLine>[] {
  return [
    ...keys.map((key) => ({ key })),
    ...(checkpoint === null ? [] : [{ checkpoint }]),
    ...(heads === null ? [] : [{ heads }]),
    ...consistency.map(({ size, hashes }) => ({ consistency: { size, hashes: hashes.map(base64Of) } })),
  ]
}

const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const bytesOf = (base64: string): Uint8Array => Buffer.from(base64, 'base64')

function lineOf({
  sequence,
  time,
  subject,
  payload,
  signature,
  proof,
}: StreamMessage): z.input<typeof messageLine> {
  const bytes = Buffer.from(payload)
  const text = bytes.toString()
  const fields = {
    seq: sequence,
    time,
    subject,
    ...(signature === undefined ? {} : { signature }),
    ...(proof === undefined ? {} : { leaf: proof.index, proof: proof.hashes.map(base64Of) }),
  }
  return Buffer.from(text).equals(bytes)
    ? { ...fields, payload: text }
    : { ...fields, payload_base64: bytes.toString('base64') }
}

type Early = 'keys' | 'redactions'

function isOf(name: Early, { subject }: StreamMessage): boolean {
  const place = placeOf(subject)
  return place.kind === 'system' && place.name === name
}

function blobsIn({ subject, payload }: StreamMessage): string[] {
  const place = placeOf(subject)
  const text = Buffer.from(payload).toString()
  if (place.kind === 'system' && place.name === 'redactions')
    return [...text.matchAll(/"replacement":"([0-9a-f]{64})"/g)].map((match) => match[1] as string)
  if (!('log' in place)) return []
  return [
    ...[...text.matchAll(/"dataref":"blob:sha256:([0-9a-f]{64})"/g)].map((match) => match[1] as string),
    ...imagesInText(text),
  ]
}

/** Images in canonical JSON. In a text, each quotation mark of such a match has a backslash. */
const imageNames = /"media_type":"image\/[a-z]+"(?:,"name":"(?:[^"\\]|\\.)*")?,"sha256":"([0-9a-f]{64})"/g

const imagesInText = (text: string): string[] =>
  [...text.matchAll(imageNames)].map((match) => match[1] as string)

/** An image itself is no JSON, and names none. */
const imagesIn = (bytes: Uint8Array): string[] =>
  bytes[0] === 0x7b ? imagesInText(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()) : []

const pageMessagesMax = 500
const pageBytesMax = 8 << 20

/** @throws {UnreadableJournal} if the file is not an export */
export async function openExport(file: string): Promise<JournalSource> {
  const { about, evidence, blobs, early } = await survey(file)
  async function* messagesOf(name: Early): AsyncGenerator<readonly StreamMessage[]> {
    await using handle = await open(file)
    for (const { offset, bytes, number } of early) {
      const { buffer } = await handle.read({ buffer: Buffer.alloc(bytes), position: offset })
      const message = messageOf(buffer, number)
      if (isOf(name, message)) yield [message]
    }
  }
  return {
    about,
    evidence,
    async *pages() {
      let page: StreamMessage[] = []
      let bytes = 0
      let number = 0
      for await (const line of linesOf(file)) {
        if (++number === 1) continue
        if (isBlob(line.bytes)) break
        if (!isMessage(line.bytes) && evidenceLine.safeParse(jsonOf(line.bytes)).success) continue
        const message = messageOf(line.bytes, number)
        page.push(message)
        bytes += message.payload.length
        if (page.length < pageMessagesMax && bytes < pageBytesMax) continue
        yield page
        page = []
        bytes = 0
      }
      if (page.length > 0) yield page
    },
    keys: () => messagesOf('keys'),
    redactions: () => messagesOf('redactions'),
    async readBlob(sha256) {
      const place = blobs.get(sha256)
      if (place === undefined) return null
      await using handle = await open(file)
      const { buffer } = await handle.read({ buffer: Buffer.alloc(place.bytes), position: place.offset })
      return Buffer.from(blobLine.parse(JSON.parse(buffer.toString())).base64, 'base64')
    },
  }
}

interface Survey {
  readonly about: JournalAbout
  readonly evidence: Evidence
  readonly blobs: ReadonlyMap<string, { readonly offset: number; readonly bytes: number }>
  /** Lines that may be messages of the system logs that are read first. */
  readonly early: readonly { readonly offset: number; readonly bytes: number; readonly number: number }[]
}

async function survey(file: string): Promise<Survey> {
  const blobs = new Map<string, { offset: number; bytes: number }>()
  const evidence: Mutable = { keys: [], checkpoint: null, heads: null, consistency: [] }
  const early: { offset: number; bytes: number; number: number }[] = []
  let about: JournalAbout | null = null
  let number = 0
  for await (const { offset, bytes } of linesOf(file)) {
    number++
    if (about === null) {
      about = aboutOf(bytes, file)
      continue
    }
    if (isMessage(bytes)) {
      if (mayBeEarly(bytes)) early.push({ offset, bytes: bytes.length, number })
      continue
    }
    if (!isBlob(bytes)) {
      takeEvidence(evidence, bytes)
      continue
    }
    const name = /^\{"blob":"([0-9a-f]{64})"/.exec(bytes.subarray(0, 128).toString('latin1'))?.[1]
    if (name !== undefined) blobs.set(name, { offset, bytes: bytes.length })
  }
  if (about === null) throw new UnreadableJournal(`${file} is empty.`)
  return { about, evidence, blobs, early }
}

type Mutable = { -readonly [Name in keyof Evidence]: Evidence[Name] }

/** A line that is no evidence is left to the check, which reports what it replaces as missing. */
function takeEvidence(evidence: Mutable, line: Buffer): void {
  const { data } = evidenceLine.safeParse(jsonOf(line))
  if (data === undefined) return
  if ('key' in data) evidence.keys = [...evidence.keys, data.key]
  else if ('checkpoint' in data) evidence.checkpoint = data.checkpoint
  else if ('heads' in data) evidence.heads = data.heads
  else
    evidence.consistency = [
      ...evidence.consistency,
      { size: data.consistency.size, hashes: data.consistency.hashes.map(bytesOf) },
    ]
}

const isMessage = (line: Buffer): boolean => line.subarray(0, 7).toString('latin1') === '{"seq":'
/** The subject is at the beginning of each line that this program wrote. */
const mayBeEarly = (line: Buffer): boolean =>
  /\.(?:keys|redactions)"/.test(line.subarray(0, 1_024).toString('latin1'))
const isBlob = (line: Buffer): boolean => line.subarray(0, 8).toString('latin1') === '{"blob":'

function aboutOf(line: Buffer, file: string): JournalAbout {
  const parsed = header.safeParse(jsonOf(line))
  if (!parsed.success)
    throw new UnreadableJournal(
      `${file} is not an export of a journal: its first line is not the header of one.`,
    )
  const { namespace, stream, created, last_sequence, exported_at, whole } = parsed.data
  return { namespace, stream, created, lastSequence: last_sequence, exportedAt: exported_at, whole }
}

function messageOf(line: Buffer, number: number): StreamMessage {
  const parsed = messageLine.safeParse(jsonOf(line))
  if (!parsed.success) throw new UnreadableJournal(`Line ${number} of the export is not a message.`)
  const { seq, time, subject, payload, payload_base64, signature, leaf, proof } = parsed.data
  return {
    sequence: seq,
    time,
    subject,
    ...(signature === undefined ? {} : { signature }),
    ...(leaf === undefined || proof === undefined
      ? {}
      : { proof: { index: leaf, hashes: proof.map(bytesOf) } }),
    payload:
      payload_base64 === undefined ? Buffer.from(payload ?? '') : Buffer.from(payload_base64, 'base64'),
  }
}

function jsonOf(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString())
  } catch {
    return undefined
  }
}

interface FileLine {
  readonly offset: number
  readonly bytes: Buffer
}

/**
 * The lines of a large file with their offsets: one line and one chunk are in memory. A last line without a
 * line end is included; empty lines are not.
 */
async function* linesOf(file: string): AsyncGenerator<FileLine> {
  let offset = 0
  let parts: Buffer[] = []
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(10, from); end !== -1; end = chunk.indexOf(10, from)) {
      const bytes = Buffer.concat([...parts, chunk.subarray(from, end)])
      if (bytes.length > 0) yield { offset, bytes }
      offset += bytes.length + 1
      parts = []
      from = end + 1
    }
    if (from < chunk.length) parts.push(chunk.subarray(from))
  }
  const rest = Buffer.concat(parts)
  if (rest.length > 0) yield { offset, bytes: rest }
}
