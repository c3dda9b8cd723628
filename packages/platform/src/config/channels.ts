// `gateway.channels` of the configuration: the networks whose chats become tasks.
import { z } from 'zod'
import { isLoopback } from './status.ts'

const name = z.string().min(1).max(128)
/** The variable of the environment that has a secret. */
export const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable')

const common = {
  /** The users of Beaver behind the names of the network. */
  users: z.record(name, name).default({}),
  /** What happens to the messages of others. */
  unknown_users: z.enum(['refuse', 'as_named']).default('refuse'),
  /** The user to whom all sessions of the channel belong. Default: the one who began the session. */
  user_id: name.optional(),
  /** Those names of the network whose decisions about calls count. */
  approvers: z.array(name).max(1_000).default([]),
  profile: z.string().min(1).optional(),
  workspace: z.string().min(1).optional(),
  /** The time that the network may take to answer. */
  timeout_ms: z.number().int().min(100).max(600_000).default(10_000),
  /** How often a message is tried before it is a dead letter. */
  tries_max: z.number().int().min(1).max(1_000).default(20),
}

const webhook = z.strictObject({
  type: z.literal('webhook'),
  /** Where answers go, by signed POST. */
  url: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }),
  secret_env: variable,
  ...common,
})

const mailServer = z
  .strictObject({
    host: z.string().min(1).max(253),
    port: z.number().int().min(1).max(65_535),
    /**
     * `implicit`: from the first byte. `starttls`: before the login, or the connection ends. `none`: only to
     * this machine.
     */
    tls: z.enum(['implicit', 'starttls', 'none']).default('implicit'),
    /** Absent: no login. */
    user: z.string().min(1).max(320).optional(),
    password_env: variable.optional(),
  })
  .superRefine(({ host, tls, user, password_env }, context) => {
    if (tls === 'none' && !isLoopback(host))
      context.addIssue({
        code: 'custom',
        path: ['tls'],
        message: 'must be "implicit" or "starttls": mail and password go to another machine',
      })
    if ((user === undefined) !== (password_env === undefined))
      context.addIssue({
        code: 'custom',
        path: ['password_env'],
        message: 'must be given with "user", and only then',
      })
  })

const address = z
  .string()
  .max(254)
  .regex(/^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)*$/, 'must be an address in lower case')

const email = z.strictObject({
  type: z.literal('email'),
  /** The address to which people write, and from which Beaver answers. */
  address,
  imap: mailServer,
  smtp: mailServer,
  /** The folder of the mailbox. */
  mailbox: z.string().min(1).max(200).default('INBOX'),
  /** Mail that came before this day is not read. */
  since: z.iso.date('must be a day, such as 2026-11-24'),
  /** Who says that a sender is genuine: the mail server of this name in Authentication-Results, or a relay that lets nothing else through. */
  sender_check: z.union([z.literal('relay'), z.strictObject({ authserv_id: z.string().min(1).max(253) })]),
  /** How often the mailbox is looked at, beside what the server tells by itself. */
  poll_ms: z.number().int().min(100).max(3_600_000).default(60_000),
  /** Mails of one sender that came within an hour. Those beyond are refused: programs seem to answer each other. */
  sender_per_hour_max: z.number().int().min(1).max(100_000).default(100),
  ...common,
  users: z
    .record(name, name)
    .superRefine((users, context) => {
      for (const each of Object.keys(users))
        if (!address.safeParse(each).success)
          context.addIssue({ code: 'custom', path: [each], message: 'must be an address in lower case' })
    })
    .default({}),
  approvers: z.array(address).max(1_000).default([]),
})

const secretWords = /token|secret|password|passphrase|private|credential|api_?key/i

const chatSdk = z
  .strictObject({
    type: z.literal('chat_sdk'),
    /** The network, as the packages of the Chat SDK name it: `@chat-adapter/<adapter>`. */
    adapter: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,40}$/, 'must be the name of an adapter, such as slack or telegram'),
    /** What the adapter is given, as its documentation says. */
    options: z.record(z.string(), z.json()).default({}),
    /** The variables of the environment with those options that are secrets. */
    secrets_env: z.record(z.string().min(1).max(64), variable).default({}),
    /** A longer text becomes several messages. A character that needs an escape counts twice. */
    chars_max: z.number().int().min(100).max(40_000).default(3_500),
    ...common,
  })
  .superRefine(({ options }, context) => {
    for (const [name, value] of Object.entries(options))
      if (secretWords.test(name) && typeof value === 'string')
        context.addIssue({
          code: 'custom',
          path: ['options', name],
          message:
            'is a secret. Put it into a variable of the environment, and name the variable in secrets_env',
        })
  })

const channel = z.discriminatedUnion('type', [webhook, email, chatSdk])
/** The settings of one channel. */
export type ChannelConfig = z.output<typeof channel>

/** The names that begin with `console` are for `beaver channels console`. */
export const channels = z
  .record(z.string(), channel)
  .superRefine((all, context) => {
    for (const each of Object.keys(all))
      if (!/^(?!console)[A-Za-z0-9_-]{1,32}$/.test(each))
        context.addIssue({
          code: 'custom',
          path: [each],
          message: 'the name must be 1 to 32 letters, digits, "-" or "_", and must not begin with "console"',
        })
  })
  .default({})

/** The variables of the environment in which a channel has its secrets. */
export function secretVariables(channel: ChannelConfig): readonly string[] {
  switch (channel.type) {
    case 'webhook':
      return [channel.secret_env]
    case 'email':
      return [channel.imap.password_env, channel.smtp.password_env].filter((each) => each !== undefined)
    case 'chat_sdk':
      return Object.values(channel.secrets_env)
    default:
      return channel satisfies never
  }
}
