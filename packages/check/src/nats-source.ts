// A running system as a JournalSource: the stream and the blobs, by direct gets of many messages, without a
// consumer or a new stream. It contains what was stored when the reading began. A server that stops answering
// is an error, never an early end.
import { createInbox, type Msg, type NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { systemSubject } from './layout.ts'
import { type JournalSource, type StreamMessage, UnreadableJournal } from './source.ts'

export interface NatsSourceOptions {
  readonly namespace: string
  readonly stream: string
  readonly blobBucket: string
  /** Reads only messages of these subjects, one subject after the other. Default: all messages. */
  readonly subjects?: readonly string[]
}

const answerMsMax = 10_000
const pageMessagesMax = 500
const pageBytesMax = 8 << 20

/** @throws {UnreadableJournal} if the stream does not exist or does not allow direct gets */
export async function natsSource(
  nc: NatsConnection,
  { namespace, stream, blobBucket, subjects }: NatsSourceOptions,
): Promise<JournalSource> {
  const info = await streamInfo(nc, stream)
  const lastSequence = info.state.last_seq
  async function* pagesOf(filter: string | null): AsyncGenerator<readonly StreamMessage[]> {
    for (let from = 1; from <= lastSequence;) {
      const batch = {
        seq: from,
        batch: pageMessagesMax,
        max_bytes: pageBytesMax,
        ...(filter === null ? {} : { next_by_subj: filter }),
      }
      const page = (await directGet(nc, stream, batch)).filter(({ sequence }) => sequence <= lastSequence)
      if (page.length === 0) break
      yield page
      from = (page.at(-1) as StreamMessage).sequence + 1
    }
  }
  return {
    about: {
      namespace,
      stream,
      created: info.created,
      lastSequence,
      exportedAt: null,
      whole: subjects === undefined,
    },
    async *pages() {
      for (const filter of subjects ?? [null]) yield* pagesOf(filter)
    },
    keys: () => pagesOf(systemSubject(namespace, 'keys')),
    redactions: () => pagesOf(systemSubject(namespace, 'redactions')),
    readBlob: (sha256) => readBlob(nc, blobBucket, sha256),
  }
}

const infoAnswer = z.object({
  created: z.string(),
  state: z.object({ last_seq: z.number() }),
  config: z.object({
    allow_direct: z.boolean().optional(),
    metadata: z.record(z.string(), z.string()).optional(),
  }),
})

async function streamInfo(nc: NatsConnection, stream: string): Promise<z.infer<typeof infoAnswer>> {
  const answer = await nc.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeout: answerMsMax })
  const parsed = infoAnswer.safeParse(answer.json())
  if (!parsed.success)
    throw new UnreadableJournal(`There is no stream ${stream}: no task was ever submitted in this namespace.`)
  if (parsed.data.config.allow_direct !== true)
    throw new UnreadableJournal(`The stream ${stream} does not allow direct gets, by which it is read.`)
  // The metadata of a restored stream keep its first time, which its checkpoints name.
  return { ...parsed.data, created: parsed.data.config.metadata?.['beaver-created'] ?? parsed.data.created }
}

type Wanted =
  | { readonly last_by_subj: string }
  | {
      readonly seq: number
      readonly batch: number
      readonly max_bytes: number
      readonly next_by_subj?: string
    }

/** The messages of one answer, in order; empty if there are none. */
function directGet(nc: NatsConnection, stream: string, wanted: Wanted): Promise<StreamMessage[]> {
  const { promise, resolve, reject } = Promise.withResolvers<StreamMessage[]>()
  // The client's class has this field, but its interface does not.
  const inbox = createInbox(
    (nc as NatsConnection & { readonly options?: { readonly inboxPrefix?: string } }).options?.inboxPrefix,
  )
  const messages: StreamMessage[] = []
  const single = 'last_by_subj' in wanted
  const end = (error: Error | null): void => {
    clearTimeout(timer)
    subscription.unsubscribe()
    if (error === null) resolve(messages)
    else reject(error)
  }
  const late = (): void =>
    end(new Error(`The server did not answer a read of the stream ${stream} within ${answerMsMax / 1000} s.`))
  let timer = setTimeout(late, answerMsMax)
  const subscription = nc.subscribe(inbox, {
    callback(error, message) {
      if (error !== null) return end(error)
      const code = message.headers?.code ?? 0
      // 204 is the end of a batch; 404 means that there is no such message.
      if (code === 204 || code === 404) return end(null)
      if (code !== 0)
        return end(
          new Error(
            `The server refused a read of the stream ${stream}: ${code} ${message.headers?.description ?? ''}`,
          ),
        )
      messages.push(storedMessage(message))
      clearTimeout(timer)
      if (single) return end(null)
      timer = setTimeout(late, answerMsMax)
    },
  })
  nc.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(wanted), { reply: inbox })
  return promise
}

function storedMessage({ headers, data }: Msg): StreamMessage {
  const signature = headers?.get('Beaver-Signature') ?? ''
  return {
    ...(signature === '' ? {} : { signature }),
    sequence: Number(headers?.get('Nats-Sequence')),
    time: headers?.get('Nats-Time-Stamp') ?? '',
    subject: headers?.get('Nats-Subject') ?? '',
    payload: data,
  }
}

const objectInfo = z.object({ nuid: z.string(), chunks: z.number(), deleted: z.boolean().optional() })

async function readBlob(nc: NatsConnection, bucket: string, name: string): Promise<Uint8Array | null> {
  const stream = `OBJ_${bucket}`
  const key = Buffer.from(name).toString('base64').replaceAll('+', '-').replaceAll('/', '_')
  const [meta] = await directGet(nc, stream, { last_by_subj: `$O.${bucket}.M.${key}` })
  if (meta === undefined) return null
  const info = objectInfo.safeParse(JSON.parse(Buffer.from(meta.payload).toString()))
  if (!info.success || info.data.deleted === true) return null
  const chunks: Uint8Array[] = []
  for (let from = 1; chunks.length < info.data.chunks;) {
    const filter = { next_by_subj: `$O.${bucket}.C.${info.data.nuid}`, seq: from }
    const page = await directGet(nc, stream, { ...filter, batch: pageMessagesMax, max_bytes: pageBytesMax })
    if (page.length === 0) return null
    for (const { payload } of page) chunks.push(payload)
    from = (page.at(-1) as StreamMessage).sequence + 1
  }
  return Buffer.concat(chunks)
}
