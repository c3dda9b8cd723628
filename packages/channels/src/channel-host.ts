// Runs the channels of one process. What a channel receives goes into the queue `inbound`. The bridge takes
// messages from there and puts its answers into the queue `outbound`, from which the host gives them to their
// channels.
// - A message that cannot be sent delays only its own chat, until it is sent or given up.
// - If a network repeats a message after hours, when the queue has forgotten it, the existing task shows that
//   it is a duplicate.
// - On a stop, unanswered messages stay in the queue for the next process, or get errors as answers (GW-05).
//   A stop takes bounded time.
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
  /**
   * What a stop does with messages that have no answer yet. `keep`: they stay in the queue. `errors`: each
   * gets an error as its answer. Default: `keep`.
   */
  readonly onStop?: 'keep' | 'errors'
  readonly clock?: Clock
  readonly logger?: Logger
}

export interface ChannelHost {
  /**
   * Stops the channels. Resolves when no message is being handled any more. Messages without an answer are
   * treated as `onStop` says.
   */
  stop(): Promise<void>
}

/** How long a stop with `errors` may take to send the errors, in milliseconds. */
const flushMsMax = 4_000
/** How long a message that is being sent may continue after a stop, in milliseconds. */
const sendMsMax = 1_000
const lookMs = 50
/** How long the bus is certain to recognise a repeated message, in milliseconds. */
const knownMs = 600_000
/**
 * How long the host waits for the read model, in milliseconds. It asks whether a task exists, and what a chat
 * waits for.
 */
const askMsMax = 2_000
const editedChatsMax = 1_000

/** Starts the channels. If one of them fails to start, the others are stopped, and its error is thrown. */
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
    for (const { channel, settings } of channels)
      await channel.start((message) => receive(intake, { channel: channel.name, settings }, message))
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
  /** The chats that got the notice about edited messages and have had no new message since. */
  readonly edits: Set<string>
  /** By chat: the last message that is on its way into the queue. */
  readonly last: Map<string, Promise<unknown>>
}

async function receive(
  intake: Intake,
  { channel, settings }: { readonly channel: string; readonly settings: ChannelSettings },
  received: Received,
): Promise<Receipt> {
  const { bus, clock, bridge, edits } = intake
  const now = new Date(clock.now()).toISOString()
  const { chat_id, message_id, user: name, text, at = now, route } = received
  const user = { name, user_id: userOf(channel, name, settings) }
  const chat = sessionIdOf({ channel, chat_id })
  if (
    received.aside === true &&
    (received.edited === true ||
      !(await orFalse(clock, bridge.namesCall({ channel, chat_id, text, user }, settings))))
  )
    return { message_id, task_id: null, duplicate: false }
  if (received.edited === true) {
    const isTold = user.user_id === null || edits.has(chat)
    if (!isTold)
      await bus.publish('outbound', editedNotice({ channel, chat_id, message_id, user, route }, now))
    if (!isTold && edits.size < editedChatsMax) edits.add(chat)
    return { message_id, task_id: null, duplicate: isTold }
  }
  edits.delete(chat)
  const before = intake.last.get(chat)
  const taking = take(intake, { channel, settings, before }, { ...received, user, at })
  const settled = taking.then(nothing, nothing)
  intake.last.set(chat, settled)
  void settled.then(() => intake.last.get(chat) === settled && intake.last.delete(chat))
  return taking
}

const nothing = (): void => {}

/**
 * Puts a message into the queue.
 *
 * @param before the previous message of the chat. It must enter the queue first, to keep the order
 */
async function take(
  intake: Intake,
  {
    channel,
    settings,
    before,
  }: {
    readonly channel: string
    readonly settings: ChannelSettings
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
    isDecision || (await orFalse(clock, bridge.overtakes({ channel, chat_id, message_id, user }, settings)))
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
 * Whether the message's task exists, which shows that the message was received before. This is for old
 * messages, which the bus no longer recognises. If the read model does not answer, the message enters the
 * queue again. This is harmless: it finds its task, and its answer has the same id.
 */
function isTask({ client, clock }: Intake, task_id: string): Promise<boolean> {
  return orFalse(
    clock,
    client.query('task', { task_id, limit: 1 }).then(() => true),
  )
}

/** The value, or `false` if the read model fails or does not answer in time. */
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
  // Whether this process wrote the note for the message and knows the outcome of that try.
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

/** Logs a message that was given up. */
const told =
  (logger: Logger, { channel }: { readonly channel: string }) =>
  (handled: Handled): Handled => {
    if (handled.kind === 'dead')
      logger.warn('message_given_up', `A message of a channel was given up: ${handled.reason}`, { channel })
    return handled
  }

/** Answers each waiting message with an error, and waits until the errors are sent. */
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
