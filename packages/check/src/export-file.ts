// An export of a journal: NDJSON with a header, one line for each message of the stream, and then one line for each blob that it refers to.
// X1. The writer has one page of messages, one blob, and the names of all blobs in memory.
// X2. The reader goes through the file twice. The first time, it finds out where the blobs are.
// X3. A payload that is not UTF-8 is written as base64, so that an export contains the bytes of the stream exactly.
import { hash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { z } from 'zod'
import { placeOf } from './layout.ts'
import { linesOf } from './ndjson.ts'
import { type JournalAbout, type JournalSource, type StreamMessage, UnreadableJournal } from './source.ts'

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
})
const blobLine = z.object({ blob: z.string(), base64: z.base64() })

/** The lines of an export, without line ends. `exportedAt` is in RFC 3339. */
export async function* exportLines(source: JournalSource, exportedAt: string, onProgress?: (sequence: number) => void): AsyncGenerator<string> {
  const { namespace, stream, created, lastSequence, whole } = source.about
  yield JSON.stringify({ format, namespace, stream, created, last_sequence: lastSequence, exported_at: exportedAt, whole } satisfies z.input<typeof header>)
  const blobs = new Set<string>()
  for await (const page of source.pages()) {
    for (const message of page) {
      yield JSON.stringify(lineOf(message))
      for (const name of blobsIn(message)) blobs.add(name)
    }
    onProgress?.(page.at(-1)?.sequence ?? 0)
  }
  for (const name of blobs) {
    const bytes = await source.readBlob(name)
    if (bytes !== null) yield JSON.stringify({ blob: name, sha256: hash('sha256', bytes), base64: Buffer.from(bytes).toString('base64') })
  }
}

function lineOf({ sequence, time, subject, payload, signature }: StreamMessage): z.input<typeof messageLine> {
  const bytes = Buffer.from(payload)
  const text = bytes.toString()
  const of = { seq: sequence, time, subject, ...(signature === undefined ? {} : { signature }) }
  return Buffer.from(text).equals(bytes) ? { ...of, payload: text } : { ...of, payload_base64: bytes.toString('base64') }
}

function blobsIn({ subject, payload }: StreamMessage): string[] {
  if (!('log' in placeOf(subject))) return []
  return [
    ...Buffer.from(payload)
      .toString()
      .matchAll(/"dataref":"blob:sha256:([0-9a-f]{64})"/g),
  ].map((match) => match[1] as string)
}

const pageMessagesMax = 500
const pageBytesMax = 8 << 20

/**
 * Opens an export for reading.
 *
 * @throws {UnreadableJournal} if the file is not an export
 */
export async function openExport(file: string): Promise<JournalSource> {
  const { about, blobs } = await survey(file)
  return {
    about,
    async *pages() {
      let page: StreamMessage[] = []
      let bytes = 0
      let number = 0
      for await (const line of linesOf(file)) {
        if (++number === 1) continue
        if (isBlob(line.bytes)) break
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
  readonly blobs: ReadonlyMap<string, { readonly offset: number; readonly bytes: number }>
}

async function survey(file: string): Promise<Survey> {
  const blobs = new Map<string, { offset: number; bytes: number }>()
  let about: JournalAbout | null = null
  for await (const { offset, bytes } of linesOf(file)) {
    about ??= aboutOf(bytes, file)
    if (!isBlob(bytes)) continue
    const name = /^\{"blob":"([0-9a-f]{64})"/.exec(bytes.subarray(0, 128).toString('latin1'))?.[1]
    if (name !== undefined) blobs.set(name, { offset, bytes: bytes.length })
  }
  if (about === null) throw new UnreadableJournal(`${file} is empty.`)
  return { about, blobs }
}

const isBlob = (line: Buffer): boolean => line.subarray(0, 8).toString('latin1') === '{"blob":'

function aboutOf(line: Buffer, file: string): JournalAbout {
  const parsed = header.safeParse(jsonOf(line))
  if (!parsed.success) throw new UnreadableJournal(`${file} is not an export of a journal: its first line is not the header of one.`)
  const { namespace, stream, created, last_sequence, exported_at, whole } = parsed.data
  return { namespace, stream, created, lastSequence: last_sequence, exportedAt: exported_at, whole }
}

function messageOf(line: Buffer, number: number): StreamMessage {
  const parsed = messageLine.safeParse(jsonOf(line))
  if (!parsed.success) throw new UnreadableJournal(`Line ${number} of the export is not a message.`)
  const { seq, time, subject, payload, payload_base64, signature } = parsed.data
  return {
    sequence: seq,
    time,
    subject,
    ...(signature === undefined ? {} : { signature }),
    payload: payload_base64 === undefined ? Buffer.from(payload ?? '') : Buffer.from(payload_base64, 'base64'),
  }
}

function jsonOf(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString())
  } catch {
    return undefined
  }
}
