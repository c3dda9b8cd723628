// The MessageBus port: the two queues between channels and tasks (GW-02 to GW-06). Adapters: JetStream
// (@beaver/nats), and the twin in memory. A message is delivered at least once, until it is settled as done
// or dead. The messages of one lane (one chat; for messages to Beaver also one kind) are delivered one after
// the other, whoever takes them; lanes run side by side. The same message, published again soon, is one
// message; later, its key must make it harmless. Some networks have no key to recognise a repeated message: a
// note is stored before a message goes there, and a message that is taken again with its note counts as
// uncertain and is sent again. A message that is unreadable, or that its handler gives up, becomes a dead
// letter, which somebody can send again; it delays nothing.
import type { InboundMessage, OutboundMessage } from './messages.ts'

/** `inbound`: from people to tasks. `outbound`: from tasks to people. */
export interface BusMessages {
  readonly inbound: InboundMessage
  readonly outbound: OutboundMessage
}
export type BusQueue = keyof BusMessages

/**
 * What became of a message. `done`: it goes. `back`: it is the next of its lane again. `dead`: nobody tries
 * it again by itself.
 */
export type Handled =
  | { readonly kind: 'done' }
  | { readonly kind: 'back' }
  | { readonly kind: 'dead'; readonly reason: string }

export interface Taking<Queue extends BusQueue> {
  /** The channels whose messages are taken. */
  readonly channels: readonly string[]
  /** What is taken already is finished by its handler; nothing else is taken afterwards. */
  readonly signal: AbortSignal
  /**
   * Settles one message. Nobody else gets the message while this runs. If it rejects, the message goes back.
   */
  handle(message: BusMessages[Queue]): Promise<Handled>
}

/** How many messages of a chat wait. */
export interface BusLoad {
  readonly queue: BusQueue
  readonly channel: string
  readonly chat_id: string
  readonly messages: number
}

/** Messages of a channel that may have arrived twice. */
export interface UncertainSends {
  readonly channel: string
  /** How many tries ended in a way that nobody knows, since the queue was made. */
  readonly tries: number
  /** The newest of them, newest first, at most 20. */
  readonly latest: readonly { readonly id: string; readonly chat_id: string; readonly at: string }[]
}

/** A message that was given up. */
export interface DeadLetter {
  readonly id: string
  readonly queue: BusQueue
  readonly channel: string
  readonly reason: string
  /** RFC 3339, UTC. */
  readonly died_at: string
  /** What was given up, as it was. */
  readonly content: string
}

export interface MessageBus {
  /**
   * The message is durable when this resolves. `duplicate`: it was there already. @throws {BeaverError}
   * `wrong_state` if too many messages wait; `unreachable`, `timeout`
   */
  publish<Queue extends BusQueue>(
    queue: Queue,
    message: BusMessages[Queue],
  ): Promise<{ readonly duplicate: boolean }>
  /** Takes messages until `signal` aborts and the last handler has ended. It waits while the bus is away. */
  take<Queue extends BusQueue>(queue: Queue, taking: Taking<Queue>): Promise<void>
  /**
   * Notes that a try to send a message begins. The note goes when the message is settled.
   *
   * @param at now, RFC 3339
   * @returns `again`: an earlier try began, and nobody knows how it ended. It is counted
   */
  begin(message: OutboundMessage, at: string): Promise<{ readonly again: boolean }>
  /** Takes the note back: the try has failed for certain. */
  withdraw(message: OutboundMessage): Promise<void>
  /** What is uncertain, by channel. */
  uncertain(): Promise<readonly UncertainSends[]>
  /** What waits, also what is taken at the moment. */
  loads(): Promise<readonly BusLoad[]>
  /** The dead letters, oldest first. @param limit at most this many */
  deadLetters(limit: number): Promise<readonly DeadLetter[]>
  /** Puts a dead letter at the end of its lane. @throws {BeaverError} `not_found` */
  sendAgain(id: string): Promise<DeadLetter>
}
