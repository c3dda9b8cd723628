// The part of the Chat SDK that adapters call, reduced to messages: it passes messages on and ignores
// everything else, such as reactions and buttons. It stores nothing durable. The SDK would drop repeated
// messages before they are durable, by its own state; here the bus recognises them by their ids. Messages
// that an adapter passes on while it answers a request are collected, so that the request is answered only
// when all of them are durable.
import type {
  Adapter,
  ChatInstance,
  Lock,
  Logger as ChatLogger,
  Message,
  StateAdapter,
  WebhookOptions,
} from 'chat'
import type { Logger } from '@beaver/core'

/** The options of one request. `taken`: the messages that the adapter passed on during the request. */
export interface Intake extends WebhookOptions {
  readonly taken: Promise<void>[]
}

export interface ThinChatOptions {
  readonly name: string
  readonly logger: Logger
  /**
   * Takes a message.
   *
   * @param lasting whether the network does not repeat the message, so that it must be tried until it is
   * durable
   */
  take(message: Message, lasting: boolean): Promise<void>
}

export function thinChat({ name, logger, take }: ThinChatOptions): ChatInstance {
  const log = chatLogger(name, logger)
  const state = thinState()
  const taken = (message: Message | (() => Promise<Message>), options?: WebhookOptions): Promise<void> => {
    const request = options !== undefined && 'taken' in options ? (options as Intake) : null
    const taking = (async () =>
      take(typeof message === 'function' ? await message() : message, request === null))()
    request?.taken.push(taking)
    // Some adapters do not handle a rejection.
    taking.catch(() => {})
    return taking
  }
  const refused = (): never => {
    throw new Error('Beaver keeps no history of chats.')
  }
  const nothing = (): void => {}
  const nothingSoon = async (): Promise<void> => {}
  return {
    abortTurn: nothingSoon,
    getLogger: () => log,
    getState: () => state,
    getUserName: () => 'beaver',
    handleIncomingMessage: (_adapter, _thread, message) => taken(message),
    get history() {
      return refused()
    },
    get transcripts() {
      return refused()
    },
    processAction: nothingSoon,
    processAgentSessionStopped: nothing,
    processAgentSessionTitleChanged: nothing,
    processAppContextChanged: nothing,
    processAppHomeOpened: nothing,
    processAssistantContextChanged: nothing,
    processAssistantThreadStarted: nothing,
    processMemberJoinedChannel: nothing,
    processMessage: (_adapter, _thread, message, options) => taken(message, options),
    processMessageDeleted: nothingSoon,
    processMessageUpdated: async ({ message }, options) => taken(message, options),
    processModalClose: nothing,
    processModalSubmit: async () => undefined,
    processOptionsLoad: async () => undefined,
    processReaction: nothing,
    // In networks such as Telegram, a command is a message that begins with "/". It is taken as a message.
    processSlashCommand: ({ adapter, raw }, options) =>
      isMessage(raw) ? taken((adapter as Adapter).parseMessage(raw), options) : undefined,
  }
}

const isMessage = (raw: unknown): boolean => typeof raw === 'object' && raw !== null && 'message_id' in raw

/**
 * A state that adapters need for a moment, for example for the pictures of one message. It holds at most
 * 1,000 values in memory.
 */
function thinState(): StateAdapter {
  const kept = new Map<string, unknown>()
  const keptMax = 1_000
  const put = (key: string, value: unknown): void => {
    kept.delete(key)
    kept.set(key, value)
    if (kept.size > keptMax) kept.delete(kept.keys().next().value as string)
  }
  const locked = new Set<string>()
  const none = async (): Promise<void> => {}
  return {
    acquireLock: async (threadId): Promise<Lock | null> => {
      if (locked.has(threadId)) return null
      locked.add(threadId)
      return { threadId, token: threadId, expiresAt: Number.MAX_SAFE_INTEGER }
    },
    releaseLock: async ({ threadId }) => void locked.delete(threadId),
    forceReleaseLock: async (threadId) => void locked.delete(threadId),
    extendLock: async () => true,
    // A claim always succeeds: the bus recognises repeated messages.
    setIfNotExists: async () => true,
    get: async <T>(key: string) => (kept.get(key) ?? null) as T | null,
    set: async (key, value) => put(key, value),
    delete: async (key) => void kept.delete(key),
    getList: async () => [],
    appendToList: none,
    connect: none,
    disconnect: none,
    enqueue: async () => 0,
    dequeue: async () => null,
    queueDepth: async () => 0,
    isSubscribed: async () => false,
    subscribe: none,
    unsubscribe: none,
  }
}

/**
 * The logger of an adapter. Only warnings and errors are logged, in a short form, because the details may be
 * long and may contain texts of strangers.
 */
export function chatLogger(channel: string, logger: Logger): ChatLogger {
  const warn = (message: string, rest: readonly unknown[]): void => {
    const [first] = rest
    const error =
      typeof first === 'object' && first !== null && 'error' in first
        ? String(first.error).slice(0, 300)
        : undefined
    logger.warn('network_warns', message.slice(0, 300), { channel, error })
  }
  const log: ChatLogger = {
    child: () => log,
    debug: () => {},
    info: () => {},
    warn: (message, ...rest) => warn(message, rest),
    error: (message, ...rest) => warn(message, rest),
  }
  return log
}
