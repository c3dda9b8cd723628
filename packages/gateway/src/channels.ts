// The channels of a gateway: made from its configuration, and reached by signed requests. The parts of a
// network are loaded only if a channel uses it.
import {
  type Channel,
  type ChannelHost,
  channelOfSession,
  isTaskOfChat,
  startChannels,
  WebhookChannel,
} from '@beaver/channels'
import type { ChatSdkChannel } from '@beaver/channels/chat-sdk'
import type { BeaverClient } from '@beaver/client'
import { BeaverError, type Logger, systemClock } from '@beaver/core'
import type { ChannelIntake, NamedTask } from '@beaver/http'
import { natsMessageBus, openInCluster, type Subjects } from '@beaver/nats'
import type { ChannelConfig, Config } from '@beaver/platform'

export interface GatewayChannels extends ChannelHost {
  readonly intake: ChannelIntake
}

export interface ChannelsBehind {
  readonly nc: Parameters<typeof natsMessageBus>[0]
  readonly subjects: Subjects
  readonly client: BeaverClient
  readonly logger: Logger
}

/**
 * @returns `null` if the configuration has no channel @throws {BeaverError} `invalid_configuration`,
 * `start_failed`
 */
export async function startGatewayChannels(
  { gateway, channelSecrets }: Pick<Config, 'gateway' | 'channelSecrets'>,
  { nc, subjects, client, logger }: ChannelsBehind,
): Promise<GatewayChannels | null> {
  const made = Object.entries(gateway.channels).map(async ([name, settings]) => {
    return { settings, channel: await channelOf(name, settings, { secrets: channelSecrets, logger }) }
  })
  if (made.length === 0) return null
  const channels = await Promise.all(made)
  const bus = await openInCluster(
    nc,
    () => natsMessageBus(nc, subjects, { leaseMs: gateway.channels_lease_ms }),
    { logger },
  )
  const host = await startChannels({ bus, client, channels, onStop: gateway.channels_on_stop, logger })
  const webhooks = new Map(
    channels.flatMap(({ channel }) =>
      channel instanceof WebhookChannel ? [[channel.name, channel] as const] : [],
    ),
  )
  const networks = new Map(
    channels.flatMap(({ channel }) =>
      'takeEvent' in channel ? [[channel.name, channel as ChatSdkChannel] as const] : [],
    ),
  )
  return {
    stop: host.stop,
    intake: {
      take: async (name, request) => (await webhooks.get(name)?.take(request)) ?? null,
      takeEvent: async (name, request) => (await networks.get(name)?.takeEvent(request)) ?? null,
    },
  }
}

/**
 * Whether an id belongs to a chat: that of a session to one of this configuration or of a terminal, that of a
 * task to a message of any chat.
 */
export function isOfChannel(
  { session_id, task_id }: NamedTask,
  { channels }: Pick<Config['gateway'], 'channels'>,
): boolean {
  const name = session_id === undefined ? null : channelOfSession(session_id)
  const isChat = name !== null && (Object.hasOwn(channels, name) || name.startsWith('console-'))
  return isChat || (task_id !== undefined && isTaskOfChat(task_id))
}

interface With {
  readonly secrets: Config['channelSecrets']
  readonly logger: Logger
}

async function channelOf(name: string, of: ChannelConfig, { secrets, logger }: With): Promise<Channel> {
  const clock = systemClock
  switch (of.type) {
    case 'webhook': {
      const { url, secret_env: secretName, timeout_ms: timeoutMs } = of
      return new WebhookChannel({
        name,
        url,
        secretName,
        secret: secrets[secretName] ?? null,
        timeoutMs,
        clock,
      })
    }
    case 'email': {
      const { EmailChannel } = await import('@beaver/channels/email')
      const { address, mailbox, since, sender_check: senderCheck, users, unknown_users, approvers } = of
      const times = { pollMs: of.poll_ms, timeoutMs: of.timeout_ms, perHourMax: of.sender_per_hour_max }
      const server = ({ password_env: variable, ...rest }: typeof of.imap) => ({
        ...rest,
        password: variable === undefined ? null : secretOf(name, variable, secrets),
      })
      const [imap, smtp] = [server(of.imap), server(of.smtp)]
      const knows = (sender: string): boolean => unknown_users === 'as_named' || Object.hasOwn(users, sender)
      return new EmailChannel({
        name,
        address,
        imap,
        smtp,
        mailbox,
        since,
        senderCheck,
        knows,
        approvers,
        ...times,
        clock,
        logger,
      })
    }
    case 'chat_sdk': {
      const { ChatSdkChannel: Network } = await import('@beaver/channels/chat-sdk')
      const { adapter, chars_max: charsMax, timeout_ms: timeoutMs } = of
      const given = Object.entries(of.secrets_env).map(
        ([option, variable]) => [option, secretOf(name, variable, secrets)] as const,
      )
      return Network.open({
        name,
        adapter,
        options: { ...of.options, ...Object.fromEntries(given) },
        charsMax,
        timeoutMs,
        clock,
        logger,
      })
    }
    default:
      return of satisfies never
  }
}

/** @throws {BeaverError} `invalid_configuration` */
function secretOf(channel: string, variable: string, secrets: Config['channelSecrets']): string {
  const secret = secrets[variable] ?? null
  if (secret === null)
    throw new BeaverError(
      'invalid_configuration',
      `The variable $${variable} of the channel ${channel} is not set. It has a secret of the channel.`,
    )
  return secret
}
