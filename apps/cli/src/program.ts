// Parses the command line, or says in one sentence what is wrong with it.
import { Command, CommanderError } from 'commander'
import { commands } from './command-table/index.ts'
import type { Run } from './command-table/command-spec.ts'
import type { GlobalOptions } from './context.ts'
import { UsageError } from './failures.ts'
import { globalOptions, overview } from './help.ts'
import { wrappedFor } from './text/wrap-screen.ts'

/**
 * Returns what to run for a command line. `null` if help or the version was printed.
 *
 * @throws {UsageError}
 */
export async function parseCommandLine(
  argv: readonly string[],
  version: string,
): Promise<(() => Promise<number>) | null> {
  let chosen: Run | null = null
  const program = new Command('beaver')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
  for (const { flags, says } of globalOptions) program.option(flags, says)
  program.configureHelp({ showGlobalOptions: true }).helpInformation = () => overview(version)
  for (const spec of commands) {
    const command = program
      .command(spec.name)
      .summary(spec.says)
      .description(`${spec.says}.${spec.more === undefined ? '' : ` ${spec.more}`}`)
    command
      .configureHelp({ showGlobalOptions: true, optionDescription: (option) => option.description })
      .addHelpText('after', `\nExample:\n  ${spec.example}`)
    spec.build(command, (act) => {
      chosen = act
    })
  }
  for (const command of [program, ...program.commands])
    command.exitOverride().configureOutput({ writeErr: () => {}, outputError: () => {}, writeOut: printHelp })
  if (argv.length === 0) {
    program.outputHelp()
    return null
  }
  try {
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return null
    throw new UsageError(
      usageMessage(
        error,
        argv.find((word) => program.commands.some((command) => command.name() === word)),
      ),
    )
  }
  const act = chosen as Run | null
  return act === null ? null : () => act(program.opts<GlobalOptions>())
}

/** A narrow terminal would break the lines anywhere. */
const printHelp = (text: string): boolean => process.stdout.write(wrappedFor(process.stdout, text))

function usageMessage(error: CommanderError, command: string | undefined): string {
  const [first = '', ...rest] = error.message
    .replace(/^error: /, '')
    .split('\n')
    .filter((line) => line !== '')
  const sentence = `${first.charAt(0).toUpperCase()}${first.slice(1)}`.replace(/\.?$/, '.')
  const hints = rest.map((line) => line.replace(/^\((.*)\)$/, '$1'))
  if (error.code === 'commander.excessArguments' && (command === 'run' || command === 'submit'))
    hints.push('Put the task in quotes.')
  return [sentence, ...hints, `See "beaver ${command === undefined ? '' : `${command} `}--help".`].join(' ')
}
