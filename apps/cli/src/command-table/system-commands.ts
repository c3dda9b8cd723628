// The commands about this machine and the system.
import { Argument, Option } from 'commander'
import type { AcpOptions } from '../commands/acp.ts'
import type { ArchiveOptions } from '../commands/archive.ts'
import type { McpAction, McpServeOptions } from '../commands/mcp.ts'
import type { McpLoginOptions } from '../commands/mcp-login.ts'
import { messageNumber, portNumber } from '../number-options.ts'
import { backupCommands } from './backup-commands.ts'
import { auditCommand } from './audit-command.ts'
import { type CommandSpec, json, limit } from './command-spec.ts'
import { trustCommand } from './trust-command.ts'
import { keysCommand } from './keys-command.ts'
import { natsCommand } from './nats-command.ts'

export const systemCommands: readonly CommandSpec[] = [
  {
    name: 'nats-config',
    usage: 'nats-config',
    group: 'System',
    says: 'Print the users and permissions for a NATS server of your own',
    example: 'beaver nats-config --client anna --client ben',
    more: 'The command needs no running system. Without --keys users log in with passwords, which the server reads from its environment.',
    build: (command, run) =>
      command
        .option(
          '--client <name>',
          'the name of a client; may be given several times (default: client)',
          (name: string, names: string[] | undefined) => [...(names ?? []), name],
        )
        .option(
          '--deny <client:request>',
          'a request that this client may not send, such as ben:task.steer; may be given several times',
          (denial: string, denials: string[] | undefined) => [...(denials ?? []), denial],
        )
        .option('--keys <folder>', 'users log in with nkeys in this folder; those that do not exist are made')
        .option(
          '--tenant <name>',
          'a tenant of the server; may be given several times (default: the one of the configuration)',
          (name: string, names: string[] | undefined) => [...(names ?? []), name],
        )
        .option('--account', 'print an account with its users for each tenant')
        .addOption(json('print {namespace, tenant, users}'))
        .action((options: object) =>
          run(async (globals) => (await import('../commands/nats-config.ts')).natsConfig(options, globals)),
        ),
  },
  natsCommand,
  {
    name: 'check',
    usage: 'check',
    group: 'System',
    says: 'Check the whole journal by independent rules',
    example: 'beaver check --export journal.ndjson',
    more: 'Checks every event of every task by the rules of docs/reference/journal-rules.md, and compares the read model with a new one. The exit code is 0 if no rule is broken, else 1.',
    build: (command, run) =>
      command
        .option('--export <file>', 'check this export instead of the running system')
        .option(
          '--task <id>',
          'check only this task and its session: its id, a unique beginning of it, or latest (default: all tasks)',
        )
        .option(
          '--operator <key id>',
          'the id of the operator\'s key, as "beaver keys list" shows it (default: the one that this home knows)',
        )
        .option(
          '--projection <file>',
          'the read model to compare (default: the one of this home, if it exists)',
        )
        .option('--no-projection', 'do not compare the read model')
        .addOption(json('print {ok, broken, findings, notes, summary, projection}'))
        .action((options: object) =>
          run(async (globals) => (await import('../commands/check.ts')).check(options, globals)),
        ),
  },
  auditCommand,
  {
    name: 'quarantine',
    usage: 'quarantine [message]',
    group: 'System',
    says: 'List or show messages in the journal that are no records',
    example: 'beaver quarantine 4711',
    more: 'Somebody who is no daemon published them. Beaver sets them aside; the journal keeps them.',
    build: (command, run) =>
      command
        .argument('[message]', 'the number of the message in the journal', messageNumber)
        .addOption(limit('messages (default 20)', 200))
        .addOption(json('print the answer as JSON'))
        .action((message: number | undefined, options: object) =>
          run(async (globals) =>
            (await import('../commands/quarantine.ts')).quarantine(message, options, globals),
          ),
        ),
  },
  {
    name: 'export',
    usage: 'export',
    group: 'System',
    says: 'Write the journal and its blobs to a file',
    example: 'beaver export --out journal.ndjson',
    more: 'The file is NDJSON: a header, one line for each message of the journal, and one line for each blob. "beaver check --export" reads it.',
    build: (command, run) =>
      command
        .option('--out <file>', 'write to this file (default: stdout)')
        .action((options: object) =>
          run(async (globals) => (await import('../commands/export.ts')).exportJournal(options, globals)),
        ),
  },
  {
    name: 'archive',
    usage: 'archive',
    group: 'System',
    says: 'Move ended tasks from the journal to checked files',
    example: 'beaver archive --before 30d --out archive',
    more: 'Each file is an export of at most 1,000 whole sessions; more sessions are in more files. A file is read again and checked, and its SHA-256 and the head of each task become part of the record before the next one begins. Then the journal loses the messages of these tasks, except the first and the last one of each. An archive that was interrupted is completed by the next one.',
    build: (command, run) =>
      command
        .option('--before <time>', 'sessions that ended before this time: "30d" ago, or a date', '30d')
        .option('--out <folder>', 'the folder for the files', '.')
        .option('--copy', 'keep the messages in the journal')
        .addOption(
          json(
            'print {file, sha256, tasks, files, removed, left, kept, absent, refused}; file is the first of files',
          ),
        )
        .action((options: object) =>
          run(async (globals) =>
            (await import('../commands/archive.ts')).archive(options as ArchiveOptions, globals),
          ),
        ),
  },
  ...backupCommands,
  keysCommand,
  {
    name: 'up',
    usage: 'up',
    group: 'System',
    says: 'Run the whole system on this machine until Ctrl-C',
    example: 'beaver up',
    more: 'Beaver starts its own NATS server, unless NATS_URL names one. Data and logs are in .beaver (see --home).',
    build: (command, run) =>
      command.action(() => run(async (globals) => (await import('../commands/up.ts')).up(globals))),
  },
  {
    name: 'acp',
    usage: 'acp',
    group: 'System',
    says: 'Be an agent for editors that speak ACP',
    example: 'beaver acp --home .beaver',
    more: 'An editor starts it and speaks with it on stdin and stdout. It passes prompts to the running system; a session of the editor is a session of Beaver, and tasks go on if the editor is closed. docs/how-to/use-in-editors.md shows the settings of editors.',
    build: (command, run) =>
      command
        .option('--profile <name>', 'the profile of the root agent (default: "profile" of the configuration)')
        .option('--user <id>', 'the user whose sessions and memory these are (default: none)')
        .action((options: AcpOptions) =>
          run(async (globals) => (await import('../commands/acp.ts')).acp(options, globals)),
        ),
  },
  {
    name: 'mcp',
    usage: 'mcp',
    group: 'System',
    says: 'Serve workflow tools over MCP; approve and log in to servers',
    example: 'beaver mcp --category team_workflow',
    more: 'serve (the default) is an MCP server on stdin and stdout. It passes calls to the running system. pins lists what the tools of configured MCP servers said about themselves when Beaver first saw them. approve accepts what they say now. login logs in to a configured server over HTTP with OAuth: it prints the URL of a page, and waits for you. logout removes that login.',
    build: (command, run) =>
      command
        .addArgument(
          new Argument('[what]', 'what to do')
            .choices(['serve', 'pins', 'approve', 'login', 'logout'])
            .default('serve'),
        )
        .argument('[server]', 'pins, approve, login, logout: the name of an MCP server in the configuration')
        .argument('[tool]', 'approve: only this tool of the server (default: all)')
        .option('--category <id>', 'serve: which tools to offer (default: team_workflow)', 'team_workflow')
        .option(
          '--http',
          'serve: use streamable HTTP on 127.0.0.1, and print the URL and the token on stderr; BEAVER_MCP_TOKEN sets the token',
        )
        .addOption(
          new Option('--port <n>', 'serve: the port of --http (default: a free one)').argParser(portNumber),
        )
        .option(
          '--workspace <dir>',
          "serve: the folder in which the agents may work (default: the system's own)",
        )
        .option('--scope <scopes>', 'login: further scopes to ask for, with a space between them')
        .addOption(
          json(
            'pins: print one line of JSON for each pin; approve: print {server, approved}; login: {server, scope}; logout: {server, removed}',
          ),
        )
        .action(
          (
            what: McpAction,
            server: string | undefined,
            tool: string | undefined,
            options: McpServeOptions & McpLoginOptions,
          ) =>
            run(async (globals) =>
              (await import('../commands/mcp.ts')).mcp({ what, server, tool }, options, globals),
            ),
        ),
  },
  trustCommand,
  {
    name: 'status',
    usage: 'status',
    group: 'System',
    says: 'Show what runs, what waits and what is wrong',
    example: 'beaver status',
    more: 'The exit code is 0 if nothing fails, also if there are warnings; 1 if something fails; and 3 if no system can be asked.',
    build: (command, run) =>
      command
        .addOption(json('print the answer as JSON'))
        .action((options: object) =>
          run(async (globals) => (await import('../commands/status.ts')).status(options, globals)),
        ),
  },
  {
    name: 'doctor',
    usage: 'doctor',
    group: 'System',
    says: 'Check what Beaver needs, and say what to do',
    example: 'beaver doctor',
    more: 'The exit code is 0 if no check failed, else 1.',
    build: (command, run) =>
      command
        .addOption(json('print the checks as JSON'))
        .action((options: object) =>
          run(async (globals) => (await import('../commands/doctor.ts')).doctor(options, globals)),
        ),
  },
]
