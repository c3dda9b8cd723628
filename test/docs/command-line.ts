// The command line as its own `--help` shows it: what the documentation may tell people to type.
import { execFileSync } from 'node:child_process'
import { cliEntry, cliEnvironment } from '../support/cli.ts'

export interface CommandHelp {
  /** `--json`, `-q`; true when a value follows. */
  readonly options: ReadonlyMap<string, boolean>
}

export interface CommandLine {
  readonly commands: readonly string[]
  help(command: string): CommandHelp
}

/** The commands that services type. The overview leaves them out; each has its own help. */
const hidden = ['daemon', 'projector']

/** Asks `beaver help --all` now, and `beaver <command> --help` once for each command asked about. */
export function commandLine(): CommandLine {
  const asked = new Map<string, CommandHelp>()
  const overview = ask('help', '--all')
  return {
    commands: [
      ...[...overview.matchAll(/^ {1,4}([a-z][a-z-]*)\b/gm)]
        .map((match) => match[1] ?? '')
        .filter((name) => name !== 'beaver'),
      ...hidden,
    ],
    help: (command) => {
      const help = asked.get(command) ?? helpOf(ask(command, '--help'))
      asked.set(command, help)
      return help
    },
  }
}

/** The options a help text lists, with those of every command. */
export function helpOf(text: string): CommandHelp {
  const options = new Map<string, boolean>()
  for (const [, terms = ''] of text.matchAll(/^ {1,4}(-[^\n]*?)(?: {2,}|$)/gm)) {
    const takesValue = /[<[]/.test(terms)
    for (const [name] of terms.matchAll(/--?[a-zA-Z][a-zA-Z-]*/g)) options.set(name, takesValue)
  }
  return { options }
}

/** What is wrong with the words after `beaver`; `null` when nothing is. */
export function faultOf(args: readonly string[], line: CommandLine): string | null {
  const words = args.filter((word) => !/^(?:…|\.\.\.|\[.*|<.*)$/.test(word))
  const at = words.findIndex((word, index) => !word.startsWith('-') && !takesValueBefore(words, index, line))
  const command = at === -1 ? null : (words[at] ?? null)
  if (command === null)
    return words.every((word) => ['-h', '--help', '-V', '--version'].includes(word))
      ? null
      : `"${words.join(' ')}" names no command`
  if (command === 'help') return null
  if (!line.commands.includes(command)) return `there is no command "${command}"`
  const { options } = line.help(command)
  const unknown = words
    .filter((word) => /^--?[a-zA-Z]/.test(word))
    .find((word) => !options.has(word.replace(/=.*$/, '')))
  return unknown === undefined ? null : `"${command}" has no option ${unknown}`
}

// `beaver --home somewhere tasks`: options of every command may stand before its name.
function takesValueBefore(words: readonly string[], index: number, line: CommandLine): boolean {
  const before = words[index - 1]
  const [first] = line.commands
  return (
    before !== undefined &&
    first !== undefined &&
    before.startsWith('-') &&
    line.help(first).options.get(before) === true
  )
}

function ask(...args: string[]): string {
  return execFileSync(process.execPath, [cliEntry, ...args], { encoding: 'utf8', env: cliEnvironment() })
}
