// The entry of `beaver retry` in the table of commands.
import { Option } from 'commander'
import type { CommandSpec } from './command-spec.ts'

export const retryCommand: CommandSpec = {
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
      .option(
        '--since <when>',
        'with --failed: only tasks that ended since then: "30m", "2h", "7d" or a time such as "2026-11-23T08:00:00Z" (default: all)',
      )
      .option('--dry-run', 'with --failed: only show which tasks would be retried')
      .addOption(new Option('--json', 'print {tasks: [{task_id, retry_of, session_id, error}]}'))
      .action((task: string | undefined, options: object) =>
        run(async (globals) => (await import('../commands/retry.ts')).retry(task, options, globals)),
      ),
}
