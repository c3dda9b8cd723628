// Checks the channels: whether each has its secrets and reaches its servers, and what in the queues needs a
// person. A server that does not answer delays the doctor by a few seconds.
import { WebhookChannel } from '@beaver/channels'
import { type Clock, messageOf, silentLogger, systemClock } from '@beaver/core'
import { hasChannelStream, natsMessageBus } from '@beaver/nats'
import {
  type ChannelConfig,
  type Config,
  optionalPackages,
  requirePackages,
  secretVariables,
} from '@beaver/platform'
import { commandName } from '../command-name.ts'
import { connect } from '../connection.ts'
import { inRole, lookForSystem } from '../system/find-system.ts'
import { counted } from '../text/figures.ts'
import { fail, type Finding, ok, warn } from './check.ts'

const serverMsMax = 3_000
const deadMax = 1_000

/** @param over replaces the clock and the timeout of the servers, for tests */
export async function checkChannels(
  config: Config,
  over: { readonly clock?: Clock; readonly timeoutMs?: number } = {},
): Promise<Finding[]> {
  const channels = Object.entries(config.gateway.channels)
  if (channels.length === 0) return []
  const { clock = systemClock, timeoutMs = serverMsMax } = over
  const each = await Promise.all(
    channels.map(([name, channel]) =>
      checkChannel(name, channel, { secrets: config.channelSecrets, clock, timeoutMs }),
    ),
  )
  const unserved =
    config.gateway.enabled !== false
      ? []
      : [
          warn(
            'channels',
            'gateway.enabled is false, so "beaver up" starts nobody who serves them',
            'Set "gateway": {"enabled": true}, or run "beaver gateway".',
          ),
        ]
  return [...unserved, ...each.flat(), ...(await checkQueues(config))]
}

interface With {
  readonly secrets: Config['channelSecrets']
  readonly clock: Clock
  readonly timeoutMs: number
}

async function checkChannel(name: string, channel: ChannelConfig, having: With): Promise<Finding[]> {
  const title = `channel ${name}`
  const missing = secretVariables(channel).filter((variable) => (having.secrets[variable] ?? null) === null)
  if (missing.length > 0) {
    const named = missing.map((variable) => `$${variable}`).join(' and ')
    return [
      fail(
        title,
        `${named} ${missing.length === 1 ? 'is' : 'are'} not set here, so the gateway does not start`,
        'Set the variable where the gateway starts.',
      ),
    ]
  }
  const faults = await faultsOf(name, channel, having)
  if (faults.length > 0)
    return faults.map((fault) => fail(title, fault, 'Correct the channel in gateway.channels.'))
  return [ok(title, saysOf(channel)), ...doubtsOf(title, channel)]
}

async function faultsOf(
  name: string,
  channel: ChannelConfig,
  { secrets, clock, timeoutMs }: With,
): Promise<readonly string[]> {
  const secretOf = (variable: string | undefined): string | null =>
    variable === undefined ? null : (secrets[variable] ?? null)
  switch (channel.type) {
    case 'webhook':
      return faultIn(
        () =>
          new WebhookChannel({
            name,
            url: channel.url,
            secretName: channel.secret_env,
            secret: secretOf(channel.secret_env),
            timeoutMs,
            clock,
          }),
      )
    case 'email': {
      const missing = await faultIn(() => requirePackages(`The channel ${name}`, optionalPackages.email))
      if (missing.length > 0) return missing
      const { mailFaults } = await import('@beaver/channels/email')
      const [imap, smtp] = [channel.imap, channel.smtp].map((server) => ({
        ...server,
        password: secretOf(server.password_env),
      })) as [MailServer, MailServer]
      return mailFaults({ imap, smtp, mailbox: channel.mailbox, timeoutMs, clock })
    }
    case 'chat_sdk': {
      const { ChatSdkChannel } = await import('@beaver/channels/chat-sdk')
      const given = Object.entries(channel.secrets_env).map(
        ([option, variable]) => [option, secretOf(variable)] as const,
      )
      const options = { ...channel.options, ...Object.fromEntries(given) }
      return faultIn(() => {
        requirePackages(`The channel ${name}`, [`@chat-adapter/${channel.adapter}`])
        return ChatSdkChannel.open({
          name,
          adapter: channel.adapter,
          options,
          charsMax: channel.chars_max,
          timeoutMs,
          clock,
          logger: silentLogger,
        })
      })
    }
    default:
      return channel satisfies never
  }
}

type MailServer = Extract<ChannelConfig, { type: 'email' }>['imap'] & { readonly password: string | null }

async function faultIn(make: () => unknown): Promise<readonly string[]> {
  try {
    await make()
    return []
  } catch (error) {
    return [messageOf(error)]
  }
}

function saysOf(channel: ChannelConfig): string {
  switch (channel.type) {
    case 'webhook':
      return `its secret is long enough, and answers go to ${URL.parse(channel.url)?.host ?? channel.url}`
    case 'email':
      return `reads ${channel.mailbox} at ${channel.imap.host} and sends by ${channel.smtp.host}; both let it in`
    case 'chat_sdk':
      return `the adapter ${channel.adapter} is there and takes its options`
    default:
      return channel satisfies never
  }
}

function doubtsOf(title: string, channel: ChannelConfig): Finding[] {
  return [
    ...(channel.unknown_users === 'refuse' && Object.keys(channel.users).length === 0
      ? [
          warn(
            title,
            'it has no users and refuses unknown ones, so nobody may write',
            'Name the people in users.',
          ),
        ]
      : []),
    ...(channel.type === 'email' && channel.sender_check === 'relay'
      ? [
          warn(
            title,
            'it believes the sender of every mail that reaches the mailbox',
            'Set sender_check to the name of the mail server that proves senders.',
          ),
        ]
      : []),
  ]
}

/** Checks the queues of the channels, if a system runs. */
async function checkQueues(config: Config): Promise<Finding[]> {
  const found = lookForSystem(config)
  if (found === null) return []
  try {
    await using connection = await connect(inRole('gateway', found, config))
    if (!(await hasChannelStream(connection.nc, connection.subjects)))
      return [
        warn(
          'channel queues',
          'they are not there: no gateway has served a channel yet',
          'Start a gateway: "beaver up" or "beaver gateway".',
        ),
      ]
    const bus = await natsMessageBus(connection.nc, connection.subjects)
    const [dead, uncertain] = [(await bus.deadLetters(deadMax)).length, await bus.uncertain()]
    const doubled = uncertain.reduce((sum, { tries }) => sum + tries, 0)
    const twice = doubled === 0 ? '' : `; ${counted(doubled, 'message')} may have arrived twice`
    if (dead === 0) return [ok('channel queues', `nothing was given up${twice}`)]
    return [
      warn(
        'channel queues',
        `${counted(dead, 'dead letter')} ${dead === 1 ? 'waits' : 'wait'}${twice}`,
        `See them: ${commandName()} channels dead`,
      ),
    ]
  } catch (error) {
    return [
      warn(
        'channel queues',
        `they cannot be looked at: ${messageOf(error)}`,
        'Correct the login, and run "beaver doctor" again.',
      ),
    ]
  }
}
