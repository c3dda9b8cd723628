// The part of the Chat SDK that an adapter talks to, as thin as it can be: messages go on, and everything
// else is nothing. It keeps no state. The SDK would drop repeated messages by its state before they are
// durable; the bus knows them by their ids instead. What an adapter hands over while it answers a request is
// collected, so that the request is answered when all of it is durable. Reactions, buttons and the other
// things of a network are not messages, so nobody hears them.
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

/** The options of one request. `taken`: what the adapter handed over while it answered. */
export interface Intake extends WebhookOptions {
  readonly taken: Promise<void>[]
}

export interface ThinChatOptions {
  readonly name: string
  readonly logger: Logger
  /** Takes a message. @param lasting nobody repeats the message: it is tried until it is durable */
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
    // Some adapters do not look at what becomes of it.
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
    // Where a command is a message that begins with "/", such as in Telegram, it is taken as one.
    processSlashCommand: ({ adapter, raw }, options) =>
      isMessage(raw) ? taken((adapter as Adapter).parseMessage(raw), options) : undefined,
  }
}

const isMessage = (raw: unknown): boolean => typeof raw === 'object' && raw !== null && 'message_id' in raw

/** Remembers what belongs together for a moment, such as the pictures of one message, and no more. */
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
    // A claim always holds: the bus knows what was there before.
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
 * What adapters say goes into the log, if it is a warning. What they know beside it may be long, and of
 * strangers.
 */
export function chatLogger(channel: string, logger: Logger): ChatLogger {
  const told = (message: string, rest: readonly unknown[]): void => {
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
    warn: (message, ...rest) => told(message, rest),
    error: (message, ...rest) => told(message, rest),
  }
  return log
}
