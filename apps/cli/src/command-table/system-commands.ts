// The commands about this machine and the system.
import { Argument, Option } from 'commander'
import type { AcpOptions } from '../commands/acp.ts'
import type { ArchiveOptions } from '../commands/archive.ts'
import type { AuditCommand } from '../commands/audit.ts'
import type { BackupOptions } from '../commands/backup.ts'
import type { HealthOptions } from '../commands/health.ts'
import type { InitOptions } from '../commands/init.ts'
import type { KeysOptions } from '../commands/keys.ts'
import type { McpLoginOptions } from '../commands/mcp-login.ts'
import type { McpAction, McpServeOptions } from '../commands/mcp.ts'
import type { NatsOptions } from '../commands/nats.ts'
import type { RedactOptions } from '../commands/redact.ts'
import type { TrustOptions } from '../commands/trust.ts'
import { completionScript, type Shell, shells } from '../completion-scripts.ts'
import { UsageError } from '../failures.ts'
import { type CommandSpec, json, limit, messageNumber, portNumber } from './command-spec.ts'

// `beaver audit` in the table of commands.

/** The options that each word after `audit` accepts. */
const optionsOf = {
  show: [],
  accept: ['reason', 'signed'],
  verify: ['against', 'key', 'operator', 'offline'],
  export: ['against', 'out'],
  redact: ['event', 'text', 'reason'],
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

const auditCommand: CommandSpec = {
  name: 'audit',
  usage: 'audit [what]',
  group: 'System',
  says: 'Show whether the record is as it was, or verify it',
  example: 'beaver audit verify --against checkpoint.txt',
  more: 'Without a word, it compares the newest tasks with the journal, and the journal with what Beaver saw before. accept says that the journal is right as it is now: the daemons write again, and the read model is built again. verify checks every rule of "beaver check" and compares the journal with signed checkpoints: those in the journal, those that this home kept, and those you give. export writes the journal or some tasks with everything that somebody else needs to verify them. redact removes a text from the record of an ended task, whose chain still verifies; the bytes of a text up to 64 KiB stay in the journal, and in exports and archives. The exit code of verify is 0 if nothing was found, else 1.',
  build: (command, run) =>
    command
      .addArgument(
        new Argument('[what]', 'show what is wrong, accept it, verify, write an export, or remove a text')
          .choices(['show', 'accept', 'verify', 'export', 'redact'])
          .default('show'),
      )
      .argument(
        '[tasks...]',
        'the ids of tasks, unique beginnings of them, or latest (default: the whole journal); redact takes one',
      )
      .option(
        '--against <file>',
        'verify, export: a checkpoint that you kept, or a file with several; may be repeated',
        collect,
      )
      .option(
        '--key <key>',
        'verify: the public key of the projector as name+id+base64, or a file with it; may be repeated',
        collect,
      )
      .option(
        '--operator <key id>',
        'verify: the id of the operator\'s key, as "beaver keys list" shows it (default: the one that this home knows)',
      )
      .option('--offline <file>', 'verify: this export instead of a running system')
      .option('--out <file>', 'export: write to this file (default: stdout)')
      .option('--event <n...>', 'redact: remove every long text of these events')
      .option('--text <text>', 'redact: remove this text wherever the task has it; "-" reads it from stdin')
      .option('--reason <text>', 'redact, accept: why; Beaver keeps this text')
      .option('--signed <file>', "accept: an acceptance that was signed where the operator's key is")
      .addOption(
        json(
          'verify: print {ok, broken, findings, checked, not_checked, checkpoints, fits_up_to, keys, summary}; redact: {task_id, redacted}',
        ),
      )
      .action(
        (
          what: 'show' | 'accept' | 'verify' | 'export' | 'redact',
          tasks: string[],
          options: AuditCommand & Partial<RedactOptions>,
        ) =>
          run(async (globals) => {
            mustOwn('audit', what, options, optionsOf)
            if (what === 'show' && tasks.length > 0)
              throw new UsageError(
                `"beaver audit show" takes no tasks: it compares the newest ones. Verify some tasks: beaver audit verify ${tasks.join(' ')}`,
              )
            if (what === 'accept' && tasks.length > 0)
              throw new UsageError('"beaver audit accept" takes no tasks: it accepts the journal as a whole.')
            if (what === 'show' || what === 'accept')
              return (await import('../commands/audit-state.ts')).auditState(what, options, globals)
            if (what === 'redact')
              return (await import('../commands/redact.ts')).redact(tasks, options, globals)
            return (await import('../commands/audit.ts')).audit(what, tasks, options, globals)
          }),
      ),
}

// `beaver backup` and `beaver restore` in the table of commands.

const backupCommands: readonly CommandSpec[] = [
  {
    name: 'backup',
    usage: 'backup <folder>',
    group: 'System',
    says: 'Copy the streams, keys and marks to a folder',
    example: 'beaver backup /backups/2026-11-27',
    more: 'The system may run meanwhile. The folder must not exist, or be empty. The backup holds private keys and tokens: a person who can read it can act in the name of this system. It is read again and checked. A backup that was interrupted has no manifest.json and counts for nothing.',
    build: (command, run) =>
      command
        .argument('<folder>', 'a new folder for the backup')
        .addOption(
          json('print {folder, made_at, namespace, tenant, streams, files, bytes, left_out, keys_outside}'),
        )
        .action((folder: string, options: BackupOptions) =>
          run(async (globals) => (await import('../commands/backup.ts')).backup(folder, options, globals)),
        ),
  },
  {
    name: 'restore',
    usage: 'restore <folder>',
    group: 'System',
    says: 'Make a home, and its streams, from a backup',
    example: 'beaver restore /backups/2026-11-27 --home .beaver',
    more: 'Everything is checked before anything is written. The home must not exist, or be empty, and a server that NATS_URL names must hold nothing else. Stop the system from which the backup is before you start the restored one: both would go on with the same tasks.',
    build: (command, run) =>
      command
        .argument('<folder>', 'the folder of the backup')
        .addOption(json('print {home, made_at, namespace, tenant, streams, files, bytes, marks, findings}'))
        .action((folder: string, options: BackupOptions) =>
          run(async (globals) => (await import('../commands/backup.ts')).restore(folder, options, globals)),
        ),
  },
]

// `beaver trust` in the table of commands.

const trustCommand: CommandSpec = {
  name: 'trust',
  usage: 'trust [folder]',
  group: 'System',
  says: 'Accept what the beaver.config.json of a folder asks for',
  example: 'beaver trust --show',
  more: 'Beaver uses modules, MCP servers, endpoints and permissions of a folder only if you trust it. Your consent is for what the folder asks for now; if that changes, Beaver asks again.',
  build: (command, run) =>
    command
      .argument('[folder]', 'the folder of the beaver.config.json (default: the current one)')
      .option('--always', 'trust the folder also after changes')
      .addOption(
        new Option(
          '--show',
          'only print what the folder asks for, and its digest for BEAVER_TRUST',
        ).conflicts(['always', 'list', 'revoke']),
      )
      .addOption(new Option('--list', 'list the folders that you trust').conflicts(['always', 'revoke']))
      .addOption(new Option('--revoke', 'no longer trust the folder').conflicts('always'))
      .addOption(new Option('--json', 'print the answer as JSON'))
      .action((folder: string | undefined, options: TrustOptions) =>
        run(async (globals) => (await import('../commands/trust.ts')).trust(folder, options, globals)),
      ),
}

// `beaver keys` in the table of commands.

const keysCommand: CommandSpec = {
  name: 'keys',
  usage: 'keys',
  group: 'System',
  says: 'List, trust or revoke the keys that sign the journal',
  example: 'beaver keys list',
  more: 'list (the default) shows each key, its role and from which message of the journal on it counts. trust and revoke need the key of the operator, which is in the home of the daemon that started first.',
  build: (command, run) =>
    command
      .addArgument(new Argument('[what]', 'what to do').choices(['list', 'trust', 'revoke']).default('list'))
      .argument('[key]', 'trust, revoke: the id of the key, or its beginning')
      .option('--reason <text>', 'revoke: why, for the record')
      .addOption(new Option('--json', 'list: print {keys}; trust, revoke: print the key'))
      .action((what: 'list' | 'trust' | 'revoke', key: string | undefined, options: KeysOptions) =>
        run(async (globals) => {
          mustOwn('keys', what, options, { list: [], trust: [], revoke: ['reason'] })
          const { changeKey, listKeys } = await import('../commands/keys.ts')
          return what === 'list' ? listKeys(options, globals) : changeKey(what, key, options, globals)
        }),
      ),
}

// `beaver nats` in the table of commands.

const natsCommand: CommandSpec = {
  name: 'nats',
  usage: 'nats [show|apply]',
  group: 'System',
  says: 'Show or change how a cluster holds the streams',
  example: 'beaver nats apply',
  more: 'show (the default) lists each stream with its leader and its replicas; its exit code is 0 if the loss of any one server stops nothing, else 1. apply changes streams that exist to nats.replicas and nats.placement of the configuration: it shows the difference, asks, and makes the change a part of the record.',
  build: (command, run) =>
    command
      .addArgument(new Argument('[what]', 'what to do').choices(['show', 'apply']).default('show'))
      .option('--yes', 'apply: do not ask')
      .addOption(json('show: print {streams}; apply: print {changed}'))
      .action((what: 'show' | 'apply', options: NatsOptions) =>
        run(async (globals) => {
          mustOwn('nats', what, options, { show: [], apply: ['yes'] })
          const { natsApply, natsShow } = await import('../commands/nats.ts')
          return what === 'show' ? natsShow(options, globals) : natsApply(options, globals)
        }),
      ),
}

// `beaver completion` in the table of commands.

const completionCommand: CommandSpec = {
  name: 'completion',
  usage: 'completion <shell>',
  group: 'System',
  says: 'Print the script with which a shell completes commands',
  example: 'source <(beaver completion bash)',
  more: 'bash: put the line of the example into ~/.bashrc. zsh: put "source <(beaver completion zsh)" into ~/.zshrc, after compinit. fish: put "beaver completion fish | source" into ~/.config/fish/config.fish. The Tab key then completes commands, options and their values, and ids of the running system.',
  build: (command, run) =>
    command.addArgument(new Argument('<shell>', 'for which shell').choices(shells)).action((shell: Shell) =>
      run(async () => {
        const { commandAnywhere } = await import('../command-name.ts')
        process.stdout.write(completionScript(shell, commandAnywhere()))
        return 0
      }),
    ),
}

/** One process of Beaver, for containers and services. `beaver up` is the command for people. */
const processCommand = (name: 'daemon' | 'projector', says: string): CommandSpec => ({
  name,
  usage: name,
  group: 'System',
  hidden: true,
  says,
  example: `NATS_URL=nats://n0 beaver ${name}`,
  more: 'For containers and services: "beaver up" runs all processes on one machine. It needs NATS_URL. SIGTERM or Ctrl-C ends it in order. Its log goes to stderr.',
  build: (command, run) =>
    command.action(() =>
      run(async (globals) => (await import('../commands/process.ts')).runProcess(name, globals)),
    ),
})

export const systemCommands: readonly CommandSpec[] = [
  {
    name: 'init',
    usage: 'init <folder>',
    group: 'System',
    says: 'Make a small project: a skill, a tool, a program, tests',
    example: 'beaver init my-team',
    more: 'The folder must not exist, or be empty; "." is the current one. Its name becomes the name of the project. The command overwrites nothing, and needs no running system.',
    build: (command, run) =>
      command
        .argument('<folder>', 'a new or an empty folder')
        .addOption(json('print {name, folder, files, next}'))
        .action((folder: string, options: InitOptions) =>
          run(async (globals) => (await import('../commands/init.ts')).init(folder, options, globals)),
        ),
  },
  processCommand('daemon', 'Run one daemon in the foreground'),
  processCommand('projector', 'Run the projector in the foreground'),
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
          'a request that this client may not send, such as ben:task.submit; may be given several times',
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
            'pins: print {pins}; approve: print {server, approved}; login: {server, scope}; logout: {server, removed}',
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
  completionCommand,
  {
    name: 'status',
    usage: 'status',
    group: 'System',
    says: 'Show what runs, what waits and what is wrong',
    example: 'beaver status',
    more: 'The exit code is 0 if nothing fails, also if there are warnings; 1 if something fails; and 3 if no system can be asked. With --actors it is 1 if a daemon does not answer or none is there.',
    build: (command, run) =>
      command
        .option(
          '--actors',
          'what each daemon holds now: its threads, tasks, agents and teams, and who restarts them',
        )
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
  {
    name: 'health',
    usage: 'health [process]',
    group: 'System',
    says: 'Ask the processes of this home whether they can work',
    example: 'beaver health daemon',
    more: 'For containers and supervisors: the exit code is 0 if all of them can work, 1 if one cannot, and 3 if none can be asked. A process can be asked if "status.listen" of its configuration is not off.',
    build: (command, run) =>
      command
        .addArgument(
          new Argument('[process]', 'only these (default: all of them)').choices([
            'daemon',
            'projector',
            'gateway',
          ]),
        )
        .addOption(json('print {ready, processes: [{process, pid, url, ready, says}]}'))
        .action((name: 'daemon' | 'projector' | 'gateway' | undefined, options: HealthOptions) =>
          run(async (globals) => (await import('../commands/health.ts')).health(name, options, globals)),
        ),
  },
]

// Refuses options that would have no effect. A person who gives an option relies on it: "audit --offline
// file" must not answer about something else.

/**
 * @param command a command that has several words, such as `audit`
 * @param word the word that the user typed
 * @param of the options of each word, without --json
 * @throws {UsageError} for an option that belongs to other words
 */
function mustOwn<Word extends string>(
  command: string,
  word: Word,
  options: object,
  of: Readonly<Record<Word, readonly string[]>>,
): void {
  for (const name of Object.keys(options)) {
    if (name === 'json' || of[word].includes(name)) continue
    const words = (Object.keys(of) as Word[])
      .filter((each) => of[each].includes(name))
      .map((each) => `beaver ${command} ${each}`)
    throw new UsageError(
      `"beaver ${command} ${word}" has no option --${name}. It is for: ${words.join(', ')}.`,
    )
  }
}
