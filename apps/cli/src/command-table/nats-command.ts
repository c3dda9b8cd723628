// The entry of `beaver nats` in the table of commands.
import { Argument } from 'commander'
import type { NatsOptions } from '../commands/nats.ts'
import { type CommandSpec, json } from './command-spec.ts'
import { mustOwn } from './own-options.ts'

export const natsCommand: CommandSpec = {
  name: 'nats',
  usage: 'nats [show|apply]',
  group: 'System',
  says: 'Show or change how a cluster holds the streams',
  example: 'beaver nats apply',
  more: 'show (the default) lists each stream with its leader and its replicas; its exit code is 0 if the loss of any one server stops nothing, else 1. apply changes streams that exist to nats.replicas and nats.placement of the configuration: it shows the difference, asks, and makes the change a part of the record.',
  build: (command, run) =>
    command
      .addArgument(new Argument('[what]', 'what to do').choices(['show', 'apply']).default('show'))
      .option('--yes', 'apply: do not ask')
      .addOption(json('show: print one line of JSON for each stream; apply: print {changed}'))
      .action((what: 'show' | 'apply', options: NatsOptions) =>
        run(async (globals) => {
          mustOwn('nats', what, options, { show: [], apply: ['yes'] })
          const { natsApply, natsShow } = await import('../commands/nats.ts')
          return what === 'show' ? natsShow(options, globals) : natsApply(options, globals)
        }),
      ),
}
