// `beaver trust` in the table of commands.
import { Option } from 'commander'
import type { CommandSpec } from './command-spec.ts'
import type { TrustOptions } from '../commands/trust.ts'

export const trustCommand: CommandSpec = {
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
