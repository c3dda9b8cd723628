// Finds and makes the adapter of a network. The packages of adapters are large, so each is loaded only if a
// channel uses it.
import { BeaverError, type Logger, messageOf } from '@beaver/core'
import type { Adapter } from 'chat'
import { chatLogger } from './thin-chat.ts'

export interface AdapterOptions {
  readonly channel: string
  /** `slack`, `telegram`, or another one whose package `@chat-adapter/<name>` is installed. */
  readonly adapter: string
  /** What the adapter is given, as its documentation says, with the secrets. */
  readonly options: Readonly<Record<string, unknown>>
  /** How long the network may take to answer, in milliseconds. */
  readonly timeoutMs: number
  readonly logger: Logger
}

type Factory = (options: Readonly<Record<string, unknown>>) => Adapter

/** The adapters that come with Beaver. */
const known: Readonly<Record<string, () => Promise<Readonly<Record<string, unknown>>>>> = {
  slack: () => import('@chat-adapter/slack'),
  telegram: () => import('./telegram-adapter.ts'),
}

/** What is not to be left to an adapter: its own repetitions would be neither bounded nor counted. */
const fixed: Readonly<Record<string, (timeoutMs: number) => Readonly<Record<string, unknown>>>> = {
  slack: (timeout) => ({
    webClientOptions: { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true, timeout },
  }),
}

/** @throws {BeaverError} `invalid_configuration` */
export async function adapterOf({
  channel,
  adapter,
  options,
  timeoutMs,
  logger,
}: AdapterOptions): Promise<Adapter> {
  const factory = await factoryOf(channel, adapter)
  try {
    return factory({ ...options, ...fixed[adapter]?.(timeoutMs), logger: chatLogger(channel, logger) })
  } catch (error) {
    throw new BeaverError(
      'invalid_configuration',
      `The adapter ${adapter} of the channel ${channel} refuses its options: ${messageOf(error)}`,
      {
        cause: error,
      },
    )
  }
}

async function factoryOf(channel: string, adapter: string): Promise<Factory> {
  const name = `@chat-adapter/${adapter}`
  let loaded: Readonly<Record<string, unknown>>
  try {
    loaded = await (known[adapter]?.() ?? (import(name) as Promise<Record<string, unknown>>))
  } catch (error) {
    throw new BeaverError(
      'invalid_configuration',
      `The channel ${channel} needs the package ${name}. Install it beside Beaver.`,
      { cause: error },
    )
  }
  const factories = Object.entries(loaded).filter(
    ([key, value]) => /^create[A-Z]\w*Adapter$/.test(key) && typeof value === 'function',
  )
  const [found] = factories
  if (found === undefined || factories.length > 1)
    throw new BeaverError(
      'invalid_configuration',
      `The package ${name} of the channel ${channel} is no adapter of the Chat SDK that Beaver can use.`,
    )
  return found[1] as Factory
}
