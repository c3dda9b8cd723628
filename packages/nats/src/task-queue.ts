// The TaskQueue port on two durable consumers that all daemons share: one for the first entries of the
// journal stream, one for wakes. One write accepts and queues a task, so no second stream can miss it
// (docs/decisions/0031). A new wake replaces one that no daemon has taken yet. While an older one is under
// way, the newer one is delivered too.
import { BeaverError, type LogId, messageOf } from '@beaver/core'
import type { Delivery, Entry, TaskQueue, Wake } from '@beaver/core/journal'
import {
  AckPolicy,
  type Consumer,
  DeliverPolicy,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type JsMsg,
} from '@nats-io/jetstream'
import { type NatsConnection, nanos } from '@nats-io/nats-core'
import { queueConsumer } from './permissions.ts'
import { signatureIn } from './publish-batch.ts'
import { refused } from './request-guard.ts'
import { ensureWakeStream } from './stream.ts'
import type { Subjects } from './subjects.ts'

type Source = 'accepted' | 'woken'

const wakeMsMax = 5_000
const triesMax = 5
const leaseCharsMax = 1_000
const alarmHeader = 'Nats-Scheduler'

export interface TaskQueueOptions {
  /** A delivery that is neither acknowledged nor extended for this long is delivered again. */
  readonly leaseMs: number
  /** The server's time, by which alarms are set, in milliseconds since 1970. */
  readonly now: () => number
}

export async function natsTaskQueue(
  nc: NatsConnection,
  subjects: Subjects,
  options: TaskQueueOptions,
): Promise<TaskQueue> {
  const jsm = await jetstreamManager(nc)
  const js = jetstream(nc, { timeout: wakeMsMax })
  await ensureWakeStream(jsm, subjects)
  const consumers: Record<Source, Consumer | null> = { accepted: null, woken: null }
  const open = async (source: Source): Promise<Consumer> => {
    const stream = source === 'accepted' ? subjects.stream : subjects.wakeStream
    await ensureConsumer(jsm, {
      stream,
      filter: source === 'accepted' ? subjects.acceptances : subjects.wakes,
      leaseMs: options.leaseMs,
    })
    return js.consumers.get(stream, queueConsumer)
  }
  for (const source of ['accepted', 'woken'] as const) consumers[source] = await open(source)

  /** A second wake is harmless, so a wake whose answer was lost is sent again. */
  async function publish(
    subject: string,
    { name, atMs, target }: { name?: string; atMs?: number; target?: string },
  ): Promise<void> {
    const schedule =
      atMs === undefined || target === undefined
        ? {}
        : { schedule: { specification: new Date(atMs), target } }
    for (let tries = 1; ; tries++) {
      try {
        await js.publish(subject, '', { ...(name === undefined ? {} : { msgID: name }), ...schedule })
        return
      } catch (cause) {
        if (tries >= triesMax || nc.isClosed())
          throw new BeaverError('unreachable', `The task could not be woken: ${messageOf(cause)}`, { cause })
      }
    }
  }

  return {
    adopt: (delivery) => adopted(nc, subjects, delivery),
    async *pull({ of, deliveriesMax, waitMs, signal }) {
      let stop = (): void => {}
      try {
        const consumer = (consumers[of] ??= await open(of))
        const messages = await consumer.fetch({
          max_messages: deliveriesMax,
          expires: Math.max(1_000, waitMs),
        })
        stop = () => void messages.close()
        signal.addEventListener('abort', stop, { once: true })
        if (signal.aborted) stop()
        for await (const message of messages) {
          const log =
            of === 'accepted' ? subjects.entryLog(message.subject) : subjects.wakeLog(message.subject)
          if (log !== null) yield delivery(message, log, of)
          else {
            message.term('Beaver: the subject names no task')
            refused(nc)
          }
        }
      } catch (error) {
        consumers[of] = null // Somebody may have deleted the consumer. The next pull makes it again.
        throw error
      } finally {
        signal.removeEventListener('abort', stop)
      }
    },
    wake: (log, { name }: Wake = {}) => publish(subjects.wake(log), name === undefined ? {} : { name }),
    wakeIn: (log, delayMs) =>
      publish(subjects.alarm(log), {
        atMs: options.now() + Math.max(0, delayMs),
        target: subjects.wake(log),
      }),
  }
}

async function ensureConsumer(
  jsm: JetStreamManager,
  { stream, filter, leaseMs }: { stream: string; filter: string; leaseMs: number },
): Promise<void> {
  const config = {
    durable_name: queueConsumer,
    description: 'Beaver: tasks on their way to a daemon',
    filter_subject: filter,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: nanos(leaseMs),
    max_deliver: -1,
    max_ack_pending: 100_000,
  }
  try {
    await jsm.consumers.add(stream, config)
  } catch (cause) {
    // Another daemon made the consumer with another lease. The newest configuration wins.
    await jsm.consumers.update(stream, queueConsumer, { ack_wait: nanos(leaseMs) }).catch(() => {
      throw new BeaverError('start_failed', `The task queue cannot be set up: ${messageOf(cause)}`, { cause })
    })
  }
}

function delivery(message: JsMsg, log: LogId, source: Source): Delivery {
  const cause =
    source === 'accepted' ? 'accepted' : message.headers?.has(alarmHeader) === true ? 'alarm' : 'woken'
  return {
    log,
    deliveries: message.info.deliveryCount,
    cause,
    first: source === 'accepted' ? entryOf(message) : null,
    // The client's class has this field, but its interface does not.
    lease: (message as JsMsg & { readonly reply: string }).reply,
    acknowledge: () => message.ack(),
    giveBack: (pauseMs) => message.nak(pauseMs),
    extend: () => message.working(),
    refuse: (reason) => message.term(reason),
  }
}

function entryOf(message: JsMsg): Entry {
  return {
    revision: message.seq,
    payload: message.data,
    timeMs: Number(message.timestampNanos / 1_000_000n),
    signature: signatureIn(message.headers),
  }
}

type Described = Pick<Delivery, 'log' | 'deliveries' | 'lease' | 'cause'>

/**
 * Whether a text is the reply subject of a delivery of this queue: `$JS.ACK.<stream>.daemons.…`, or
 * `$JS.ACK.<domain>.<account>.<stream>.daemons.…`. Another daemon sent it, so it could be any subject.
 */
function isLease(lease: string, stream: string): boolean {
  const tokens = lease.split('.')
  if (
    lease.length > leaseCharsMax ||
    tokens[0] !== '$JS' ||
    tokens[1] !== 'ACK' ||
    !tokens.every((token) => /^[^\s*>]+$/.test(token))
  )
    return false
  const at = tokens.length === 9 ? 2 : 4
  return tokens.length >= 9 && tokens[at] === stream && tokens[at + 1] === queueConsumer
}

/** Each delivery has its own reply subject, so any connection can answer it. */
function adopted(
  nc: NatsConnection,
  subjects: Subjects,
  { log, deliveries, lease, cause }: Described,
): Delivery {
  if (!isLease(lease, cause === 'accepted' ? subjects.stream : subjects.wakeStream))
    throw new BeaverError('invalid_arguments', `${JSON.stringify(lease)} is not a lease of the task queue.`)
  const tell = (what: string): void => nc.publish(lease, what)
  return {
    log,
    deliveries,
    cause,
    first: null,
    lease,
    acknowledge: () => tell('+ACK'),
    giveBack: (pauseMs) => tell(`-NAK ${JSON.stringify({ delay: nanos(pauseMs) })}`),
    extend: () => tell('+WPI'),
    refuse: (reason) => tell(`+TERM ${reason}`),
  }
}
