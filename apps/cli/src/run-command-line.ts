// Runs one command line to its end, and turns every outcome into an exit code. main.ts controls the process.
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import type { Run } from './command-table/command-spec.ts'
import { commands, groups } from './command-table/index.ts'
import type { GlobalOptions } from './context.ts'
import { linesOf, reportOf, UsageError } from './failures.ts'
import { plainText } from './text/plain-text.ts'
import { wrappedFor } from './text/wrap-screen.ts'

/**
 * Runs the words after `beaver`. It prints to stdout and stderr, and never throws.
 *
 * @returns the exit code
 */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
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
    .helpCommand('help [command]', 'print help for a command')
  for (const { flags, says } of globalOptions) program.option(flags, says)
  program.configureHelp({ showGlobalOptions: true }).helpInformation = () => overview(version)
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

// The help that a new user reads first: all commands in their groups, with one example each.

const globalOptions: readonly { readonly flags: string; readonly says: string }[] = [
  { flags: '--nats-url <url>', says: 'NATS URL (default: NATS_URL, configuration, what runs here)' },
  { flags: '--home <dir>', says: 'folder for data (default: BEAVER_HOME, .beaver)' },
  { flags: '--config <file>', says: 'configuration (default: BEAVER_CONFIG, beaver.config.json)' },
  { flags: '--trust', says: 'use all of beaver.config.json in this folder (BEAVER_TRUST=1)' },
  { flags: '--no-trust', says: 'use only its safe settings, and do not ask (BEAVER_TRUST=0)' },
  { flags: '--no-color', says: 'no colours and no spinner, as with NO_COLOR' },
  { flags: '--raw', says: 'pipes get texts as they are, with control characters' },
]

const column = 18

/**
 * The overview, at most 80 columns wide. A term that is too long for the left column has a line of its own.
 */
export function overview(version: string): string {
  const row = (term: string, text: string): string[] =>
    term.length >= column ? [` ${term}`, ` ${''.padEnd(column)}${text}`] : [` ${term.padEnd(column)}${text}`]
  const group = (name: keyof typeof groups): string[] => [
    '',
    groups[name],
    ...commands
      .filter(({ group: of, hidden }) => of === name && hidden !== true)
      .flatMap((command) => [...row(command.usage, command.says), ...row('', command.example)]),
  ]
  return [
    `Beaver ${version} runs teams of LLM agents as supervised, durable actors.`,
    '',
    'Usage: beaver <command> [options]',
    ...group('Work'),
    ...group('Look'),
    ...group('System'),
    '',
    'Options of every command',
    ...[
      ...globalOptions,
      { flags: '-h, --help', says: 'print help; "beaver <command> --help" says more' },
      { flags: '-V, --version', says: 'print the version' },
    ].flatMap(({ flags, says }) => row(flags, says)),
    '',
    'Exit codes: 0 completed, 1 failed or incomplete, 2 wrong usage,',
    '3 the system cannot be reached',
    '',
  ].join('\n')
}
