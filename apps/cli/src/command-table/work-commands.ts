// The commands that give work.
import { Argument, type Command, Option } from 'commander'
import type { BudgetOptions } from '../commands/budget.ts'
import type { TeamOptions } from '../commands/team.ts'
import { before, type CommandSpec, json, limit, since, taskStatus } from './command-spec.ts'

// `beaver retry` in the table of commands.

const retryCommand: CommandSpec = {
  name: 'retry',
  usage: 'retry <task>',
  group: 'Work',
  says: 'Retry a task that ended, and keep what completed',
  example: 'beaver retry --failed --since 2h --dry-run',
  more: 'The task failed, is incomplete or was cancelled. The retry is a new task at the end of the same session. Beaver does not repeat what completed. A second retry of the same task starts nothing new.',
  build: (command, run) =>
    command
      .argument('[task]', 'the id of the task, a unique beginning of it, or latest')
      .option('--failed', 'retry every task that failed or is incomplete and has no retry yet')
      .addOption(since('with --failed: only tasks that ended'))
      .option('--budget <limits>', 'the most that the new task may use (default: the budget of the task)')
      .option('--dry-run', 'with --failed: only show which tasks would be retried')
      .addOption(new Option('--json', 'print {tasks: [{task_id, retry_of, session_id, error}]}'))
      .action((task: string | undefined, options: object) =>
        run(async (globals) => (await import('../commands/retry.ts')).retry(task, options, globals)),
      ),
}

// `beaver budget` in the table of commands.

const budgetCommand: CommandSpec = {
  name: 'budget',
  usage: 'budget [raise] [task]',
  group: 'Work',
  says: 'List the budgets with what is used, or give more to one',
  example: 'beaver budget raise task_01m848rs --usd 5',
  more: 'Without raise: what is used of the budgets that tasks share, of the tenant, profiles, users and sessions, and of those of the open tasks. With raise: the amounts are added to the limits of a task, or of the budget that --user, --session, --profile or --tenant names. What waits for the budget goes on.',
  build: (command, run) =>
    command
      .addArgument(new Argument('[what]', 'what to do').choices(['list', 'raise']).default('list'))
      .argument('[task]', 'the id of the task, a unique beginning of it, or latest')
      .option('--user <id>', 'the budgets of this user')
      .option('--session <id>', 'the budgets of this session')
      .addOption(new Option('--profile <name>', 'the budgets of this profile'))
      .option('--tenant', 'the budgets of the tenant')
      .addOption(
        new Option('--per <period>', 'raise the budget of this period (default: run for a session)').choices([
          'day',
          'month',
          'run',
        ]),
      )
      .option('--usd <amount>', 'US dollars')
      .option('--tokens <count>', 'tokens')
      .option('--model-calls <count>', 'calls of models')
      .option('--tool-calls <count>', 'calls of tools')
      .option('--wall <time>', 'time of work, such as "90s", "10m" or "2h"')
      .option('--node <id>', 'raise the budget of this node of a team; "beaver show" lists the nodes')
      .option('--reason <text>', 'why; this text is kept')
      .option('--request-id <id>', 'an id of your own; the same id again changes nothing (default: a new id)')
      .addOption(
        new Option('--of <kind>', 'list only the budgets of this kind (default: all)').choices([
          'task',
          ...['session', 'user', 'profile', 'tenant'],
        ]),
      )
      .addOption(taskStatus('open'))
      .addOption(limit('budgets that tasks share, and at most this many tasks (default 20)', 1_000))
      .addOption(before())
      .addOption(
        json(
          'print {budgets, total, more, tasks, next}, {task_id, request_id} or {budget, request_id, woken_tasks}',
        ),
      )
      .action((what: 'list' | 'raise', task: string | undefined, options: BudgetOptions) =>
        run(async (globals) => (await import('../commands/budget.ts')).budget(what, task, options, globals)),
      ),
}

const skill = new Option('--skill <name>', 'activate this skill (default: Beaver may choose one)')
const profile = new Option(
  '--profile <name>',
  'the profile of the root agent (default: "profile" of the configuration)',
)
const model = new Option(
  '--model <name>',
  'the model that the root agent asks (default: that of its profile)',
)
const workflow = new Option('--workflow <name>', 'run this workflow without a root agent, instead of a task')
const workflowArguments = new Option(
  '-f, --file <args.json>',
  'a JSON file with the arguments of --workflow; "-" reads stdin',
)
const session = new Option('--session <id>', 'the session to which the task belongs (default: a new one)')
const workspace = new Option(
  '--workspace <dir>',
  'the folder in which the agents may work (default: the current one)',
)
const user = new Option(
  '--user <id>',
  'the user for whom the task is: whose sessions and memory it has (default: none)',
)
const evidence = new Option(
  '--evidence <checks.json>',
  'a JSON list of checks that the final text must pass; "-" reads stdin',
)
const budget = new Option(
  '--budget <limits>',
  'the most that the task may use: USD such as "0.50", or "usd=0.50,tokens=200000,model_calls=20,tool_calls=50,wall=10m" (default: "budgets" of the configuration)',
)
const outputSchema = new Option(
  '--output-schema <schema.json>',
  'a JSON Schema: the answer must be JSON that fits it; "-" reads stdin',
)
const image = new Option(
  '--image <path>',
  'an image of the workspace that the root agent is shown; may be repeated',
).argParser((path: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  path,
])
const noInput = new Option('--no-input', 'refuse calls that need an approval, because nobody can answer')
const deltas = new Option(
  '--deltas',
  'with --json: also print the answers while the models write them, and how far calls are',
)
const taskIdOption = new Option(
  '--task-id <id>',
  'an id of your own; the same id again submits no second task (default: a new id)',
)

export const workCommands: readonly CommandSpec[] = [
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
        .addOption(model)
        .addOption(workflow)
        .addOption(workflowArguments)
        .addOption(workspace)
        .addOption(session)
        .addOption(taskIdOption)
        .addOption(user)
        .addOption(evidence)
        .addOption(budget)
        .addOption(outputSchema)
        .addOption(image)
        .option('--up', 'if no system runs here, start one for this task and stop it afterwards')
        .option(
          '--check-model',
          'ask the model first, and end if it cannot be asked, instead of waiting for it',
        )
        .option('-q, --quiet', 'print only the report')
        .addOption(noInput)
        .addOption(json('print one line of JSON for each event, and the result as the last line'))
        .addOption(deltas)
        .action((task: string | undefined, options: object) =>
          run(async (globals) => (await import('../commands/run.ts')).run(task, options, globals)),
        ),
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
        .addOption(model)
        .addOption(workflow)
        .addOption(workflowArguments)
        .addOption(workspace)
        .addOption(session)
        .addOption(taskIdOption)
        .addOption(user)
        .addOption(evidence)
        .addOption(budget)
        .addOption(outputSchema)
        .addOption(image)
        .addOption(noInput)
        .addOption(json('print {task_id, session_id}'))
        .action((task: string | undefined, options: object) =>
          run(async (globals) => (await import('../commands/submit.ts')).submit(task, options, globals)),
        ),
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
          new Option(
            '--strategy <name>',
            'how the members work together (default: "strategy" of the file)',
          ).choices(['leader_worker', 'round_robin', 'broadcast', 'sequential']),
        )
        .addOption(workspace)
        .addOption(session)
        .addOption(taskIdOption)
        .addOption(user)
        .addOption(evidence)
        .addOption(budget)
        .option('--up', 'if no system runs here, start one for this run and stop it afterwards')
        .option('-q, --quiet', 'print only the result')
        .addOption(noInput)
        .addOption(json('print one line of JSON for each event of the team, and its report as the last line'))
        .action((_: string, message: string | undefined, options: TeamOptions) =>
          run(async (globals) => (await import('../commands/team.ts')).runTeam(message, options, globals)),
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
        .argument('<task>', 'the id of the task, a unique beginning of it, or latest')
        .option('-q, --quiet', 'print only the report')
        .addOption(json('print one line of JSON for each event, and the result as the last line'))
        .addOption(deltas)
        .action((task: string, options: object) =>
          run(async (globals) => (await import('../commands/watch.ts')).watch(task, options, globals)),
        ),
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
        .argument('<task>', 'the id of the task, a unique beginning of it, or latest')
        .option('--node <id>', 'cancel only this node of a running team; "beaver show" lists the nodes')
        .option(
          '--reason <text>',
          'why; the journal keeps this text (default: "Cancelled from the command line.")',
          'Cancelled from the command line.',
        )
        .addOption(json('print {task_id, node_id}'))
        .action((task: string, options: { reason: string }) =>
          run(async (globals) => (await import('../commands/cancel.ts')).cancel(task, options, globals)),
        ),
  },
  {
    name: 'steer',
    usage: 'steer <task> "<text>"',
    group: 'Work',
    says: 'Tell the agent of a running task something',
    example: 'beaver steer task_01m848rs "Leave out the drafts"',
    more: 'The root agent reads the text before its next request to the model. A task that waits goes on waiting. A task takes 100 texts of up to 10,000 characters.',
    build: (command, run) =>
      command
        .argument('<task>', 'the id of the task, a unique beginning of it, or latest')
        .argument('<text>', 'what the agent is to know or to do, in quotes')
        .option(
          '--request-id <id>',
          'an id of your own; the same id again changes nothing (default: a new id)',
        )
        .addOption(json('print {task_id, request_id}'))
        .action((task: string, text: string, options: object) =>
          run(async (globals) => (await import('../commands/steer.ts')).steer(task, text, options, globals)),
        ),
  },
  retryCommand,
  budgetCommand,
  {
    name: 'approve',
    usage: 'approve <task> [call]',
    group: 'Work',
    says: 'Allow a tool call that waits for an approval',
    example: 'beaver approve task_01m848rs',
    more: 'Without a call: allow the call that waits, or list the calls if several wait. Without a task: list the waiting calls of all tasks.',
    build: (command, run) =>
      decision(command)
        .option(
          '--arguments <json>',
          'call the tool with these arguments instead, a JSON object; "-" reads them from stdin',
        )
        .option('--edit', 'change the arguments in the editor $VISUAL or $EDITOR first')
        .action((task: string | undefined, call: string | undefined, options: object) =>
          run(async (globals) =>
            (await import('../commands/approve.ts')).approve(task, call, options, globals),
          ),
        ),
  },
  {
    name: 'answer',
    usage: 'answer <task> <answer...>',
    group: 'Work',
    says: 'Answer a question of an agent or of a tool',
    example: 'beaver answer task_01m848rs 2',
    more: 'An answer is the number or the text of an option, a text, or <field>=<value> for each field of a form. Without a task: list the questions of all tasks.',
    build: (command, run) =>
      command
        .argument('[task]', 'the id of the task, a unique beginning of it, or latest')
        .argument('[answer...]', 'the answer, or several if the question takes several')
        .option('--call <id>', 'the call that asks, or a unique beginning of its id, if several ask')
        .option('--decline', 'do not answer; the agent goes on without the answer')
        .option('--cancel', 'withdraw the question; the agent goes on without the answer')
        .option(
          '--reason <text>',
          'why there is no answer; the model receives this text, and the journal keeps it',
        )
        .addOption(json('print {task_id, call_id, question_index, answer, by}'))
        .action((task: string | undefined, answers: string[], options: object) =>
          run(async (globals) =>
            (await import('../commands/answer.ts')).answer(task, answers, options, globals),
          ),
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
          run(async (globals) => (await import('../commands/approve.ts')).deny(task, call, options, globals)),
        ),
  },
]

function decision(command: Command): Command {
  return command
    .argument('[task]', 'the id of the task, a unique beginning of it, or latest')
    .argument('[call]', 'the id of the call, a unique beginning of it, or latest')
    .addOption(json('print {task_id, call_id, approved, by, reason}'))
}
