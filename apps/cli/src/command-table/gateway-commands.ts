// `beaver gateway`, `beaver console` and `beaver token` in the table of commands.
import { Argument, InvalidArgumentError, Option } from 'commander'
import type { ChannelAction, ChannelsOptions } from '../commands/channels.ts'
import type { ConsoleOptions } from '../commands/console.ts'
import type { GatewayOptions } from '../commands/gateway.ts'
import type { TokenOptions } from '../commands/token.ts'
import { type CommandSpec, json, limit, portNumber } from './command-spec.ts'

const roles = ['read', 'submit', 'approve', 'admin']

export const gatewayCommands: readonly CommandSpec[] = [
  {
    name: 'gateway',
    usage: 'gateway',
    group: 'System',
    says: 'Answer HTTP requests for a running system until Ctrl-C',
    example: 'beaver gateway --port 20000',
    more: 'It listens on this machine only, unless --host or the configuration says otherwise. Each request needs a token; "beaver token create" makes one. docs/how-to/use-http.md shows the requests.',
    build: (command, run) =>
      command
        .option(
          '--host <address>',
          'the address on which to listen (default: gateway.host of the configuration)',
        )
        .option(
          '--port <port>',
          'the port (default: gateway.port of the configuration, or the one of the last time; 0: any free one)',
          portNumber,
        )
        .addOption(json('print {url, tokens}'))
        .action((options: GatewayOptions) =>
          run(async (globals) => (await import('../commands/gateway.ts')).gateway(options, globals)),
        ),
  },
  {
    name: 'channels',
    usage: 'channels',
    group: 'System',
    says: 'Look after the channels of the gateway, or chat here',
    example: 'beaver channels console',
    more: 'list: what waits. dead: messages that were given up. send-again: put one of them at the end of its chat. console: each line that you type is a message, and you may decide about the calls of your chat. docs/how-to/use-channels.md shows how to configure a channel.',
    build: (command, run) =>
      command
        .addArgument(
          new Argument('[what]', 'what to do')
            .choices(['list', 'dead', 'send-again', 'console'])
            .default('list'),
        )
        .argument('[letter]', 'send-again: the dead letter')
        .option('--chat <id>', 'console: the chat (default: your name on this machine)')
        .addOption(limit('dead letters (default 50)', 1_000))
        .addOption(json('list: print {waiting, dead}; dead: {letters}; send-again: {id, queue, channel}'))
        .action((what: ChannelAction, letter: string | undefined, options: ChannelsOptions) =>
          run(async (globals) =>
            (await import('../commands/channels.ts')).channels(what, letter, options, globals),
          ),
        ),
  },
  {
    name: 'console',
    usage: 'console',
    group: 'System',
    says: 'Print a link that logs you in to the console',
    example: 'beaver console',
    more: 'The link works once, for ten minutes, and its login ends after twelve hours. The first person who opens it may do what --role says. "beaver token list" shows the logins, and "beaver token revoke" ends one.',
    build: (command, run) =>
      command
        .addOption(roleOption('what the login may do; may be repeated (default: admin)'))
        .option('--user <id>', 'the user for whom the login speaks (default: any)')
        .addOption(json('print {link, expires_at, roles, user_id}'))
        .action((options: ConsoleOptions) =>
          run(async (globals) => (await import('../commands/console.ts')).consoleLink(options, globals)),
        ),
  },
  {
    name: 'token',
    usage: 'token [what]',
    group: 'System',
    says: 'List, make or revoke the tokens for HTTP requests',
    example: 'beaver token create ci --role submit --role read',
    more: 'read: look at tasks. submit: start and control them. approve: decide calls. admin: everything. A token with --user speaks for that user alone, and reaches the tasks of that user alone. With --every-user it reaches those of others too. It is shown once. list and revoke are also for the logins of "beaver console".',
    build: (command, run) =>
      command
        .addArgument(
          new Argument('[what]', 'what to do').choices(['list', 'create', 'revoke']).default('list'),
        )
        .argument('[name]', 'create, revoke: the name of the token')
        .addOption(roleOption('create: what the token may do; may be repeated'))
        .option('--user <id>', 'create: the user for whom the token speaks (default: any)')
        .option('--every-user', 'create: a token with --user also reaches the tasks of others (default: no)')
        .addOption(json('list: print {tokens}; create: {name, token, roles, user_id, every_user}'))
        .action((what: 'list' | 'create' | 'revoke', name: string | undefined, options: TokenOptions) =>
          run(async (globals) => (await import('../commands/token.ts')).token(what, name, options, globals)),
        ),
  },
]

const roleOption = (says: string): Option =>
  new Option('--role <role>', says)
    .choices(roles)
    .argParser((role: string, before: readonly string[] | undefined) => [...(before ?? []), roleOf(role)])

function roleOf(role: string): string {
  if (roles.includes(role)) return role
  throw new InvalidArgumentError(`Use one of ${roles.join(', ')}.`)
}
