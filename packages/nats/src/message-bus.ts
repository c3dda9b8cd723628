// The MessageBus port on one work queue of JetStream. Each lane is a subject with its own durable consumer
// and one message at a time, so the order of a lane holds for any number of gateways, and a waiting lane
// blocks no other. Each second a look at the stream finds lanes whose message nobody heard.
import { hash } from 'node:crypto'
import {
  type BusLoad,
  type BusMessages,
  type BusQueue,
  type DeadLetter,
  type InboundMessage,
  inboundMessage,
  type MessageBus,
  type OutboundMessage,
  outboundMessage,
  type Taking,
  type UncertainSends,
} from '@beaver/contracts'
import { BeaverError, messageOf, pause, systemClock } from '@beaver/core'
import {
  AckPolicy,
  type Consumer,
  DeliverPolicy,
  jetstream,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  type JsMsg,
  type StoredMsg,
} from '@nats-io/jetstream'
import { headers, type Msg, type MsgHdrs, nanos, type NatsConnection, RequestError } from '@nats-io/nats-core'
import { fullStream, isRefusedWith, wrongLastMessage } from './api-refusal.ts'
import { natsFault } from './nats-fault.ts'
import { ensureChannelStream, laneMessagesMax } from './stream.ts'
import type { Subjects } from './subjects.ts'
import { UncertainStore } from './uncertain-store.ts'

export interface MessageBusOptions {
  /** A message is delivered again after this time if its taker died. Default: 10,000 */
  readonly leaseMs?: number
}

const answerMsMax = 5_000
const lookMs = 1_000
const consumerIdleMs = 300_000
/** The server makes one consumer at a time. More requests would only wait, and time out. */
const openingMax = 16
/** A message that was taken this often without an outcome probably crashes its takers. */
const deliveriesMax = 1_000

/** @throws {BeaverError} `start_failed` if the stream cannot be made */
export async function natsMessageBus(
  nc: NatsConnection,
  subjects: Subjects,
  { leaseMs = 10_000 }: MessageBusOptions = {},
): Promise<MessageBus> {
  const jsm = await jetstreamManager(nc, { timeout: answerMsMax })
  await ensureChannelStream(jsm, subjects)
  return new NatsMessageBus(nc, { jsm, js: jetstream(nc, { timeout: answerMsMax }), subjects, leaseMs })
}

interface BusParts {
  readonly jsm: JetStreamManager
  readonly js: JetStreamClient
  readonly subjects: Subjects
  readonly leaseMs: number
}

class NatsMessageBus implements MessageBus {
  readonly #nc: NatsConnection
  readonly #parts: BusParts
  readonly #stream: string
  readonly #opening = new Turns(openingMax)
  readonly #uncertain: UncertainStore

  constructor(nc: NatsConnection, parts: BusParts) {
    this.#nc = nc
    this.#parts = parts
    this.#stream = parts.subjects.channelStream
    this.#uncertain = new UncertainStore(parts)
  }

  begin(message: OutboundMessage, at: string): Promise<{ readonly again: boolean }> {
    return this.#uncertain.begin(message, at).catch(fail)
  }

  withdraw(message: OutboundMessage): Promise<void> {
    return this.#uncertain.end(message.id).catch(fail)
  }

  uncertain(): Promise<readonly UncertainSends[]> {
    return this.#uncertain.all().catch(fail)
  }

  async publish<Queue extends BusQueue>(
    queue: Queue,
    message: BusMessages[Queue],
  ): Promise<{ readonly duplicate: boolean }> {
    const { js, subjects } = this.#parts
    const { lane, name } = addressOf(queue, message, subjects)
    return publishOnce(() => js.publish(lane, JSON.stringify(message), { msgID: name }), this.#nc)
  }

  async take<Queue extends BusQueue>(queue: Queue, taking: Taking<Queue>): Promise<void> {
    const { channels, signal } = taking
    const { subjects } = this.#parts
    const lanes = new Lanes((lane) => this.#serve(lane, queue, taking), signal)
    const rung = (error: Error | null, message: Msg): void =>
      void (error === null && lanes.ring(message.subject))
    const heard = channels.map((channel) =>
      this.#nc.subscribe(subjects.channelLanes(queue, channel), { callback: rung }),
    )
    while (!signal.aborted && !this.#nc.isClosed()) {
      for (const channel of channels)
        for (const [subject] of await this.#waiting(subjects.channelLanes(queue, channel)).catch(() => []))
          lanes.ring(subject)
      await pause(systemClock, lookMs, signal)
    }
    for (const each of heard) if (!each.isClosed()) each.unsubscribe()
    await lanes.ended()
  }

  async loads(): Promise<readonly BusLoad[]> {
    const found = await this.#waiting('>').catch(fail)
    return found.flatMap(([subject, messages]): BusLoad[] => {
      const [queue = '', channel = '', chat_id = '', kind] = this.#parts.subjects.channelNames(subject)
      return kind === undefined || (queue !== 'inbound' && queue !== 'outbound')
        ? []
        : [{ queue, channel, chat_id, messages }]
    })
  }

  async deadLetters(limit: number): Promise<readonly DeadLetter[]> {
    const found: DeadLetter[] = []
    for await (const message of this.#dead()) {
      if (found.length >= limit) break
      found.push(readLetter(message, this.#parts.subjects))
    }
    return found
  }

  async sendAgain(id: string): Promise<DeadLetter> {
    const { js, jsm, subjects } = this.#parts
    for await (const message of this.#dead()) {
      const letter = readLetter(message, subjects)
      if (letter.id !== id) continue
      await publishOnce(
        () => js.publish(laneOf(message), message.data, { msgID: `again-${id}-${message.seq}` }),
        this.#nc,
      )
      await jsm.streams.deleteMessage(this.#stream, message.seq).catch(fail)
      return letter
    }
    throw new BeaverError('not_found', `There is no dead letter ${JSON.stringify(id)}.`)
  }

  async #waiting(filter: string): Promise<[subject: string, messages: number][]> {
    const { state } = await this.#parts.jsm.streams.info(this.#stream, { subjects_filter: filter })
    return Object.entries(state.subjects ?? {})
  }

  async *#dead(): AsyncGenerator<StoredMsg> {
    const { jsm, subjects } = this.#parts
    for (let seq = 1; ;) {
      const message = await jsm.direct
        .getMessage(this.#stream, { seq, next_by_subj: subjects.channelDeaths })
        .catch(fail)
      if (message === null) return
      yield message
      seq = message.seq + 1
    }
  }

  async #serve<Queue extends BusQueue>(
    lane: Lane,
    queue: Queue,
    { signal, handle }: Taking<Queue>,
  ): Promise<void> {
    const consumer = await this.#open(lane.subject)
    while (!signal.aborted) {
      lane.rung = false
      const message = await nextOf(consumer, signal)
      if (message !== null) await this.#settle(message, queue, handle)
      else if (!lane.rung) return
    }
  }

  async #open(subject: string): Promise<Consumer> {
    const { js, jsm, leaseMs } = this.#parts
    await this.#opening.begin()
    const adding = jsm.consumers.add(this.#stream, {
      durable_name: `lane-${hash('sha256', subject).slice(0, 32)}`,
      filter_subject: subject,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: nanos(leaseMs),
      max_deliver: -1,
      max_ack_pending: 1,
      inactive_threshold: nanos(consumerIdleMs),
      // It holds nothing but a lease. If the server loses it, the message is delivered again.
      mem_storage: true,
    })
    return js.consumers.getConsumerFromInfo(await adding.finally(() => this.#opening.end()))
  }

  async #settle<Queue extends BusQueue>(
    message: JsMsg,
    queue: Queue,
    handle: Taking<Queue>['handle'],
  ): Promise<void> {
    const { subjects, leaseMs } = this.#parts
    const stopBeating = beating(message, leaseMs / 3)
    try {
      const read = readMessage(queue, message, subjects)
      const handled =
        'fault' in read
          ? ({ kind: 'dead', reason: read.fault } as const)
          : await handle(read.message as BusMessages[Queue])
      if (handled.kind === 'dead') await this.#bury(message, queue, handled.reason)
      if (handled.kind === 'back') message.nak()
      else {
        await message.ackAck({ timeout: answerMsMax })
        // If the note stays, this is harmless: nobody takes the message again.
        if (!('fault' in read) && 'id' in read.message)
          await this.#uncertain.end(read.message.id).catch(() => {})
      }
    } catch {
      message.nak(lookMs)
    } finally {
      stopBeating()
    }
  }

  async #bury(message: JsMsg, queue: BusQueue, reason: string): Promise<void> {
    const { subject, content, headers } = letterOf(message, queue, reason, this.#parts.subjects)
    try {
      await this.#parts.js.publish(subject, content, { headers, expect: { lastSubjectSequence: 0 } })
    } catch (error) {
      if (!isThereAlready(error)) throw error
    }
  }
}

const schemas = { inbound: inboundMessage, outbound: outboundMessage } as const

/** A message that Beaver published, at the address that it names itself. */
function readMessage(
  queue: BusQueue,
  { subject, data, info }: Pick<JsMsg, 'subject' | 'data' | 'info'>,
  subjects: Subjects,
): { message: InboundMessage | OutboundMessage } | { fault: string } {
  if (info.deliveryCount > deliveriesMax)
    return { fault: `It was taken ${deliveriesMax} times, and nobody settled it.` }
  try {
    const read = schemas[queue].safeParse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data)))
    if (!read.success)
      return {
        fault: `It is no ${queue} message: ${read.error.issues[0]?.path.join('.') ?? ''} ${read.error.issues[0]?.message ?? ''}`,
      }
    return addressOf(queue, read.data, subjects).lane === subject
      ? { message: read.data }
      : { fault: 'It names another chat than its subject.' }
  } catch (error) {
    return { fault: `It is no JSON: ${messageOf(error)}` }
  }
}

type Addressed = { readonly channel: string; readonly chat_id: string } & (
  | { readonly message_id: string; readonly kind: string; readonly user: { readonly name: string } }
  | { readonly id: string }
)

/** The lane of a message, and the name by which the server recognises it. */
function addressOf(queue: BusQueue, message: Addressed, subjects: Subjects): { lane: string; name: string } {
  const { channel, chat_id } = message
  const [kind, ...id] =
    'message_id' in message ? [message.kind, message.user.name, message.message_id] : ['message', message.id]
  return {
    lane: subjects.channelLane(queue, channel, chat_id, kind),
    name: `${queue}-${hash('sha256', JSON.stringify([channel, chat_id, ...id]))}`,
  }
}

const triesMax = 3

/** The name of the message makes another try harmless. */
async function publishOnce(
  publish: () => Promise<{ readonly duplicate: boolean }>,
  nc: NatsConnection,
): Promise<{ readonly duplicate: boolean }> {
  for (let tries = 1; ; tries++) {
    try {
      return { duplicate: (await publish()).duplicate }
    } catch (error) {
      if (isRefusedWith(error, fullStream))
        throw new BeaverError(
          'wrong_state',
          `Too many messages wait (${laneMessagesMax} of this chat, or too many in all). Send it again later.`,
        )
      if (tries >= triesMax || nc.isClosed() || (error instanceof RequestError && error.isNoResponders()))
        return fail(error)
    }
  }
}

function fail(error: unknown): never {
  throw natsFault(error)
}

/** The server has a message at a subject that must have none. */
const isThereAlready = (error: unknown): boolean => isRefusedWith(error, wrongLastMessage)

const head = { reason: 'Beaver-Reason', subject: 'Beaver-Subject' } as const
const contentBytesMax = 900_000
const reasonCharsMax = 1_000

/**
 * What is published for a message that was given up. The letter is named after the message's place, so that
 * it is written once even if the process dies before the message is removed.
 */
function letterOf(
  message: Pick<JsMsg, 'seq' | 'subject' | 'data'>,
  queue: BusQueue,
  reason: string,
  subjects: Subjects,
) {
  const [, channel = ''] = subjects.channelNames(message.subject)
  const marks = headers()
  marks.set(head.reason, encodeURIComponent(reason.slice(0, reasonCharsMax).toWellFormed()))
  marks.set(head.subject, message.subject)
  const subject = subjects.channelDead(queue, channel, `${queue === 'inbound' ? 'in' : 'out'}_${message.seq}`)
  return { subject, content: message.data.subarray(0, contentBytesMax), headers: marks }
}

const laneOf = ({ header }: { readonly header: MsgHdrs }): string => header.get(head.subject)

function readLetter(
  {
    subject,
    data,
    header,
    time,
  }: Pick<StoredMsg, 'subject' | 'data' | 'time'> & { readonly header: MsgHdrs },
  subjects: Subjects,
): DeadLetter {
  const [queue = '', channel = '', id = ''] = subjects.channelNames(subject)
  return {
    id,
    queue: queue === 'outbound' ? 'outbound' : 'inbound',
    channel,
    reason: decodedReason(header.get(head.reason)),
    died_at: time.toISOString(),
    content: new TextDecoder().decode(data),
  }
}

function decodedReason(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

// The lanes that a process serves now. A lane closes after a second without messages, and a ring opens it
// again. A stop ends the wait for the next message at once, and lets the handlers finish.

const idleMs = 1_000
const lanesMax = 10_000
const reopenMs = 1_000

interface Lane {
  readonly subject: string
  rung: boolean
}

/** The open lanes. While all places are taken, a ring has no effect; the next look finds the lane. */
class Lanes {
  readonly #open = new Map<string, Lane & { served: Promise<void> }>()
  readonly #serve: (lane: Lane) => Promise<void>
  readonly #signal: AbortSignal

  constructor(serve: (lane: Lane) => Promise<void>, signal: AbortSignal) {
    this.#serve = serve
    this.#signal = signal
  }

  ring(subject: string): void {
    const known = this.#open.get(subject)
    if (known !== undefined) known.rung = true
    else if (this.#open.size < lanesMax && !this.#signal.aborted) {
      const lane = { subject, rung: false, served: Promise.resolve() }
      this.#open.set(subject, lane)
      // If a lane fails because the server is away or its consumer was deleted, the next look opens it again.
      lane.served = this.#serve(lane)
        .catch(() => pause(systemClock, reopenMs, this.#signal))
        .finally(() => this.#open.delete(subject))
    }
  }

  async ended(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ served }) => served))
  }
}

/** The next message of a lane. `null`: none came within a second, or `signal` aborted. */
async function nextOf(consumer: Consumer, signal: AbortSignal): Promise<JsMsg | null> {
  const messages = await consumer.fetch({ max_messages: 1, expires: idleMs })
  const stop = (): void => void messages.close()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    for await (const message of messages) return message
    return null
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Keeps the lease of a message until the returned function is called. */
function beating(message: JsMsg, everyMs: number): () => void {
  let timer = systemClock.after(everyMs, function beat() {
    message.working()
    timer = systemClock.after(everyMs, beat)
  })
  return () => timer.cancel()
}

/** Lets a limited number of callers in at a time, in their order. */
class Turns {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  begin(): Promise<void> {
    if (this.#free === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#free--
    return Promise.resolve()
  }

  /** Call it once for each `begin` that resolved. */
  end(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
