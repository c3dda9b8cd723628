// The channels of one process: what they receive goes into the queue `inbound`, the bridge takes it from
// there, and what it answers goes through the queue `outbound` to the channel. A message that cannot be sent
// holds up its chat until it is sent or dead, and no other chat. A message that a network repeats after hours
// changes nothing: the task that it became tells. A stop leaves what was not processed to the next process,
// or turns it into errors (GW-05). It ends within bounded time.
import {
  type Handled,
  type InboundMessage,
  inboundMessage,
  type MessageBus,
  type OutboundMessage,
} from '@beaver/contracts'
import { BeaverError, type Clock, type Logger, pause, silentLogger, systemClock } from '@beaver/core'
import { editedNotice, failed } from './answers.ts'
import { Bridge, type TaskClient } from './bridge.ts'
import { type Channel, type ChannelSettings, type Receipt, type Received, userOf } from './channel.ts'
import { decisionIn } from './decision.ts'
import { sessionIdOf, taskIdOf } from './message-ids.ts'
import { persist, type Tried } from './persist.ts'

export interface ChannelHostOptions {
  readonly bus: MessageBus
  readonly client: TaskClient
  readonly channels: readonly { readonly channel: Channel; readonly settings: ChannelSettings }[]
  /** What a stop does with messages that have no answer yet. Default: `keep` */
  readonly onStop?: 'keep' | 'errors'
  readonly clock?: Clock
  readonly logger?: Logger
}

export interface ChannelHost {
  /** Resolves when the channels have stopped and what was under way is settled or left. */
  stop(): Promise<void>
}

/** How long messages may be turned into errors and sent when the host stops, in milliseconds. */
const flushMsMax = 4_000
/** How long a message that is being sent may take when the host stops, in milliseconds. */
const sendMsMax = 1_000
const lookMs = 50
/** The bus surely knows the name of a message for this long, in milliseconds. */
const knownMs = 600_000
/**
 * How long the read model may take to say whether a task exists, or what a chat waits for, in milliseconds.
 */
const askMsMax = 2_000
const editedChatsMax = 1_000

/** Starts the channels. @throws what the start of a channel throws; the others are stopped then */
export async function startChannels(options: ChannelHostOptions): Promise<ChannelHost> {
  const { bus, client, channels, onStop = 'keep', clock = systemClock, logger = silentLogger } = options
  const settings = new Map(channels.map((each) => [each.channel.name, each.settings]))
  const names = [...settings.keys()]
  const [noMore, noneSent, giveUp] = [new AbortController(), new AbortController(), new AbortController()]
  const shownWork = new Map(channels.map(({ channel }) => [channel.name, channel.shownWork]))
  const bridge = new Bridge({ client, bus, settings, shownWork, clock }, noMore.signal)
  const sender = new Map(channels.map((each) => [each.channel.name, each]))
  const taking = bus.take('inbound', {
    channels: names,
    signal: noMore.signal,
    handle: (message) => bridge.handle(message).then(told(logger, message)),
  })
  const sending = bus.take('outbound', {
    channels: names,
    signal: noneSent.signal,
    handle: (message) =>
      sent(message, sender.get(message.channel), {
        bus,
        clock,
        stop: noneSent.signal,
        giveUp: giveUp.signal,
      }).then(told(logger, message)),
  })
  async function stop(): Promise<void> {
    await Promise.allSettled(channels.map(({ channel }) => channel.stop()))
    noMore.abort()
    await taking
    if (onStop === 'errors') await flush(bus, names, clock)
    noneSent.abort()
    const late = clock.after(sendMsMax, () => giveUp.abort())
    await sending
    late.cancel()
  }
  const intake = {
    bus,
    client,
    clock,
    bridge,
    edits: new Set<string>(),
    last: new Map<string, Promise<unknown>>(),
  }
  try {
    for (const { channel, settings: of } of channels)
      await channel.start((message) => receive(intake, { channel: channel.name, of }, message))
  } catch (error) {
    await stop()
    throw error
  }
  return { stop }
}

interface Intake {
  readonly bus: MessageBus
  readonly client: TaskClient
  readonly clock: Clock
  readonly bridge: Pick<Bridge, 'overtakes' | 'namesCall'>
  /**
   * The chats in which a person has been told that edited messages are not read, and has written nothing
   * since.
   */
  readonly edits: Set<string>
  /** The last message of each chat that is on its way into the queue. */
  readonly last: Map<string, Promise<unknown>>
}

async function receive(
  intake: Intake,
  { channel, of }: { readonly channel: string; readonly of: ChannelSettings },
  received: Received,
): Promise<Receipt> {
  const { bus, clock, bridge, edits } = intake
  const now = new Date(clock.now()).toISOString()
  const { chat_id, message_id, user: name, text, at = now, route } = received
  const user = { name, user_id: userOf(channel, name, of) }
  const chat = sessionIdOf({ channel, chat_id })
  if (
    received.aside === true &&
    (received.edited === true ||
      !(await orFalse(clock, bridge.namesCall({ channel, chat_id, text, user }, of))))
  )
    return { message_id, task_id: null, duplicate: false }
  if (received.edited === true) {
    const isTold = user.user_id === null || edits.has(chat)
    if (!isTold) await bus.publish('outbound', editedNotice({ channel, chat_id, message_id, route }, now))
    if (!isTold && edits.size < editedChatsMax) edits.add(chat)
    return { message_id, task_id: null, duplicate: isTold }
  }
  edits.delete(chat)
  const before = intake.last.get(chat)
  const taking = take(intake, { channel, of, before }, { ...received, user, at })
  const settled = taking.then(nothing, nothing)
  intake.last.set(chat, settled)
  void settled.then(() => intake.last.get(chat) === settled && intake.last.delete(chat))
  return taking
}

const nothing = (): void => {}

/** @param before it is in the queue first, so that the order of the chat stays */
async function take(
  intake: Intake,
  {
    channel,
    of,
    before,
  }: {
    readonly channel: string
    readonly of: ChannelSettings
    readonly before: Promise<unknown> | undefined
  },
  {
    chat_id,
    message_id,
    user,
    text,
    at,
    route,
  }: Omit<Received, 'user' | 'at'> & Pick<InboundMessage, 'user' | 'at'>,
): Promise<Receipt> {
  const { bus, clock, bridge } = intake
  const isDecision = decisionIn(text) !== null
  const isControl =
    isDecision || (await orFalse(clock, bridge.overtakes({ channel, chat_id, message_id, user }, of)))
  await before
  const kind = isControl ? 'control' : 'message'
  const read = inboundMessage.safeParse({ channel, chat_id, message_id, kind, user, text, route, at })
  if (!read.success) {
    const problems = read.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
    throw new BeaverError(
      'invalid_arguments',
      `The message is not valid: ${problems[0]?.path ?? ''} ${problems[0]?.message ?? ''}.`,
      { problems },
    )
  }
  const task_id = kind === 'message' ? taskIdOf(read.data) : null
  const isOld = clock.now() - Date.parse(at) > knownMs
  const ofText = isDecision ? null : taskIdOf(read.data)
  if (isOld && ofText !== null && (await isTask(intake, ofText)))
    return { message_id, task_id: ofText, duplicate: true }
  const { duplicate } = await bus.publish('inbound', read.data)
  return { message_id, task_id, duplicate }
}

/**
 * The bus forgets the names of messages after a while. Only a message that was received becomes its task. If
 * the read model is away, the message goes into the queue again: it meets its task there, and its answer has
 * the same id.
 */
function isTask({ client, clock }: Intake, task_id: string): Promise<boolean> {
  return orFalse(
    clock,
    client.query('task', { task_id, limit: 1 }).then(() => true),
  )
}

/** The read model may be late or away. */
function orFalse(clock: Clock, asked: Promise<boolean>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const late = clock.after(askMsMax, () => resolve(false))
  return Promise.race([asked.catch(() => false), promise]).finally(() => late.cancel())
}

async function sent(
  message: OutboundMessage,
  by: { readonly channel: Channel; readonly settings: ChannelSettings } | undefined,
  { bus, clock, stop, giveUp }: { bus: MessageBus; clock: Clock; stop: AbortSignal; giveUp: AbortSignal },
): Promise<Handled> {
  if (by === undefined) return { kind: 'back' }
  const { channel, settings } = by
  // Whether this process wrote the note of a try, and knows how the try ended.
  let isKnown = false
  return persist({ triesMax: settings.tries_max, clock, signal: stop }, async (): Promise<Tried> => {
    const asks = channel.unkeyed === true && !isKnown
    const { again } = asks ? await bus.begin(message, new Date(clock.now()).toISOString()) : { again: false }
    const outcome = await channel.send(message, giveUp, again)
    if (outcome.kind !== 'later')
      return outcome.kind === 'sent' ? { kind: 'done' } : { kind: 'dead', reason: outcome.reason }
    isKnown = channel.unkeyed === true && outcome.partly === true && outcome.unknown !== true
    if (channel.unkeyed === true && outcome.unknown !== true && !isKnown) await bus.withdraw(message)
    return outcome
  })
}

/** Says in the log what was given up. */
const told =
  (logger: Logger, { channel }: { readonly channel: string }) =>
  (handled: Handled): Handled => {
    if (handled.kind === 'dead')
      logger.warn('message_given_up', `A message of a channel was given up: ${handled.reason}`, { channel })
    return handled
  }

/** Turns each message that waits into an error, and waits until the errors are sent. */
async function flush(bus: MessageBus, channels: readonly string[], clock: Clock): Promise<void> {
  const over = new AbortController()
  const late = clock.after(flushMsMax, () => over.abort())
  const handle = async (message: InboundMessage): Promise<Handled> => {
    const why = 'The gateway was stopped before it had an answer. Write it again when the gateway is back.'
    const task_id = message.kind === 'message' ? taskIdOf(message) : null
    await bus.publish(
      'outbound',
      failed(
        message,
        { code: 'gateway_stopped', message: why, task_id },
        new Date(clock.now()).toISOString(),
      ),
    )
    return { kind: 'done' }
  }
  const flushing = bus.take('inbound', { channels, signal: over.signal, handle })
  while (
    !over.signal.aborted &&
    (await bus.loads().catch(() => [])).some((load) => channels.includes(load.channel))
  )
    await pause(clock, lookMs, over.signal)
  late.cancel()
  over.abort()
  await flushing
}
