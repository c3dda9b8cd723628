// The texts of `beaver --help`: the short one, which fits a terminal of 80 columns and 24 rows, and the one of
// `beaver help --all`, which has an example of each command.
import { commands, everyDay, groups } from './command-table/index.ts'

/** The options of every command. */
export const globalOptions: readonly { readonly flags: string; readonly says: string }[] = [
  { flags: '--nats-url <url>', says: 'NATS URL (default: NATS_URL, configuration, what runs here)' },
  { flags: '--home <dir>', says: 'folder for data (default: BEAVER_HOME, .beaver)' },
  { flags: '--config <file>', says: 'configuration (default: BEAVER_CONFIG, beaver.config.json)' },
  { flags: '--trust', says: 'use all of beaver.config.json in this folder (BEAVER_TRUST=1)' },
  { flags: '--no-trust', says: 'use only its safe settings, and do not ask (BEAVER_TRUST=0)' },
  { flags: '--no-color', says: 'no colours and no spinner, as with NO_COLOR' },
  { flags: '--raw', says: 'pipes get texts as they are, with control characters' },
]

const columnsMax = 80
const groupNames = Object.keys(groups) as (keyof typeof groups)[]

const heading = (version: string): string[] => [
  `Beaver ${version} runs teams of LLM agents as supervised, durable actors.`,
  'Usage: beaver <command> [options]',
  '',
]

/** The short help: the commands of every day, and the names of the others. It has at most 23 lines. */
export function shortHelp(version: string): string {
  const daily = everyDay.flatMap((name) => commands.filter((command) => command.name === name))
  const column = 1 + Math.max(...daily.map(({ usage }) => usage.length))
  const group = (name: keyof typeof groups): string[] =>
    hangingList(
      groups[name],
      commands
        .filter(({ group: of, hidden }) => of === name && hidden !== true)
        .map((command) => command.name)
        .filter((command) => !everyDay.includes(command))
        .sort(),
    )
  return [
    ...heading(version),
    'Every day',
    ...daily.map(({ usage, says }) => ` ${usage.padEnd(column)}${says}`),
    '',
    ...groupNames.flatMap(group),
    'Help for one command: beaver help <command>. With examples: beaver help --all',
    '',
  ].join('\n')
}

/** A title, and words beside it on as many lines as they need. */
function hangingList(title: string, words: readonly string[]): string[] {
  const column = 3 + Math.max(...Object.values(groups).map(({ length }) => length))
  const lines = [title.padEnd(column)]
  for (const word of words) {
    const last = lines.at(-1) ?? ''
    const joined = last.length === column ? `${last}${word}` : `${last} ${word}`
    if (joined.length <= columnsMax) lines[lines.length - 1] = joined
    else lines.push(''.padEnd(column) + word)
  }
  return lines
}

const column = 18

/**
 * All commands in their groups, with one example each, at most 80 columns wide. A term that is too long for
 * the left column has a line of its own.
 */
export function wholeHelp(version: string): string {
  const row = (term: string, text: string): string[] =>
    term.length >= column ? [` ${term}`, ` ${''.padEnd(column)}${text}`] : [` ${term.padEnd(column)}${text}`]
  const group = (name: keyof typeof groups): string[] => [
    groups[name],
    ...commands
      .filter(({ group: of, hidden }) => of === name && hidden !== true)
      .flatMap((command) => [...row(command.usage, command.says), ...row('', command.example)]),
    '',
  ]
  return [
    ...heading(version),
    ...groupNames.flatMap(group),
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
