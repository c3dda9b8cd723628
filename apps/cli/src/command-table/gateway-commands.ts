// `beaver gateway` and `beaver token` in the table of commands.
import { Argument, InvalidArgumentError, Option } from 'commander'
import type { GatewayOptions } from '../commands/gateway.ts'
import type { TokenOptions } from '../commands/token.ts'
import { portNumber } from '../number-options.ts'
import { type CommandSpec, json } from './command-spec.ts'

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
        .option('--host <address>', 'the address on which to listen (default: gateway.host of the configuration)')
        .option('--port <port>', 'the port (default: gateway.port of the configuration; 0: any free one)', portNumber)
        .addOption(json('print {url, tokens}'))
        .action((options: GatewayOptions) => run(async (globals) => (await import('../commands/gateway.ts')).gateway(options, globals))),
  },
  {
    name: 'token',
    usage: 'token [what]',
    group: 'System',
    says: 'List, make or revoke the tokens for HTTP requests',
    example: 'beaver token create ci --role submit --role read',
    more: 'read: look at tasks. submit: start and control them. approve: decide calls. admin: everything. A token with --user speaks for that user alone. It is shown once.',
    build: (command, run) =>
      command
        .addArgument(new Argument('[what]', 'what to do').choices(['list', 'create', 'revoke']).default('list'))
        .argument('[name]', 'create, revoke: the name of the token')
        .addOption(
          new Option('--role <role>', 'create: what the token may do; may be repeated').argParser((role: string, before: readonly string[] | undefined) => [
            ...(before ?? []),
            roleOf(role),
          ]),
        )
        .option('--user <id>', 'create: the user for whom the token speaks (default: any)')
        .addOption(json('list: print one line of JSON for each token; create: {name, token, roles, user_id}'))
        .action((what: 'list' | 'create' | 'revoke', name: string | undefined, options: TokenOptions) =>
          run(async (globals) => (await import('../commands/token.ts')).token(what, name, options, globals)),
        ),
  },
]

function roleOf(role: string): string {
  if (roles.includes(role)) return role
  throw new InvalidArgumentError(`Use one of ${roles.join(', ')}.`)
}
