// Snapshots of streams: a server sends a stream as one sequence of bytes, and makes it again from these
// bytes. A snapshot has no consumers: a consumer's state may be newer than the messages, and would then pass
// over later messages. A process makes its consumer again and gets every message of the stream.
import { BeaverError, pause, systemClock } from '@beaver/core'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { noStream, tooFewServers } from './api-refusal.ts'
import { compareVersions } from './connect.ts'
import { inboxOf } from './inbox.ts'
import { messageOfLeader } from './leader-read.ts'
import { natsFault } from './nats-fault.ts'
import { createdOf, withCreated } from './stream-identity.ts'

/** A stream without its messages, as the server says. */
export const streamDescription = z.object({
  config: z.looseObject({
    name: z.string(),
    metadata: z.record(z.string(), z.string()).optional(),
    num_replicas: z.number().optional(),
  }),
  state: z.looseObject({
    messages: z.number(),
    bytes: z.number(),
    first_seq: z.number(),
    last_seq: z.number(),
  }),
  /** When the stream was first made. A restored stream keeps this time (stream-identity.ts). */
  created: z.string(),
})
export type StreamDescription = z.infer<typeof streamDescription>

const refusal = z.object({
  error: z.object({ err_code: z.number().optional(), description: z.string().optional() }),
})
const answerMsMax = 10_000
/** The last answer to a restoration comes when the server has made the stream. */
const madeMsMax = 600_000
const silenceMsMax = 30_000
const triesMax = 50
const betweenTriesMs = 5
const chunkBytes = 128 << 10

/** The server's description of a stream, or `null`. @throws {BeaverError} `unreachable`, `timeout` */
export async function describeStream(nc: NatsConnection, stream: string): Promise<StreamDescription | null> {
  const answer = await asked(nc, `$JS.API.STREAM.INFO.${stream}`, {})
  if (answer === null) return null
  const described = streamDescription.parse(answer)
  return { ...described, created: createdOf(described) }
}

/**
 * Reads a snapshot of a stream: its messages as they are when the snapshot begins. It contains each append as
 * a whole or not at all.
 *
 * @param take keeps a piece; the next one comes when it has resolved, so that any size needs little memory
 * @returns `null` if there is no such stream
 * @throws {BeaverError} `server_too_old`, `unreachable`, `timeout`, and what `take` throws
 */
export async function snapshotStream(
  nc: NatsConnection,
  stream: string,
  take: (piece: Uint8Array) => Promise<void>,
): Promise<StreamDescription | null> {
  requireSnapshots(nc)
  const described = await describeStream(nc, stream)
  if (described === null) return null
  for (let tries = 1; tries <= triesMax; tries++) {
    const found = await snapshotOnce(nc, described, take)
    if (found !== 'in a batch') return found
    await pause(systemClock, betweenTriesMs, new AbortController().signal)
  }
  throw new BeaverError(
    'timeout',
    `Each of ${triesMax} snapshots of the stream ${stream} would have ended in the middle of an append. Repeat the command.`,
  )
}

/** @returns `in a batch` if the snapshot would end between the messages of one append; no piece was taken */
async function snapshotOnce(
  nc: NatsConnection,
  { config: { name: stream }, created }: StreamDescription,
  take: (piece: Uint8Array) => Promise<void>,
): Promise<StreamDescription | null | 'in a batch'> {
  const inbox = inboxOf(nc)
  const pieces = nc.subscribe(inbox)
  let late = { cancel(): void {} }
  const wait = (): void => {
    late.cancel()
    late = systemClock.after(silenceMsMax, () => pieces.unsubscribe())
  }
  try {
    wait()
    const answer = await asked(nc, `$JS.API.STREAM.SNAPSHOT.${stream}`, {
      deliver_subject: inbox,
      no_consumers: true,
      chunk_size: chunkBytes,
    })
    if (answer === null) return null
    const { config, state } = streamDescription.omit({ created: true }).parse(answer)
    if (await isInBatch(nc, stream, state.last_seq)) return 'in a batch'
    for await (const piece of pieces) {
      wait()
      if (piece.data.length > 0) {
        await take(piece.data)
        piece.respond()
        continue
      }
      const { code = 0, description = '' } = piece.headers ?? {}
      if (code === 0 || code === 204) return { config, state, created }
      throw new BeaverError(
        'unreachable',
        `The server ended the snapshot of the stream ${stream} too early: ${code} ${description}.`,
      )
    }
    throw new BeaverError(
      'timeout',
      `The server sent nothing more of the stream ${stream} for ${silenceMsMax / 1000} s. It may have permissions of an earlier version: "beaver up" renews those of its own server when it starts, and "beaver nats-config" prints them for another one.`,
    )
  } finally {
    late.cancel()
    pieces.unsubscribe()
  }
}

/** Whether the message belongs to an atomic batch and is not its last one. */
async function isInBatch(nc: NatsConnection, stream: string, sequence: number): Promise<boolean> {
  if (sequence === 0) return false
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: answerMsMax })
  const message = await messageOfLeader(jsm, stream, { seq: sequence })
  return message !== null && message.header.has('Nats-Batch-Id') && !message.header.has('Nats-Batch-Commit')
}

/** The last sequence of a subject; 0 if there is none. @throws {BeaverError} `timeout`, `unreachable` */
export async function lastSequenceOf(nc: NatsConnection, stream: string, subject: string): Promise<number> {
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: answerMsMax })
  return (await messageOfLeader(jsm, stream, { last_by_subj: subject }))?.seq ?? 0
}

/**
 * Makes a stream from a snapshot, as a whole or not at all. There must be no stream of this name. Servers
 * that are too few for its replicas, or have other names, make it with one replica, anywhere.
 *
 * @throws {BeaverError} `server_too_old`, `unreachable`, `timeout`, and what reading `pieces` throws
 */
export async function restoreStream(
  nc: NatsConnection,
  description: StreamDescription,
  pieces: AsyncIterable<Uint8Array>,
): Promise<void> {
  requireSnapshots(nc)
  const { name } = description.config
  const config = withCreated(description.config, description.created)
  const asks = `$JS.API.STREAM.RESTORE.${name}`
  const answer = await asked(nc, asks, { config, state: description.state }).catch((error: unknown) => {
    if (!(error instanceof ServerRefusal && tooFewServers.some((code) => code === error.errCode))) throw error
    const { placement: _elsewhere, ...anywhere } = config as typeof config & { placement?: unknown }
    return asked(nc, asks, { config: { ...anywhere, num_replicas: 1 }, state: description.state })
  })
  const { deliver_subject: subject } = z.object({ deliver_subject: z.string() }).parse(answer)
  const send = async (piece: Uint8Array, timeoutMs: number): Promise<void> => {
    const { data } = await nc
      .request(subject, piece, { timeout: timeoutMs })
      .catch((error: unknown) => Promise.reject(natsFault(error) as Error))
    if (data.length > 0) refuseError(name, JSON.parse(Buffer.from(data).toString()))
  }
  for await (const piece of pieces) await send(piece, answerMsMax)
  await send(new Uint8Array(), madeMsMax)
}

/** In an older version, the messages of a snapshot may be newer than its description. */
const snapshotVersionMin = '2.15.0'

/** @throws {BeaverError} `server_too_old` */
function requireSnapshots(nc: NatsConnection): void {
  const version = nc.info?.version ?? '0'
  if (compareVersions(version, snapshotVersionMin) < 0)
    throw new BeaverError(
      'server_too_old',
      `The nats-server is version ${version}, and a backup or a restoration needs ${snapshotVersionMin} or newer. Upgrade it.`,
    )
}

/** Deletes a stream that has no messages. @throws {BeaverError} `unreachable`, `timeout` */
export async function deleteEmptyStream(nc: NatsConnection, stream: string): Promise<void> {
  const found = await describeStream(nc, stream)
  if (found === null) return
  if (found.state.messages > 0) throw new BeaverError('wrong_state', `The stream ${stream} has messages.`)
  await asked(nc, `$JS.API.STREAM.DELETE.${stream}`, {})
}

class ServerRefusal extends BeaverError {
  readonly errCode: number | undefined
  constructor(
    stream: string,
    {
      err_code: errCode,
      description,
    }: { readonly err_code?: number | undefined; readonly description?: string | undefined },
  ) {
    super('unreachable', `The server refuses the stream ${stream}: ${description ?? 'it says no reason'}.`)
    this.errCode = errCode
  }
}

function refuseError(stream: string, answer: unknown): void {
  const refused = refusal.safeParse(answer)
  if (refused.success) throw new ServerRefusal(stream, refused.data.error)
}

async function asked(nc: NatsConnection, subject: string, request: object): Promise<unknown> {
  const answer = await nc
    .request(subject, JSON.stringify(request), { timeout: answerMsMax })
    .catch((error: unknown) => Promise.reject(natsFault(error) as Error))
  const reply = answer.json<unknown>()
  const refused = refusal.safeParse(reply)
  if (refused.success && refused.data.error.err_code === noStream) return null
  refuseError(subject.split('.').at(-1) ?? '', reply)
  return reply
}
