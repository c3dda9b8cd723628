// The interface of a channel: one network of chats. A channel knows nothing of tasks, queues or approvals.
// - When `receive` resolves, the message is durable. Only then may the channel acknowledge it to its network.
// - A message that Beaver sends again has the same id. A network with idempotency keys gets this id as its
//   key. For a network without them, the host counts the tries whose outcome is unknown, and sends the
//   message again: a duplicate does less harm than a lost message.
import type { OutboundMessage } from '@beaver/contracts'

/** A message from the network. */
export interface Received {
  readonly chat_id: string
  /** The network's id of the message. */
  readonly message_id: string
  /** The writer's name in the network. */
  readonly user: string
  readonly text: string
  /** The message is a new version of an earlier message. Beaver does not read it. */
  readonly edited?: true
  /**
   * The message is in a group, and it neither mentions Beaver nor is a decision. Beaver reads it only if an
   * approver names the code of a waiting call.
   */
  readonly aside?: true
  /** When it was written, as RFC 3339. Default: now. */
  readonly at?: string | undefined
  /** What `send` needs to reach the chat, in the channel's own format. Default: the `chat_id` is enough. */
  readonly route?: string | undefined
}

/**
 * The receipt for a durable message. `duplicate`: Beaver received it before. `task_id`: the task that the
 * message becomes; `null`: it becomes none.
 */
export interface Receipt {
  readonly message_id: string
  readonly task_id: string | null
  readonly duplicate: boolean
}

/**
 * Takes a message from a channel and resolves when it is durable.
 *
 * @throws {BeaverError} `invalid_arguments`; `unreachable`, `timeout`: the message may be durable
 * nevertheless
 */
export type Receive = (message: Received) => Promise<Receipt>

/**
 * The outcome of one try to send. `later`: another try may succeed, in `afterMs` milliseconds if the network
 * gave a time. `unknown`: the network may have the message already. `partly`: the network has a part of it,
 * and the channel knows which. `never`: no try can succeed.
 */
export type Sent =
  | { readonly kind: 'sent' }
  | {
      readonly kind: 'later'
      readonly reason: string
      readonly afterMs?: number | undefined
      readonly unknown?: boolean | undefined
      readonly partly?: true
    }
  | { readonly kind: 'never'; readonly reason: string }

/** How a chat shows that Beaver works on a message. */
export interface ShownWork {
  /** Shows for some seconds that Beaver writes. It may reject. Absent: the network has no such sign. */
  readonly show?: (chat_id: string) => Promise<void>
  /** After how much work the chat gets one line of text about it, in milliseconds. */
  readonly lineAfterMs: number
}

/** One network of chats. The host starts it, sends through it and stops it. */
export interface Channel {
  /** The name in the configuration. */
  readonly name: string
  /** The network has no idempotency keys: it shows a message twice if it gets it twice. */
  readonly unkeyed?: true
  /** How the channel shows that Beaver works. Absent: it cannot. */
  readonly shownWork?: ShownWork
  /** Starts to receive messages. */
  start(receive: Receive): Promise<void>
  /**
   * Tries once to send a message. It ends soon after `signal` aborts.
   *
   * @param again an earlier try may have arrived (only if `unkeyed`)
   */
  send(message: OutboundMessage, signal: AbortSignal, again: boolean): Promise<Sent>
  /** Stops receiving. */
  stop(): Promise<void>
}

/** How the messages of a channel become tasks. */
export interface ChannelSettings {
  /** The users of Beaver, by their names in the network (D-67). */
  readonly users: Readonly<Record<string, string>>
  /**
   * The handling of names that are not in `users`. `refuse`: their messages are refused. `as_named`: each
   * name is a user of its own, `<channel>:<name>`.
   */
  readonly unknown_users: 'refuse' | 'as_named'
  /**
   * The user of all tasks and sessions of the channel. Default: the user of the writer, to whom the session
   * then belongs.
   */
  readonly user_id?: string | undefined
  /** The names in the network that may decide about calls and answer the questions of any tool. */
  readonly approvers: readonly string[]
  readonly profile?: string | undefined
  readonly workspace?: string | undefined
  /** How often Beaver tries to handle or send a message before it gives up. */
  readonly tries_max: number
}

/**
 * The user of Beaver for a name in the network. `null`: the name is unknown, and its messages are refused.
 */
export function userOf(
  channel: string,
  name: string,
  { users, unknown_users }: Pick<ChannelSettings, 'users' | 'unknown_users'>,
): string | null {
  if (Object.hasOwn(users, name)) return users[name] ?? null
  return unknown_users === 'as_named' ? `${channel}:${name}` : null
}
