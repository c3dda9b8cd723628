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
const skill = new Option('--skill <name>', 'activate this skill')
const profile = new Option('--profile <name>', 'the profile of the root agent (default: "profile" of the configuration)')
const workflow = new Option('--workflow <name>', 'instead of a task: run this workflow as it is, without a root agent')
const workflowArguments = new Option('-f, --file <args.json>', 'the arguments of --workflow; "-" reads stdin')
const session = new Option('--session <id>', 'the conversation the task belongs to (default: a new one)')
const workspace = new Option('--workspace <dir>', 'the folder the agents may work in (default: the current one)')
const noInput = new Option('--no-input', 'nobody can answer: calls that need an approval are refused')
const deltas = new Option('--deltas', 'with --json: what the models say while they say it, too')
const taskIdOption = new Option('--task-id <id>', 'a name of your own for the task: submitting it again then does nothing new')

export const commands: readonly CommandSpec[] = [
  {
    name: 'run',
    usage: 'run "<task>"',
    group: 'Work',
    says: 'Submit a task, follow it live and print its report',
    example: 'beaver run --up --skill folder-report "Report on this folder"',
    more: 'The task "-" is read from stdin; with --workflow there is none. Ends with 0 when the task completed, 1 when it did not.',
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
        .option('--up', 'start the system for this task when none runs here, and stop it afterwards')
        .option('-q, --quiet', 'print only the report')
        .addOption(noInput)
        .addOption(json('one line of JSON for each event, and the result as the last line'))
        .addOption(deltas)
        .action((task: string | undefined, options: object) => run(async (globals) => (await import('./commands/run.ts')).run(task, options, globals))),
  },
  {
    name: 'submit',
    usage: 'submit "<task>"',
    group: 'Work',
    says: 'Submit a task and print its id',
    example: 'beaver submit --skill folder-report "Report on this folder"',
    more: 'The task "-" is read from stdin; with --workflow there is none.',
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
    more: 'With --json: the events of the team, and its report as the last line. Ends with 0 when the team completed, 1 when it did not.',
    build: (command, run) =>
      command
        .addArgument(new Argument('<what>', 'run it').choices(['run']))
        .argument('[message]', 'what the team is to do, in quotes (default: "message" of the file)')
        .requiredOption('-f, --file <team.json>', 'the configuration of the team')
        .addOption(new Option('--strategy <name>', 'instead of the one in the file').choices(['leader_worker', 'round_robin', 'broadcast', 'sequential']))
        .addOption(workspace)
        .addOption(session)
        .addOption(taskIdOption)
        .option('--up', 'start the system for this run when none runs here, and stop it afterwards')
        .option('-q, --quiet', 'print only the result')
        .addOption(noInput)
        .addOption(json('one line of JSON for each event of the team, and its report as the last line'))
        .action((_: string, message: string | undefined, options: TeamOptions) =>
          run(async (globals) => (await import('./commands/team.ts')).runTeam(message, options, globals)),
        ),
  },
  {
    name: 'watch',
    usage: 'watch <task>',
    group: 'Work',
    says: 'Follow a task to its end, from its beginning',
    example: 'beaver watch task_01k',
    build: (command, run) =>
      command
        .argument('<task>', 'id of the task, or the beginning of it')
        .option('-q, --quiet', 'print only the report')
        .addOption(json('one line of JSON for each event, and the result as the last line'))
        .addOption(deltas)
        .action((task: string, options: object) => run(async (globals) => (await import('./commands/watch.ts')).watch(task, options, globals))),
  },
  {
    name: 'cancel',
    usage: 'cancel <task>',
    group: 'Work',
    says: 'Cancel a task, or one node of its team',
    example: 'beaver cancel task_01k --node reporter',
    more: 'A node that is cancelled blocks what depends on it; the rest of its team goes on.',
    build: (command, run) =>
      command
        .argument('<task>', 'id of the task, or the beginning of it')
        .option('--node <id>', 'only this node of the running team; "beaver show" lists them')
        .option('--reason <text>', 'why; it stands in the journal', 'Cancelled from the command line.')
        .addOption(json('print {task_id, node_id}'))
        .action((task: string, options: { reason: string }) => run(async (globals) => (await import('./commands/cancel.ts')).cancel(task, options, globals))),
  },
  retryCommand,
  {
    name: 'approve',
    usage: 'approve <task> [call]',
    group: 'Work',
    says: 'Allow a call that waits for an approval',
    example: 'beaver approve task_01k',
    more: 'Without a call: the one that waits; when several do, they are listed. Without a task: every call that waits, of all tasks.',
    build: (command, run) =>
      decision(command).action((task: string | undefined, call: string | undefined, options: object) =>
        run(async (globals) => (await import('./commands/approve.ts')).approve(task, call, options, globals)),
      ),
  },
  {
    name: 'deny',
    usage: 'deny <task> [call]',
    group: 'Work',
    says: 'Refuse a call that waits for an approval; the model is told',
    example: 'beaver deny task_01k --reason "Not that folder"',
    more: 'Without a call: the one that waits; when several do, they are listed.',
    build: (command, run) =>
      decision(command)
        .option('--reason <text>', 'why; the model is told and it stands in the journal')
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
          new Option('--status <status>', 'only these').choices([
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
        .option('--session <id>', 'only those of one conversation')
        .addOption(limit('tasks (default 20)', 200))
        .addOption(json('print the answer as JSON'))
        .action((options: object) => run(async (globals) => (await import('./commands/tasks.ts')).tasks(options, globals))),
  },
  {
    name: 'show',
    usage: 'show <task>',
    group: 'Look',
    says: 'Show one task whole: agents, evidence, failures, report',
    example: 'beaver show task_01k',
    build: (command, run) =>
      command
        .argument('<task>', 'id of the task, or the beginning of it')
        .addOption(limit('agents (default 200)', 512))
        .option('--all', 'print every agent of a large team, and every one of its context')
        .addOption(json('print the answer as JSON'))
        .action((task: string, options: object) => run(async (globals) => (await import('./commands/show.ts')).show(task, options, globals))),
  },
  {
    name: 'timeline',
    usage: 'timeline <task>',
    group: 'Look',
    says: 'Tell what happened in a task, step by step',
    example: 'beaver timeline task_01k',
    build: (command, run) =>
      command
        .argument('<task>', 'id of the task, or the beginning of it')
        .addOption(limit('steps (default: all)'))
        .addOption(json('one line of JSON for each step'))
        .action((task: string, options: object) => run(async (globals) => (await import('./commands/timeline.ts')).timeline(task, options, globals))),
  },
  {
    name: 'events',
    usage: 'events <task>',
    group: 'Look',
    says: 'Print the journal of a task as it was written',
    example: 'beaver events task_01k --json',
    build: (command, run) =>
      command
        .argument('<task>', 'id of the task, or the beginning of it')
        .addOption(limit('events (default: all)'))
        .addOption(json('one line of JSON for each event, with its data'))
        .action((task: string, options: object) => run(async (globals) => (await import('./commands/events.ts')).events(task, options, globals))),
  },
  {
    name: 'search',
    usage: 'search <words>',
    group: 'Look',
    says: 'Find words in what was said in all tasks',
    example: 'beaver search largest file',
    build: (command, run) =>
      command
        .argument('<words...>', 'all of them must occur; parts of words and Chinese text are found too')
        .option('--session <id>', 'only in one conversation')
        .addOption(limit('hits (default 20)', 100))
        .addOption(json('print the answer as JSON'))
        .action((words: string[], options: object) => run(async (globals) => (await import('./commands/search.ts')).search(words, options, globals))),
  },
  {
    name: 'plan',
    usage: 'plan <Workflow>',
    group: 'Look',
    says: 'Show the graph a workflow builds, without running it',
    example: 'beaver plan SequentialWorkflow -f args.json',
    more: 'Workflows: SequentialWorkflow, ConcurrentWorkflow, MixtureOfAgents, AgentRearrange, GraphWorkflow, and workflow:<file name> for the definition files of the configuration. No system is needed.',
    build: (command, run) =>
      command
        .argument('<Workflow>', 'name of the workflow')
        .requiredOption('-f, --file <args.json>', 'the arguments, as the model would give them; "-" reads stdin')
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
    more: 'Without a name: lists what goes over the wire. No system is needed.',
    build: (command, run) =>
      command
        .argument('[name]', 'a request, a query, a live message or an event; "query.status" where a request has the name too')
        .addOption(json('print one line of JSON; without a name: every schema as one document'))
        .action((name: string | undefined, options: object) => run(async (globals) => (await import('./commands/schema.ts')).schema(name, options, globals))),
  },
  {
    name: 'tools',
    usage: 'tools list|schema',
    group: 'Look',
    says: 'List the tools a profile may have, or print the schema of one',
    example: 'beaver tools schema system:GraphWorkflow',
    more: 'The ids are those of "tool_ids_inventory" in a profile. Reads the configuration; no system is needed.',
    build: (command, run) =>
      command
        .addArgument(new Argument('<what>', 'a list of all, or the schema of one').choices(['list', 'schema']))
        .argument('[id]', 'id of the tool, with its prefix: system:read_file, workflow:<file name>')
        .addOption(new Option('--profile <name>', 'list only what this profile brings'))
        .addOption(json('list: one line of JSON for each tool; schema: the schema in one line'))
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
    more: 'check: the verdict of the Agent Skills standard, and what Beaver does. Ends with 0 when every skill keeps all rules, 1 when not. No system is needed.',
    build: (command, run) =>
      command
        .addArgument(new Argument('<what>', 'all of them, one of them, or the verdict on a folder').choices(['list', 'show', 'check']))
        .argument('[name-or-dir]', 'show: name of the skill; check: its folder, or a folder of skills')
        .addOption(json('list, check: one line of JSON for each skill; show: the skill in one line'))
        .action((what: 'list' | 'show' | 'check', of: string | undefined, options: object) =>
          run(async (globals) => (await import('./commands/skills.ts')).skills(what, of, options, globals)),
        ),
  },
  {
    name: 'check',
    usage: 'check',
    group: 'System',
    says: 'Check the whole journal, apart from what wrote it',
    example: 'beaver check --export journal.ndjson',
    more: 'Holds every event of every task to the rules of docs/reference/journal-rules.md, and the read model to one that is rebuilt. Ends with 0 when no rule is broken, 1 when one is.',
    build: (command, run) =>
      command
        .option('--export <file>', 'check this export instead of the system that runs')
        .option('--task <id>', 'only this task, with its session')
        .option('--projection <file>', 'the read model to compare (default: the one of this home, if it is there)')
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
    more: 'NDJSON: a header, a line for each message of the journal, a line for each blob it refers to. "beaver check --export" reads it.',
    build: (command, run) =>
      command
        .option('--out <file>', 'the file (default: stdout)')
        .action((options: object) => run(async (globals) => (await import('./commands/export.ts')).exportJournal(options, globals))),
  },
  {
    name: 'up',
    usage: 'up',
    group: 'System',
    says: 'Run the whole system on this machine until Ctrl-C',
    example: 'beaver up',
    more: 'Starts a NATS server of its own, unless NATS_URL names one. Data and logs are in .beaver (see --home).',
    build: (command, run) => command.action(() => run(async (globals) => (await import('./commands/up.ts')).up(globals))),
  },
  {
    name: 'mcp',
    usage: 'mcp',
    group: 'System',
    says: 'Serve the workflow tools over MCP; approve tools of others',
    example: 'beaver mcp --category team_workflow',
    more: 'Without an argument: an MCP server on stdin and stdout whose calls go to the system that runs. "pins" lists what the tools of configured MCP servers said of themselves when first seen; "approve" accepts what they say now.',
    build: (command, run) =>
      command
        .addArgument(new Argument('[what]', 'what to do').choices(['serve', 'pins', 'approve']).default('serve'))
        .argument('[server]', 'pins, approve: name of an MCP server of the configuration')
        .argument('[tool]', 'approve: only this tool of it')
        .option('--category <id>', 'serve: which tools', 'team_workflow')
        .option('--http', 'serve: over streamable HTTP on 127.0.0.1; its URL is printed on stderr')
        .addOption(new Option('--port <n>', 'serve: the port of --http (default: a free one)').argParser(portNumber))
        .option('--workspace <dir>', "serve: the folder the agents may work in (default: the system's own)")
        .addOption(json('pins: one line of JSON for each pin; approve: print {server, approved}'))
        .action((what: 'serve' | 'pins' | 'approve', server: string | undefined, tool: string | undefined, options: McpServeOptions & { json?: true }) =>
          run(async (globals) => (await import('./commands/mcp.ts')).mcp({ what, server, tool }, options, globals)),
        ),
  },
  {
    name: 'status',
    usage: 'status',
    group: 'System',
    says: 'Show what runs, what is at work, what waits and what is wrong',
    example: 'beaver status',
    more: 'Ends with 0 when nothing is wrong, 1 otherwise.',
    build: (command, run) =>
      command
        .addOption(json('print it as JSON'))
        .action((options: object) => run(async (globals) => (await import('./commands/status.ts')).status(options, globals))),
  },
  {
    name: 'doctor',
    usage: 'doctor',
    group: 'System',
    says: 'Check what Beaver needs and say what to do',
    example: 'beaver doctor',
    build: (command, run) =>
      command
        .addOption(json('print the checks as JSON'))
        .action((options: object) => run(async (globals) => (await import('./commands/doctor.ts')).doctor(options, globals))),
  },
]

function decision(command: Command): Command {
  return command
    .argument('[task]', 'id of the task, or the beginning of it')
    .argument('[call]', 'id of the call, or the beginning of it')
    .option('--by <name>', 'who decides; it stands in the journal (default: you)')
    .addOption(json('print {task_id, call_id, approved, by, reason}'))
}
