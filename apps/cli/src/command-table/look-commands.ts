// The commands that look at work.
import { Argument, Option } from 'commander'
import {
  after,
  amount,
  before,
  type CommandSpec,
  json,
  limit,
  since,
  sinceDay,
  taskStatus,
  until,
  untilDay,
} from './command-spec.ts'

const topSorts = ['state', 'age', 'tokens', 'cost']

export const lookCommands: readonly CommandSpec[] = [
  {
    name: 'tasks',
    usage: 'tasks',
    group: 'Look',
    says: 'List the tasks, newest first',
    example: 'beaver tasks --status failed --since 2d',
    build: (command, run) =>
      command
        .addOption(taskStatus('all'))
        .option(
          '--session <id>',
          'only tasks of this session: its id, a unique beginning of it, or latest (default: all)',
        )
        .option('--user <id>', 'only tasks of this user (default: all)')
        .option('--workflow <name>', 'only tasks that are this workflow, or in which an agent called it')
        .option('--skill <name>', 'only tasks that ask for this skill, or in which an agent had it')
        .option('--profile <name>', 'only tasks with this profile')
        .option('--model <name>', 'only tasks in which this model was called, as its provider names it')
        .option('--failure <class>', 'only tasks that failed with this class, such as tool_timeout')
        .option('--failure-pattern <text>', 'only tasks whose failure has this pattern of "beaver failures"')
        .option('--text <words>', 'only tasks with these words in their id, title, request or failure')
        .addOption(since('only tasks submitted'))
        .addOption(until('only tasks submitted'))
        .option('--tokens-min <n>', 'only tasks that used at least this many tokens', amount('--tokens-min'))
        .option('--cost-min <usd>', 'only tasks that cost at least this much', amount('--cost-min'))
        .addOption(limit('tasks (default 20)'))
        .addOption(before())
        .addOption(json('print the answer as JSON'))
        .action((options: object) =>
          run(async (globals) => (await import('../commands/tasks.ts')).tasks(options, globals)),
        ),
  },
  {
    name: 'top',
    usage: 'top',
    group: 'Look',
    says: 'Show live what runs now, what it does and what it used',
    example: 'beaver top --once --json',
    more: 'On a terminal, it looks every 2 s until you press q or Ctrl-C; the keys s, a, t and c sort. If stdout is no terminal, it looks once. The rates are those of the last minute, so only the live screen has them.',
    build: (command, run) =>
      command
        .addOption(
          new Option('--sort <what>', 'which open tasks come first').choices(topSorts).default('state'),
        )
        .option('--once', 'look once, also on a terminal')
        .addOption(limit('tasks, with --once or --json (default 50)', 200))
        .addOption(json('look once, and print the answer as JSON'))
        .action((options: object) =>
          run(async (globals) => (await import('../commands/top.ts')).top(options, globals)),
        ),
  },
  {
    name: 'show',
    usage: 'show <task>',
    group: 'Look',
    says: 'Show one task: agents, evidence, failures, report',
    example: 'beaver show task_01m848rs',
    build: (command, run) =>
      command
        .argument('<task>', 'the id of the task, a unique beginning of it, or latest')
        .option('--node <id>', 'show one node: its input, its calls and its output')
        .option('--team <id>', 'with --node: the team run, if several have such a node (default: the newest)')
        .addOption(limit('agents, or calls of the node (default 200 agents, all calls)'))
        .option('--all', 'print every agent of a large team, also with its context')
        .option('--from <file>', 'read the task from this export, such as the file of an archive')
        .addOption(json('print the answer as JSON'))
        .action((task: string, options: object) =>
          run(async (globals) => (await import('../commands/show.ts')).show(task, options, globals)),
        ),
  },
  {
    name: 'timeline',
    usage: 'timeline <id>',
    group: 'Look',
    says: 'Tell what happened in a task or a session, step by step',
    example: 'beaver timeline task_01m848rs',
    build: (command, run) =>
      command
        .argument('<id>', 'the id of a task or of a session, a unique beginning of it, or latest')
        .option('--session', 'the id is that of a session, also if its first task has the same id')
        .option('--node <id>', 'only what belongs to this node of the task (default: all)')
        .addOption(since('only steps'))
        .addOption(until('only steps'))
        .addOption(limit('steps (default: all)'))
        .option('--full', 'print long texts whole: what was said, given and answered')
        .option('--from <file>', 'read the task from this export, such as the file of an archive')
        .addOption(json('print one line of JSON for each step'))
        .action((id: string, options: object) =>
          run(async (globals) => (await import('../commands/timeline.ts')).timeline(id, options, globals)),
        ),
  },
  {
    name: 'events',
    usage: 'events <task>',
    group: 'Look',
    says: 'Print the events of a task as they are in the journal',
    example: 'beaver events task_01m848rs --json',
    build: (command, run) =>
      command
        .argument('<task>', 'the id of the task, a unique beginning of it, or latest')
        .option('--node <id>', 'only what belongs to this node (default: all)')
        .addOption(after())
        .addOption(since('only events'))
        .addOption(until('only events'))
        .addOption(limit('events (default: all)'))
        .option('--from <file>', 'read the task from this export, such as the file of an archive')
        .addOption(json('print one line of JSON for each event, with its data'))
        .action((task: string, options: object) =>
          run(async (globals) => (await import('../commands/events.ts')).events(task, options, globals)),
        ),
  },
  {
    name: 'sessions',
    usage: 'sessions',
    group: 'Look',
    says: 'List the sessions, the one with the newest task first',
    example: 'beaver sessions --user ada',
    build: (command, run) =>
      command
        .option('--user <id>', 'only sessions of this user (default: all)')
        .addOption(since('only sessions with a newest task submitted'))
        .addOption(until('only sessions with a newest task submitted'))
        .addOption(limit('sessions (default 20)'))
        .addOption(before())
        .addOption(json('print the answer as JSON'))
        .action((options: object) =>
          run(async (globals) => (await import('../commands/sessions.ts')).sessions(options, globals)),
        ),
  },
  {
    name: 'usage',
    usage: 'usage',
    group: 'Look',
    says: 'Show what calls of models used and cost',
    example: 'beaver usage --by user --since 2026-11-01',
    more: 'Providers report the tokens. The cost follows from the prices in the configuration, and from list prices. Calls of archived events do not count.',
    build: (command, run) =>
      command
        .addOption(
          new Option('--by <what>', 'by what to sum')
            .choices(['day', 'user', 'tenant', 'model', 'workflow', 'skill', 'profile'])
            .default('day'),
        )
        .addOption(
          sinceDay(
            'the first day: 7d, or a day (UTC) such as 2026-11-01 (default: 30 days before the last one)',
          ),
        )
        .addOption(untilDay('the last day (default: today)'))
        .option('--user <id>', 'only tasks of this user (default: all)')
        .addOption(limit('groups (default 100)'))
        .addOption(json('print the answer as JSON'))
        .action((options: object) =>
          run(async (globals) => (await import('../commands/usage.ts')).usage(options, globals)),
        ),
  },
  {
    name: 'failures',
    usage: 'failures',
    group: 'Look',
    says: 'Show why tasks failed, in groups of the same cause',
    example: 'beaver failures --since 7d',
    more: 'A group has one class and one message. Numbers, ids, times and paths in a message make no group of their own. Beaver looks at the newest 20,000 failed tasks.',
    build: (command, run) =>
      command
        .option(
          '--session <id>',
          'only tasks of this session: its id, a unique beginning of it, or latest (default: all)',
        )
        .option('--user <id>', 'only tasks of this user (default: all)')
        .option('--workflow <name>', 'only tasks that are this workflow, or in which an agent called it')
        .option('--skill <name>', 'only tasks that ask for this skill, or in which an agent had it')
        .option('--profile <name>', 'only tasks with this profile')
        .option('--model <name>', 'only tasks in which this model was called, as its provider names it')
        .option('--failure <class>', 'only tasks that failed with this class, such as tool_timeout')
        .addOption(since('only tasks submitted'))
        .addOption(until('only tasks submitted'))
        .addOption(limit('groups (default 50)', 200))
        .addOption(json('print the answer as JSON'))
        .action((options: object) =>
          run(async (globals) => (await import('../commands/failures.ts')).failures(options, globals)),
        ),
  },
  {
    name: 'prices',
    usage: 'prices list|import',
    group: 'Look',
    says: 'List the prices of models, or import them from a file',
    example: 'beaver prices import prices.json --dry-run',
    more: 'import takes the price map of LiteLLM, or a file in the format of Beaver. What earlier days cost does not change. Prices of the configuration come first.',
    build: (command, run) =>
      command
        .addArgument(new Argument('<what>', 'list the prices, or import some').choices(['list', 'import']))
        .argument('[given]', 'list: a part of the name of a model; import: the file')
        .option(
          '--from <date>',
          'import: the first day on which the prices of the file count (default: today)',
        )
        .option('--source <url>', 'import: where the prices are from')
        .option('--dry-run', 'import: only print what would change')
        .addOption(limit('prices (default 100)'))
        .addOption(json('list: print {prices, more}; import: print the answer as JSON'))
        .action((what: 'list' | 'import', given: string | undefined, options: object) =>
          run(async (globals) =>
            (await import('../commands/prices.ts')).prices(what, given, options, globals),
          ),
        ),
  },
  {
    name: 'session',
    usage: 'session <id>',
    group: 'Look',
    says: 'Read one session: what was asked and answered',
    example: 'beaver session web:42',
    more: 'The newest tasks are shown, the oldest of them first.',
    build: (command, run) =>
      command
        .argument('<id>', 'the id of the session, a unique beginning of it, or latest')
        .addOption(limit('tasks (default 50)'))
        .addOption(before())
        .addOption(json('print the answer as JSON'))
        .action((id: string, options: object) =>
          run(async (globals) => (await import('../commands/session.ts')).session(id, options, globals)),
        ),
  },
  {
    name: 'memory',
    usage: 'memory',
    group: 'Look',
    says: 'Show what agents remember for later runs',
    example: 'beaver memory --user ada',
    more: 'The list "memory" belongs to the tenant, the list "user" to one user.',
    build: (command, run) =>
      command
        .option('--user <id>', 'whose list "user" is shown (default: that of tasks without a user)')
        .addOption(json('print the answer as JSON'))
        .action((options: object) =>
          run(async (globals) => (await import('../commands/memory.ts')).memory(options, globals)),
        ),
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
        .option(
          '--session <id>',
          'search only this session: its id, a unique beginning of it, or latest (default: all)',
        )
        .addOption(since('only texts written'))
        .addOption(until('only texts written'))
        .addOption(limit('hits (default 20)'))
        .addOption(before())
        .addOption(json('print the answer as JSON'))
        .action((words: string[], options: object) =>
          run(async (globals) => (await import('../commands/search.ts')).search(words, options, globals)),
        ),
  },
  {
    name: 'plan',
    usage: 'plan [Workflow]',
    group: 'Look',
    says: 'Show the graph of a workflow, and what such tasks use',
    example: 'beaver plan SequentialWorkflow -f args.json',
    more: 'Workflows: SequentialWorkflow, ConcurrentWorkflow, MixtureOfAgents, AgentRearrange, GraphWorkflow, and workflow:<file name> for a definition file of the configuration. The command runs nothing and needs no running system. Without a workflow, it says what a task may use on which one agent works.',
    build: (command, run) =>
      command
        .argument('[Workflow]', 'the name of the workflow')
        .option('-f, --file <args.json>', 'a JSON file with the arguments of the workflow; "-" reads stdin')
        .addOption(
          json(
            'print {"ok": true, "graph": …, "grows_to_max": …, "conditions": […], "budget": …, "past": …} or {"ok": false, "error": …}',
          ),
        )
        .option('--mermaid', 'print the graph as a Mermaid diagram')
        .action((workflow: string | undefined, options: object) =>
          run(async (globals) => (await import('../commands/plan.ts')).plan(workflow, options, globals)),
        ),
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
        .argument(
          '[name]',
          'a request, a query, a live message or an event, such as task.submit; "query.status" if a request has the same name',
        )
        .addOption(json('print one line of JSON; without a name: all schemas as one document'))
        .action((name: string | undefined, options: object) =>
          run(async (globals) => (await import('../commands/schema.ts')).schema(name, options, globals)),
        ),
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
        .addArgument(
          new Argument('<what>', 'list all tools, or print the schema of one').choices(['list', 'schema']),
        )
        .argument(
          '[id]',
          'the id of the tool with its prefix, such as system:read_file or workflow:<file name>',
        )
        .addOption(new Option('--profile <name>', 'list only the tools of this profile'))
        .addOption(json('list: print {tools}; schema: print the schema in one line'))
        .action((what: 'list' | 'schema', id: string | undefined, options: object) =>
          run(async (globals) => (await import('../commands/tools.ts')).tools(what, id, options, globals)),
        ),
  },
  {
    name: 'kb',
    usage: 'kb list|search',
    group: 'Look',
    says: 'List the knowledge bases, or search one as agents do',
    example: 'beaver kb search handbook vacation days',
    more: 'search first indexes what was changed in the folder. The command needs no running system.',
    build: (command, run) =>
      command
        .addArgument(
          new Argument('<what>', 'list all knowledge bases, or search one').choices(['list', 'search']),
        )
        .argument('[words...]', 'search: the id of the knowledge base, then words or a question')
        .addOption(limit('passages (default 5)', 20))
        .addOption(json('list: print {knowledge_bases}; search: print the answer as JSON'))
        .action((what: 'list' | 'search', words: string[], options: object) =>
          run(async (globals) => (await import('../commands/kb.ts')).kb(what, words, options, globals)),
        ),
  },
  {
    name: 'models',
    usage: 'models',
    group: 'Look',
    says: 'List the models by name, with their routes and limits',
    example: 'beaver models --json',
    build: (command, run) =>
      command
        .addOption(json('print {models}'))
        .action((options: object) =>
          run(async (globals) => (await import('../commands/models.ts')).models(options, globals)),
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
        .addArgument(
          new Argument('<what>', 'list all skills, show one, or check a folder').choices([
            'list',
            'show',
            'check',
          ]),
        )
        .argument('[name-or-dir]', 'show: the name of the skill; check: its folder, or a folder of skills')
        .addOption(json('list, check: print {skills}; show: print the skill in one line'))
        .action((what: 'list' | 'show' | 'check', of: string | undefined, options: object) =>
          run(async (globals) => (await import('../commands/skills.ts')).skills(what, of, options, globals)),
        ),
  },
]
