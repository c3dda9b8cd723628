// The entry of `beaver keys` in the table of commands.
import { Argument, Option } from 'commander'
import type { CommandSpec } from './command-spec.ts'
import { mustOwn } from './own-options.ts'
import type { KeysOptions } from '../commands/keys.ts'

export const keysCommand: CommandSpec = {
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
      .addOption(new Option('--json', 'print one line of JSON for each key'))
      .action((what: 'list' | 'trust' | 'revoke', key: string | undefined, options: KeysOptions) =>
        run(async (globals) => {
          mustOwn('keys', what, options, { list: [], trust: [], revoke: ['reason'] })
          const { changeKey, listKeys } = await import('../commands/keys.ts')
          return what === 'list' ? listKeys(options, globals) : changeKey(what, key, options, globals)
        }),
      ),
}
