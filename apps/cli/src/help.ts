// The help that a new user reads first: every command in its group, with one example each.
import { commands, groups } from './command-table/index.ts'

export const globalOptions: readonly { readonly flags: string; readonly says: string }[] = [
  { flags: '--nats-url <url>', says: 'NATS URL (default: NATS_URL, configuration, what runs here)' },
  { flags: '--home <dir>', says: 'folder for data (default: BEAVER_HOME, .beaver)' },
  { flags: '--config <file>', says: 'configuration (default: BEAVER_CONFIG, beaver.config.json)' },
  { flags: '--trust', says: 'use all of beaver.config.json in this folder (BEAVER_TRUST=1)' },
  { flags: '--no-trust', says: 'use only its safe settings, and do not ask (BEAVER_TRUST=0)' },
  { flags: '--no-color', says: 'no colours and no spinner, as with NO_COLOR' },
  { flags: '--raw', says: 'pipes get texts as they are, with control characters' },
]

const column = 18

/** At most 80 columns wide. A text that is too long for the left column has a line of its own. */
export function overview(version: string): string {
  const row = (term: string, text: string): string[] =>
    term.length >= column ? [` ${term}`, ` ${''.padEnd(column)}${text}`] : [` ${term.padEnd(column)}${text}`]
  const group = (name: keyof typeof groups): string[] => [
    '',
    groups[name],
    ...commands
      .filter((command) => command.group === name)
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
