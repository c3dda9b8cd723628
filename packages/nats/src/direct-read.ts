// Reads a stream by direct get: pages of stored messages, without a consumer. The caller chooses the
// messages. However a read ends, it leaves no consumer and no subscription behind. (The client's own
// `direct.getBatch` leaves a subscription for each page.)
// D4. Name a subject exactly. For a pattern the server looks through the subjects of the whole stream for
// each page.
// Payloads of one subject are copied: the original shares a chunk of up to 64 KiB from the socket, which a
// follower of a quiet log would keep in memory. A read of the whole stream moves on at once, and needs no
// copies.
import { BeaverError, messageOf } from '@beaver/core'
import { jetstreamManager } from '@nats-io/jetstream'
import { type Msg, type NatsConnection, RequestError, TimeoutError } from '@nats-io/nats-core'
import { inboxOf } from './inbox.ts'
import { lineOf } from './line.ts'
import { type MessageChosen, messageOfLeader } from './leader-read.ts'
import { signatureIn } from './publish-batch.ts'

export interface StoredMessage {
  readonly sequence: number
  readonly subject: string
  readonly payload: Uint8Array
  /** The time at which it was stored, RFC 3339. */
  readonly time: string
  readonly signature: string | undefined
}

export interface Page {
  readonly messages: readonly StoredMessage[]
  /** Whether more messages were stored when the page was read. */
  readonly more: boolean
}

export interface PageWanted {
  /** The first sequence, at least 1. */
  readonly from: number
  /** Read only messages of this subject. Default: all messages of the stream. */
  readonly subject?: string | undefined
  readonly messagesMax: number
  /** Default 8 MiB. A page holds at least one message. */
  readonly bytesMax?: number
  readonly signal?: AbortSignal
}

/** No server answers for the stream: it does not exist, or the server is starting. */
export class StreamAbsent extends Error {}

/**
 * How long each try waits for the next message, or twice as long. Any copy of the stream may answer, also one
 * on a frozen server, so a silent try is repeated. After the last one the leader is asked, one message at a
 * time.
 */
const silencesMs = [1_000, 2_000]
/** How long a try waits if only one server has the stream. */
const aloneMs = 5_000
const leaderMsMax = 5_000
/** The most messages of a page that comes from the leader. */
const leaderMessagesMax = 100
const bytesMaxDefault = 8 * 1024 * 1024

/**
 * Reads one page of at most `messagesMax` messages and `bytesMax` bytes. It always ends.
 * @throws {StreamAbsent} if no server answers for the stream
 * @throws {BeaverError} `unreachable` if the line is cut or `signal` aborts, `timeout` if no message comes
 */
export function readPage(nc: NatsConnection, stream: string, wanted: PageWanted): Promise<Page> {
  if ((nc.info?.cluster ?? '') === '') return onePage(nc, stream, wanted, aloneMs)
  return untilHeard(
    (silenceMs) => onePage(nc, stream, wanted, silenceMs),
    (error) => error instanceof BeaverError && error.code === 'timeout',
    () => leaderPage(nc, stream, wanted),
  )
}

async function untilHeard<Answer>(
  ask: (silenceMs: number) => Promise<Answer>,
  isSilence: (error: unknown) => boolean,
  askLeader: () => Answer | Promise<Answer>,
): Promise<Answer> {
  for (const silenceMs of silencesMs) {
    try {
      return await ask(silenceMs)
    } catch (error) {
      if (!isSilence(error)) throw error
    }
  }
  return askLeader()
}

async function leaderPage(nc: NatsConnection, stream: string, wanted: PageWanted): Promise<Page> {
  const { from, subject = '>', messagesMax, bytesMax = bytesMaxDefault, signal } = wanted
  const messages: StoredMessage[] = []
  const max = Math.min(messagesMax, leaderMessagesMax)
  for (let bytes = 0; messages.length < max && bytes < bytesMax;) {
    if (signal?.aborted === true) throw stopped(stream)
    const next = await leaderMessage(nc, stream, {
      seq: (messages.at(-1)?.sequence ?? Math.max(1, from) - 1) + 1,
      next_by_subj: subject,
    })
    if (next === null) return { messages, more: false }
    messages.push(next)
    bytes += next.payload.length
  }
  return { messages, more: true }
}

const stopped = (stream: string): BeaverError =>
  new BeaverError('unreachable', `The read of the stream ${stream} was stopped.`)

/** @throws {BeaverError} `timeout`, `unreachable` */
async function leaderMessage(
  nc: NatsConnection,
  stream: string,
  which: MessageChosen,
): Promise<StoredMessage | null> {
  const message = await messageOfLeader(
    await jetstreamManager(nc, { checkAPI: false, timeout: leaderMsMax }),
    stream,
    which,
  )
  if (message === null) return null
  return {
    sequence: message.seq,
    subject: message.subject,
    payload: message.data,
    time: message.timestamp,
    signature: signatureIn(message.header),
  }
}

function onePage(nc: NatsConnection, stream: string, wanted: PageWanted, silenceMs: number): Promise<Page> {
  const { from, subject, messagesMax, bytesMax = bytesMaxDefault, signal } = wanted
  const line = lineOf(nc)
  const unreachable = (why: string, cause?: unknown): BeaverError =>
    new BeaverError('unreachable', `The stream ${stream} cannot be read: ${why}.`, { cause })
  if (line.downMs > 0) return Promise.reject(unreachable('the connection to the server is down'))
  return new Promise((resolve, reject) => {
    const messages: StoredMessage[] = []
    let heard = 0
    const inbox = inboxOf(nc)
    const subscription = nc.subscribe(inbox, {
      callback: (error, message) => {
        heard++
        if (error !== null) return end(error)
        const status = message.headers?.code ?? 0
        if (status === 0)
          messages.push(subject === undefined ? storedMessage(message) : copied(storedMessage(message)))
        else if (status === 204)
          end({ messages, more: Number(message.headers?.last('Nats-Num-Pending') ?? 0) > 0 })
        else if (status === 404) end({ messages, more: false })
        else if (status === 503) end(new StreamAbsent(`The stream ${stream} does not answer.`))
        else end(unreachable(message.headers?.description ?? String(status)))
      },
    })
    let heardBefore = -1
    const timer = setInterval(() => {
      if (heard === heardBefore)
        end(
          new BeaverError('timeout', `The stream ${stream} was silent for more than ${silenceMs / 1000} s.`),
        )
      heardBefore = heard
    }, silenceMs)
    const undo = [
      line.onCut((cause) => end(unreachable(cause.message, cause))),
      line.onClosed(() => end(unreachable('the connection was closed'))),
    ]
    const stop = (): void => end(stopped(stream))
    signal?.addEventListener('abort', stop, { once: true })

    function end(outcome: Page | Error): void {
      clearInterval(timer)
      for (const each of undo) each()
      signal?.removeEventListener('abort', stop)
      if (!subscription.isClosed()) subscription.unsubscribe()
      if (outcome instanceof Error) reject(outcome)
      else resolve(outcome)
    }

    if (signal?.aborted === true) return stop()
    const request = {
      seq: Math.max(1, from),
      batch: messagesMax,
      max_bytes: bytesMax,
      ...(subject === undefined ? {} : { next_by_subj: subject }),
    }
    try {
      nc.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(request), { reply: inbox })
    } catch (cause) {
      end(unreachable('the connection is closed', cause))
    }
  })
}

/**
 * The last message of a subject, or `null`. The nearest copy of the stream answers, which may be a moment
 * behind.
 * @throws {StreamAbsent} if no server answers for the stream
 * @throws {BeaverError} `unreachable`
 */
export async function readLast(
  nc: NatsConnection,
  stream: string,
  subject: string,
): Promise<StoredMessage | null> {
  let message: Msg | null
  try {
    message = await untilHeard<Msg | null>(
      (timeout) => lineOf(nc).request(`$JS.API.DIRECT.GET.${stream}.${subject}`, empty, { timeout }),
      (error) => error instanceof TimeoutError && !nc.isClosed(),
      () => null,
    )
    if (message === null) return await leaderMessage(nc, stream, { last_by_subj: subject })
  } catch (cause) {
    if (cause instanceof BeaverError) throw cause
    if (cause instanceof RequestError && cause.isNoResponders())
      throw new StreamAbsent(`The stream ${stream} does not answer.`, { cause })
    throw new BeaverError('unreachable', `The stream ${stream} cannot be read: ${messageOf(cause)}.`, {
      cause,
    })
  }
  const status = message.headers?.code ?? 0
  if (status === 404) return null
  if (status !== 0)
    throw new BeaverError(
      'unreachable',
      `The stream ${stream} cannot be read: ${message.headers?.description ?? status}.`,
    )
  return storedMessage(message)
}

const empty = new Uint8Array()

const copied = (message: StoredMessage): StoredMessage => ({
  ...message,
  payload: new Uint8Array(message.payload),
})

function storedMessage(message: Msg): StoredMessage {
  const { headers } = message
  return {
    sequence: Number(headers?.last('Nats-Sequence')),
    subject: headers?.last('Nats-Subject') ?? '',
    payload: message.data,
    time: headers?.last('Nats-Time-Stamp') ?? '',
    signature: signatureIn(headers),
  }
}
