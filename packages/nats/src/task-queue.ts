// The TaskQueue port: one durable consumer, shared by all daemons, on the acceptances of the journal stream itself.
// A task is accepted and queued by one write; there is no second stream that could miss it (docs/decisions/0003).
import { BeaverError, type Delivery, type LogId, messageOf, type TaskQueue } from '@beaver/core'
import { AckPolicy, type Consumer, DeliverPolicy, type JetStreamManager, jetstream, jetstreamManager, type JsMsg } from '@nats-io/jetstream'
import { type NatsConnection, nanos } from '@nats-io/nats-core'
import { acceptance } from './journal-reader.ts'
import type { Subjects } from './subjects.ts'

const durable = 'daemons'

/** @param leaseMs a delivery neither acknowledged nor extended for this long is delivered again */
export async function natsTaskQueue(nc: NatsConnection, subjects: Subjects, options: { leaseMs: number }): Promise<TaskQueue> {
  const jsm = await jetstreamManager(nc)
  const open = async (): Promise<Consumer> => {
    await ensureConsumer(jsm, subjects, options.leaseMs)
    return jetstream(nc).consumers.get(subjects.stream, durable)
  }
  let consumer: Consumer | null = await open()
  return {
    adopt: (delivery) => adopted(nc, delivery),
    async *pull({ deliveriesMax, waitMs, signal }) {
      consumer ??= await open()
      let stop = (): void => {}
      try {
        const messages = await consumer.fetch({ max_messages: deliveriesMax, expires: Math.max(1_000, waitMs) })
        stop = () => void messages.close()
        signal.addEventListener('abort', stop, { once: true })
        if (signal.aborted) stop()
        for await (const message of messages) yield delivery(message)
      } catch (error) {
        consumer = null // somebody may have deleted it: make it again
        throw error
      } finally {
        signal.removeEventListener('abort', stop)
      }
    },
  }
}

async function ensureConsumer(jsm: JetStreamManager, subjects: Subjects, leaseMs: number): Promise<void> {
  const config = {
    durable_name: durable,
    description: 'Beaver: accepted tasks on their way to a daemon',
    filter_subject: subjects.acceptances,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: nanos(leaseMs),
    max_deliver: -1,
    max_ack_pending: 100_000,
  }
  try {
    await jsm.consumers.add(subjects.stream, config)
  } catch (cause) {
    // Another daemon made it with another lease: the newest configuration wins.
    await jsm.consumers.update(subjects.stream, durable, { ack_wait: nanos(leaseMs) }).catch(() => {
      throw new BeaverError('start_failed', `The task queue cannot be set up: ${messageOf(cause)}`, { cause })
    })
  }
}

function delivery(message: JsMsg): Delivery {
  return {
    log: acceptance.parse(message.json()) as LogId,
    deliveries: message.info.deliveryCount,
    // The client's class has it; its interface leaves it out.
    lease: (message as JsMsg & { readonly reply: string }).reply,
    acknowledge: () => message.ack(),
    giveBack: (pauseMs) => message.nak(pauseMs),
    extend: () => message.working(),
  }
}

/** A delivery is answered at a subject of its own, over whatever connection. */
function adopted(nc: NatsConnection, { log, deliveries, lease }: Pick<Delivery, 'log' | 'deliveries' | 'lease'>): Delivery {
  if (!/^\$JS\.ACK\.[^\s*>]+$/.test(lease)) throw new BeaverError('invalid_arguments', `${JSON.stringify(lease)} is no lease of the task queue.`)
  const tell = (what: string): void => nc.publish(lease, what)
  return {
    log,
    deliveries,
    lease,
    acknowledge: () => tell('+ACK'),
    giveBack: (pauseMs) => tell(`-NAK ${JSON.stringify({ delay: nanos(pauseMs) })}`),
    extend: () => tell('+WPI'),
  }
}
