// `beaver audit` in the table of commands.
import { Argument } from 'commander'
import type { AuditCommand } from '../commands/audit.ts'
import type { RedactOptions } from '../commands/redact.ts'
import { UsageError } from '../failures.ts'
import { type CommandSpec, json } from './command-spec.ts'
import { mustOwn } from './own-options.ts'

/** The options of each word. */
const optionsOf = {
  show: [],
  accept: ['reason', 'signed'],
  verify: ['against', 'key', 'operator', 'offline'],
  export: ['against', 'out'],
  redact: ['event', 'text', 'reason'],
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

export const auditCommand: CommandSpec = {
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
