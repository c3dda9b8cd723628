// The entry of `beaver retry` in the table of commands.
import { Option } from 'commander'
import type { CommandSpec } from './command-table.ts'

export const retryCommand: CommandSpec = {
  name: 'retry',
  usage: 'retry <task>',
  group: 'Work',
  says: 'Take an ended task up again, and keep what completed',
  example: 'beaver retry --failed --since 2h --dry-run',
  more: 'For tasks that failed, are incomplete or were cancelled. The retry is a new task at the end of the same session; what completed is not asked for again. Asked for twice, it is one task.',
  build: (command, run) =>
    command
      .argument('[task]', 'id of the task, or the beginning of it')
      .option('--failed', 'every task that failed or is incomplete, and was not retried yet')
      .option('--since <when>', 'with --failed: only those that ended since; "30m", "2h", "7d" or a time such as "2026-11-23T08:00:00Z"')
      .option('--dry-run', 'with --failed: only show which')
      .addOption(new Option('--json', 'print {tasks: [{task_id, retry_of, session_id, error}]}'))
      .action((task: string | undefined, options: object) => run(async (globals) => (await import('./commands/retry.ts')).retry(task, options, globals))),
}
