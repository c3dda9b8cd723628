// `beaver audit` in the table of commands.
import { Argument } from 'commander'
import type { AuditCommand } from '../commands/audit.ts'
import { type CommandSpec, json } from './command-spec.ts'

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

export const auditCommand: CommandSpec = {
  name: 'audit',
  usage: 'audit verify|export',
  group: 'System',
  says: 'Verify the journal against signed checkpoints',
  example: 'beaver audit verify --against checkpoint.txt',
  more: 'verify checks every rule of "beaver check" and compares the journal with signed checkpoints: those in the journal, those that this home kept, and those you give. export writes the journal or some tasks with everything that somebody else needs to verify them; "beaver export" writes the same for the whole journal. The exit code of verify is 0 if nothing was found, else 1.',
  build: (command, run) =>
    command
      .addArgument(new Argument('<what>', 'verify, or write an export').choices(['verify', 'export']))
      .argument('[tasks...]', 'the ids of tasks, or unique beginnings of them (default: the whole journal)')
      .option('--against <file>', 'a checkpoint that you kept, or a file with several; may be repeated', collect)
      .option('--key <key>', 'verify: the public key of the projector as name+id+base64, or a file with it; may be repeated', collect)
      .option('--offline <file>', 'verify: this export instead of a running system')
      .option('--out <file>', 'export: write to this file (default: stdout)')
      .addOption(json('verify: print {ok, broken, findings, checked, not_checked, checkpoints, fits_up_to, keys, summary}'))
      .action((what: 'verify' | 'export', tasks: string[], options: AuditCommand) =>
        run(async (globals) => (await import('../commands/audit.ts')).audit(what, tasks, options, globals)),
      ),
}
