// Runs one command line to its end, and turns every outcome into an exit code. main.ts controls the process.
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import type { Run } from './command-table/command-spec.ts'
import { commands } from './command-table/index.ts'
import type { GlobalOptions } from './context.ts'
import { linesOf, reportOf, UsageError } from './failures.ts'
import { globalOptions, shortHelp, wholeHelp } from './help.ts'
import { plainText } from './text/plain-text.ts'
import { wrappedFor } from './text/wrap-screen.ts'

/**
 * Runs the words after `beaver`. It prints to stdout and stderr, and never throws.
 *
 * @returns the exit code
 */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  if (argv[0] === '__complete') return (await import('./complete-words.ts')).completeWords(argv.slice(1))
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  try {
    const parsed = await parseCommandLine(argv, version)
    return parsed === null ? 0 : await parsed()
  } catch (error) {
    const report = await reportOf(error)
    const { code, message, problems } = report
    if (argv.includes('--json'))
      process.stdout.write(
        `${(await import('@beaver/core')).safeJson(JSON.stringify({ ok: false, error: { code, message, problems } }))}\n`,
      )
    process.stderr.write(`${wrappedFor(process.stderr, plainText(linesOf(report).join('\n')))}\n`)
    if (process.env['BEAVER_DEBUG'] === '1' && error instanceof Error)
      process.stderr.write(`${plainText(describe(error))}\n`)
    return report.exit
  }
}

function describe(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${describe(error.cause)}` : ''
  return `${error.stack ?? error.message}${cause}`
}

// Parses the command line.

/**
 * Returns the function that runs the command line; `null` if help or the version was printed.
 *
 * @throws {UsageError} with one sentence that says what is wrong
 */
export async function parseCommandLine(
  argv: readonly string[],
  version: string,
): Promise<(() => Promise<number>) | null> {
  let chosen: Run | null = null
  const program = new Command('beaver')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
  for (const { flags, says } of globalOptions) program.option(flags, says)
  program.configureHelp({ showGlobalOptions: true }).helpInformation = () =>
    argv.includes('--all') ? wholeHelp(version) : shortHelp(version)
  for (const spec of commands) {
    const command = program
      .command(spec.name, { hidden: spec.hidden === true })
      .summary(spec.says)
      .description(`${spec.says}.${spec.more === undefined ? '' : ` ${spec.more}`}`)
    command
      .configureHelp({ showGlobalOptions: true, optionDescription: (option) => option.description })
      .addHelpText('after', `\nExample:\n  ${spec.example}`)
    spec.build(command, (act) => {
      chosen = act
    })
  }
  addHelpCommand(program, version)
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
        argv.find((word) => commands.some(({ name }) => name === word)),
      ),
    )
  }
  const act = chosen as Run | null
  return act === null ? null : () => act(program.opts<GlobalOptions>())
}

/** `beaver help`, with the name of a command or with `--all`. */
function addHelpCommand(program: Command, version: string): void {
  program
    .command('help', { hidden: true })
    .description('Print the help for a command, or for all of them.')
    .argument('[command...]', 'the name of a command')
    .option('--all', 'print all commands, with an example of each')
    .action(([name]: string[], { all }: { all?: true }) => {
      const asked = program.commands.find((command) => command.name() === name)
      if (asked !== undefined) asked.outputHelp()
      // An unknown name is refused as an unknown command is, with a suggestion.
      else if (name !== undefined) program.parse([name], { from: 'user' })
      else if (all === true) printHelp(wholeHelp(version))
      else program.outputHelp()
    })
}

/** Prints the help with lines that are broken between words. */
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
