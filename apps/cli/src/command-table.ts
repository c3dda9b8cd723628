// The table of commands, with their options and an example each. The code of a command is loaded when it runs.
// T1. Building the table loads only commander, so `beaver --help` is quick.
import { Argument, type Command, Option } from 'commander'
import type { McpServeOptions } from './commands/mcp.ts'
import type { TeamOptions } from './commands/team.ts'
import type { GlobalOptions } from './context.ts'
import { portNumber, wholeNumber } from './number-options.ts'
import { retryCommand } from './retry-command.ts'

export type Run = (globals: GlobalOptions) => Promise<number>

export interface CommandSpec {
  readonly name: string
  /** The command with its arguments, in the form of the help. */
  readonly usage: string
  readonly group: 'Work' | 'Look' | 'System'
  readonly says: string
  readonly example: string
  readonly more?: string
  build(command: Command, run: (act: Run) => void): void
}

export const groups = { Work: 'Give work', Look: 'Look at work', System: 'This machine' } as const
const json = (what: string): Option => new Option('--json', what)
const limit = (what: string, max = 1_000_000): Option => new Option('--limit <n>', `at most this many ${what}`).argParser(wholeNumber(max))
const skill = new Option('--skill <name>', 'activate this skill (default: Beaver may choose one)')
const profile = new Option('--profile <name>', 'the profile of the root agent (default: "profile" of the configuration)')
const workflow = new Option('--workflow <name>', 'run this workflow without a root agent, instead of a task')
const workflowArguments = new Option('-f, --file <args.json>', 'a JSON file with the arguments of --workflow; "-" reads stdin')
const session = new Option('--session <id>', 'the session to which the task belongs (default: a new one)')
const workspace = new Option('--workspace <dir>', 'the folder in which the agents may work (default: the current one)')
const noInput = new Option('--no-input', 'refuse calls that need an approval, because nobody can answer')
const deltas = new Option('--deltas', 'with --json: also print the answers while the models write them')
const taskIdOption = new Option('--task-id <id>', 'an id of your own; the same id again submits no second task')

export const commands: readonly CommandSpec[] = [
  {
    name: 'run',
    usage: 'run "<task>"',
    group: 'Work',
    says: 'Submit a task, follow it live and print its report',
    example: 'beaver run --up --skill folder-report "Report on this folder"',
    more: 'If the task is "-", Beaver reads it from stdin. With --workflow, give no task. The exit code is 0 if the task completed, else 1.',
    build: (command, run) =>
      command
        .argument('[task]', 'what to do, in words, in quotes')
        .addOption(skill)
        .addOption(profile)
        .addOption(workflow)
        .addOption(workflowArguments)
        .addOption(workspace)
        .addOption(session)
        .addOption(taskIdOption)
        .option('--up', 'if no system runs here, start one for this task and stop it afterwards')
        .option('-q, --quiet', 'print only the report')
        .addOption(noInput)
        .addOption(json('print one line of JSON for each event, and the result as the last line'))
        .addOption(deltas)
        .action((task: string | undefined, options: object) => run(async (globals) => (await import('./commands/run.ts')).run(task, options, globals))),
  },
  {
    name: 'submit',
    usage: 'submit "<task>"',
    group: 'Work',
    says: 'Submit a task and print its id',
    example: 'beaver submit --skill folder-report "Report on this folder"',
    more: 'If the task is "-", Beaver reads it from stdin. With --workflow, give no task.',
    build: (command, run) =>
      command
        .argument('[task]', 'what to do, in words, in quotes')
        .addOption(skill)
        .addOption(profile)
        .addOption(workflow)
        .addOption(workflowArguments)
        .addOption(workspace)
        .addOption(session)
        .addOption(taskIdOption)
        .addOption(noInput)
        .addOption(json('print {task_id, session_id}'))
        .action((task: string | undefined, options: object) => run(async (globals) => (await import('./commands/submit.ts')).submit(task, options, globals))),
  },
  {
    name: 'team',
    usage: 'team run -f <team.json>',
    group: 'Work',
    says: 'Run an AgentTeam from its configuration file',
    example: 'beaver team run --up -f team.json "Should we ship on Friday?"',
    more: 'The exit code is 0 if the team completed, else 1.',
    build: (command, run) =>
      command
        .addArgument(new Argument('<what>', 'what to do').choices(['run']))
        .argument('[message]', 'what the team must do, in quotes (default: "message" of the file)')
        .requiredOption('-f, --file <team.json>', 'the JSON file that describes the team')
        .addOption(
          new Option('--strategy <name>', 'how the members work together (default: "strategy" of the file)').choices([
            'leader_worker',
            'round_robin',
            'broadcast',
            'sequential',
          ]),
        )
        .addOption(workspace)
        .addOption(session)
        .addOption(taskIdOption)
        .option('--up', 'if no system runs here, start one for this run and stop it afterwards')
        .option('-q, --quiet', 'print only the result')
        .addOption(noInput)
        .addOption(json('print one line of JSON for each event of the team, and its report as the last line'))
        .action((_: string, message: string | undefined, options: TeamOptions) =>
          run(async (globals) => (await import('./commands/team.ts')).runTeam(message, options, globals)),
        ),
  },
  {
    name: 'watch',
    usage: 'watch <task>',
    group: 'Work',
    says: 'Follow a task to its end, from its beginning',
    example: 'beaver watch task_01m848rs',
    build: (command, run) =>
      command
        .argument('<task>', 'the id of the task, or a unique beginning of it')
        .option('-q, --quiet', 'print only the report')
        .addOption(json('print one line of JSON for each event, and the result as the last line'))
        .addOption(deltas)
        .action((task: string, options: object) => run(async (globals) => (await import('./commands/watch.ts')).watch(task, options, globals))),
  },
  {
    name: 'cancel',
    usage: 'cancel <task>',
    group: 'Work',
    says: 'Cancel a task, or one node of its team',
    example: 'beaver cancel task_01m848rs --node reporter',
    more: 'If you cancel one node, the nodes that depend on it are blocked. The other nodes continue.',
    build: (command, run) =>
      command
        .argument('<task>', 'the id of the task, or a unique beginning of it')
        .option('--node <id>', 'cancel only this node of a running team; "beaver show" lists the nodes')
        .option('--reason <text>', 'why; the journal keeps this text (default: "Cancelled from the command line.")', 'Cancelled from the command line.')
        .addOption(json('print {task_id, node_id}'))
        .action((task: string, options: { reason: string }) => run(async (globals) => (await import('./commands/cancel.ts')).cancel(task, options, globals))),
  },
  retryCommand,
  {
    name: 'approve',
    usage: 'approve <task> [call]',
    group: 'Work',
    says: 'Allow a tool call that waits for an approval',
    example: 'beaver approve task_01m848rs',
    more: 'Without a call: allow the call that waits, or list the calls if several wait. Without a task: list the waiting calls of all tasks.',
    build: (command, run) =>
      decision(command).action((task: string | undefined, call: string | undefined, options: object) =>
        run(async (globals) => (await import('./commands/approve.ts')).approve(task, call, options, globals)),
      ),
  },
  {
    name: 'deny',
    usage: 'deny <task> [call]',
    group: 'Work',
    says: 'Refuse a tool call that waits for an approval',
    example: 'beaver deny task_01m848rs --reason "Not that folder"',
    more: 'Beaver tells the model. Without a call: refuse the call that waits, or list the calls if several wait.',
    build: (command, run) =>
      decision(command)
        .option('--reason <text>', 'why; the model receives this text, and the journal keeps it')
        .action((task: string | undefined, call: string | undefined, options: object) =>
          run(async (globals) => (await import('./commands/approve.ts')).deny(task, call, options, globals)),
        ),
  },
  {
    name: 'tasks',
    usage: 'tasks',
    group: 'Look',
    says: 'List the tasks, newest first',
    example: 'beaver tasks --status failed',
    build: (command, run) =>
      command
        .addOption(
          new Option('--status <status>', 'only tasks in this state (default: all)').choices([
            'submitted',
            'running',
            'waiting',
            'waiting_for_approval',
            'completed',
            'incomplete',
            'failed',
            'cancelled',
          ]),
        )
        .option('--session <id>', 'only tasks of this session (default: all)')
        .addOption(limit('tasks (default 20)', 200))
        .addOption(json('print the answer as JSON'))
        .action((options: object) => run(async (globals) => (await import('./commands/tasks.ts')).tasks(options, globals))),
  },
  {
    name: 'show',
    usage: 'show <task>',
    group: 'Look',
    says: 'Show one task: agents, evidence, failures, report',
    example: 'beaver show task_01m848rs',
    build: (command, run) =>
      command
        .argument('<task>', 'the id of the task, or a unique beginning of it')
        .addOption(limit('agents (default 200)', 512))
        .option('--all', 'print every agent of a large team, also with its context')
        .addOption(json('print the answer as JSON'))
        .action((task: string, options: object) => run(async (globals) => (await import('./commands/show.ts')).show(task, options, globals))),
  },
  {
    name: 'timeline',
    usage: 'timeline <task>',
    group: 'Look',
    says: 'Tell what happened in a task, step by step',
    example: 'beaver timeline task_01m848rs',
    build: (command, run) =>
      command
        .argument('<task>', 'the id of the task, or a unique beginning of it')
        .addOption(limit('steps (default: all)'))
        .addOption(json('print one line of JSON for each step'))
        .action((task: string, options: object) => run(async (globals) => (await import('./commands/timeline.ts')).timeline(task, options, globals))),
  },
  {
    name: 'events',
    usage: 'events <task>',
    group: 'Look',
    says: 'Print the events of a task as they are in the journal',
    example: 'beaver events task_01m848rs --json',
    build: (command, run) =>
      command
        .argument('<task>', 'the id of the task, or a unique beginning of it')
        .addOption(limit('events (default: all)'))
        .addOption(json('print one line of JSON for each event, with its data'))
        .action((task: string, options: object) => run(async (globals) => (await import('./commands/events.ts')).events(task, options, globals))),
  },
  {
    name: 'search',
    usage: 'search <words>',
    group: 'Look',
    says: 'Find words in the requests, answers and tool results of tasks',
    example: 'beaver search largest file',
    build: (command, run) =>
      command
        .argument('<words...>', 'the words, all of which must occur; parts of words count, too')
        .option('--session <id>', 'search only this session (default: all)')
        .addOption(limit('hits (default 20)', 100))
        .addOption(json('print the answer as JSON'))
        .action((words: string[], options: object) => run(async (globals) => (await import('./commands/search.ts')).search(words, options, globals))),
  },
  {
    name: 'plan',
    usage: 'plan <Workflow>',
    group: 'Look',
    says: 'Show the graph that a workflow builds, without running it',
    example: 'beaver plan SequentialWorkflow -f args.json',
    more: 'Workflows: SequentialWorkflow, ConcurrentWorkflow, MixtureOfAgents, AgentRearrange, GraphWorkflow, and workflow:<file name> for a definition file of the configuration. The command needs no running system.',
    build: (command, run) =>
      command
        .argument('<Workflow>', 'the name of the workflow')
        .requiredOption('-f, --file <args.json>', 'a JSON file with the arguments of the workflow; "-" reads stdin')
        .addOption(json('print {"ok": true, "graph": …} or {"ok": false, "error": …}'))
        .option('--mermaid', 'print the graph as a Mermaid diagram')
        .action((workflow: string, options: { file: string }) => run(async (globals) => (await import('./commands/plan.ts')).plan(workflow, options, globals))),
  },
  {
    name: 'schema',
    usage: 'schema [name]',
    group: 'Look',
    says: 'Print the JSON Schema of a request, a query or an event',
    example: 'beaver schema task.submit',
    more: 'Without a name: list everything that goes over the wire. The command needs no running system.',
    build: (command, run) =>
      command
        .argument('[name]', 'a request, a query, a live message or an event, such as task.submit; "query.status" if a request has the same name')
        .addOption(json('print one line of JSON; without a name: all schemas as one document'))
        .action((name: string | undefined, options: object) => run(async (globals) => (await import('./commands/schema.ts')).schema(name, options, globals))),
  },
  {
    name: 'tools',
    usage: 'tools list|schema',
    group: 'Look',
    says: 'List the tools that a profile may have, or print a schema',
    example: 'beaver tools schema system:GraphWorkflow',
    more: 'A profile names these ids in "tool_ids_inventory". The command needs no running system.',
    build: (command, run) =>
      command
        .addArgument(new Argument('<what>', 'list all tools, or print the schema of one').choices(['list', 'schema']))
        .argument('[id]', 'the id of the tool with its prefix, such as system:read_file or workflow:<file name>')
        .addOption(new Option('--profile <name>', 'list only the tools of this profile'))
        .addOption(json('list: print one line of JSON for each tool; schema: print the schema in one line'))
        .action((what: 'list' | 'schema', id: string | undefined, options: object) =>
          run(async (globals) => (await import('./commands/tools.ts')).tools(what, id, options, globals)),
        ),
  },
  {
    name: 'skills',
    usage: 'skills <what>',
    group: 'Look',
    says: 'List the skills, show one, or check a folder of them',
    example: 'beaver skills check skills/folder-report',
    more: 'check tells whether a skill follows the Agent Skills standard and whether Beaver loads it. Its exit code is 0 if every skill follows all rules, else 1. The command needs no running system.',
    build: (command, run) =>
      command
        .addArgument(new Argument('<what>', 'list all skills, show one, or check a folder').choices(['list', 'show', 'check']))
        .argument('[name-or-dir]', 'show: the name of the skill; check: its folder, or a folder of skills')
        .addOption(json('list, check: print one line of JSON for each skill; show: print the skill in one line'))
        .action((what: 'list' | 'show' | 'check', of: string | undefined, options: object) =>
          run(async (globals) => (await import('./commands/skills.ts')).skills(what, of, options, globals)),
        ),
  },
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
        .option('--task <id>', 'check only this task and its session (default: all tasks)')
        .option('--projection <file>', 'the read model to compare (default: the one of this home, if it exists)')
        .option('--no-projection', 'do not compare the read model')
        .addOption(json('print {ok, broken, findings, notes, summary, projection}'))
        .action((options: object) => run(async (globals) => (await import('./commands/check.ts')).check(options, globals))),
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
        .action((options: object) => run(async (globals) => (await import('./commands/export.ts')).exportJournal(options, globals))),
  },
  {
    name: 'up',
    usage: 'up',
    group: 'System',
    says: 'Run the whole system on this machine until Ctrl-C',
    example: 'beaver up',
    more: 'Beaver starts its own NATS server, unless NATS_URL names one. Data and logs are in .beaver (see --home).',
    build: (command, run) => command.action(() => run(async (globals) => (await import('./commands/up.ts')).up(globals))),
  },
  {
    name: 'mcp',
    usage: 'mcp',
    group: 'System',
    says: 'Serve the workflow tools over MCP; approve tools of servers',
    example: 'beaver mcp --category team_workflow',
    more: 'serve (the default) is an MCP server on stdin and stdout. It passes calls to the running system. pins lists what the tools of configured MCP servers said about themselves when Beaver first saw them. approve accepts what they say now.',
    build: (command, run) =>
      command
        .addArgument(new Argument('[what]', 'what to do').choices(['serve', 'pins', 'approve']).default('serve'))
        .argument('[server]', 'pins, approve: the name of an MCP server in the configuration')
        .argument('[tool]', 'approve: only this tool of the server (default: all)')
        .option('--category <id>', 'serve: which tools to offer (default: team_workflow)', 'team_workflow')
        .option('--http', 'serve: use streamable HTTP on 127.0.0.1, and print the URL and the token on stderr; BEAVER_MCP_TOKEN sets the token')
        .addOption(new Option('--port <n>', 'serve: the port of --http (default: a free one)').argParser(portNumber))
        .option('--workspace <dir>', "serve: the folder in which the agents may work (default: the system's own)")
        .addOption(json('pins: print one line of JSON for each pin; approve: print {server, approved}'))
        .action((what: 'serve' | 'pins' | 'approve', server: string | undefined, tool: string | undefined, options: McpServeOptions & { json?: true }) =>
          run(async (globals) => (await import('./commands/mcp.ts')).mcp({ what, server, tool }, options, globals)),
        ),
  },
  {
    name: 'status',
    usage: 'status',
    group: 'System',
    says: 'Show what runs, what waits and what is wrong',
    example: 'beaver status',
    more: 'The exit code is 0 if nothing is wrong, else 1.',
    build: (command, run) =>
      command
        .addOption(json('print the answer as JSON'))
        .action((options: object) => run(async (globals) => (await import('./commands/status.ts')).status(options, globals))),
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
        .action((options: object) => run(async (globals) => (await import('./commands/doctor.ts')).doctor(options, globals))),
  },
]

function decision(command: Command): Command {
  return command
    .argument('[task]', 'the id of the task, or a unique beginning of it')
    .argument('[call]', 'the id of the call, or a unique beginning of it')
    .option('--by <name>', 'who decides; the journal keeps this text (default: your user name)')
    .addOption(json('print {task_id, call_id, approved, by, reason}'))
}
