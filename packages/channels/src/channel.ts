// What a channel is: one network of chats behind one small interface. It knows nothing of tasks, queues or
// approvals. What a channel receives is durable when `receive` resolves. It tells its network so only then. A
// channel sends a message again with the same id. A network with idempotency keys is given the id. For a
// network without them, a try whose end nobody knows is counted, and the message is sent again: a message
// that comes twice does less harm than one that is lost.
import type { OutboundMessage } from '@beaver/contracts'

/** A message as its network tells it. */
export interface Received {
  readonly chat_id: string
  /** The network's id of the message. */
  readonly message_id: string
  /** Who wrote it, by the name in the network. */
  readonly user: string
  readonly text: string
  /** The person has changed a message that was there before. It is not read. */
  readonly edited?: true
  /**
   * It was written in a group, and calls Beaver neither by its name nor with a decision. It is read only if
   * an approver names a call that waits.
   */
  readonly aside?: true
  /** RFC 3339. Default: now. */
  readonly at?: string | undefined
  /** What `send` needs to reach the chat. Default: nothing but the `chat_id`. */
  readonly route?: string | undefined
}

/**
 * A message that is durable. `duplicate`: it was received before. `task_id`: the task that it becomes;
 * `null`: it becomes none.
 */
export interface Receipt {
  readonly message_id: string
  readonly task_id: string | null
  readonly duplicate: boolean
}

/** @throws {BeaverError} `invalid_arguments`; `unreachable`, `timeout`: the message may be durable */
export type Receive = (message: Received) => Promise<Receipt>

/**
 * What became of one try. `later`: it may succeed, after `afterMs` if the network says when; `unknown`: the
 * network may have the message all the same; `partly`: it has a part of it, and the channel knows which.
 * `never`: it will not.
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
  /** Shows it for some seconds, as if somebody wrote. It may reject. Absent: the network cannot do it. */
  readonly show?: (chat_id: string) => Promise<void>
  /** After how much work the chat gets a line about it, in milliseconds. */
  readonly lineAfterMs: number
}

export interface Channel {
  /** As the configuration names it. */
  readonly name: string
  /** The network has no key of idempotency: what is sent twice is there twice. */
  readonly unkeyed?: true
  /** Absent: it shows nothing. */
  readonly shownWork?: ShownWork
  /** Begins to receive. */
  start(receive: Receive): Promise<void>
  /**
   * Tries once to send a message. It ends soon after `signal` aborts. @param again an earlier try may have
   * arrived (only if `unkeyed`)
   */
  send(message: OutboundMessage, signal: AbortSignal, again: boolean): Promise<Sent>
  /** Ends receiving. */
  stop(): Promise<void>
}

/** How the messages of a channel become tasks. */
export interface ChannelSettings {
  /** The users of Beaver behind the names of the network (D-67). */
  readonly users: Readonly<Record<string, string>>
  /** What happens to the messages of others. `as_named`: each is a user of its own, `<channel>:<name>`. */
  readonly unknown_users: 'refuse' | 'as_named'
  /** The user to whom all sessions of the channel belong. Default: each person's session is their own. */
  readonly user_id?: string | undefined
  /** The names of the network whose decisions about calls count, and whose answers to what tools ask. */
  readonly approvers: readonly string[]
  readonly profile?: string | undefined
  readonly workspace?: string | undefined
  /** How often a message is tried. */
  readonly tries_max: number
}

/** The user of Beaver for whom a person in a channel asks. `null`: nobody is known by this name. */
export function userOf(
  channel: string,
  name: string,
  { users, unknown_users }: Pick<ChannelSettings, 'users' | 'unknown_users'>,
): string | null {
  if (Object.hasOwn(users, name)) return users[name] ?? null
  return unknown_users === 'as_named' ? `${channel}:${name}` : null
}
