// Every command that a call could start, as far as it can be read: the call itself, and what wrappers, shells
// and git start for it. What cannot be read is `anything`, and never left out. Only what a program takes from
// a file is (known-programs.ts, I3), unless the script itself wrote the file.
import { knownOf, mayRun, mostWritten, namesDevice, writesTo } from './known-programs.ts'
import { anything, type Inside, programName, type ReadCommand } from './read-command.ts'
import { readScript, type ScriptCommand } from './read-script.ts'

const commandsMax = 2_000
const depthMax = 12
const charsMax = 100_000
const optionsMax = 64

type Waiting = Pick<Inside, 'guessed'> &
  ({ readonly command: ReadCommand } | { readonly script: string }) & { readonly depth: number }

/** @param line the words of the call, or a line for a shell */
export function readingsOf(line: readonly string[] | string): readonly ReadCommand[] {
  if ((typeof line === 'string' ? line : line.join(' ')).length > charsMax) return [anything]
  const found: ReadCommand[] = []
  const waiting: Waiting[] = [
    {
      ...(typeof line === 'string' ? { script: line } : { command: { words: line, open: false } }),
      guessed: false,
      depth: 0,
    },
  ]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { guessed } = next
    const depth = next.depth + 1
    if (found.length + waiting.length > commandsMax || depth > depthMax) return [...found, anything]
    if ('command' in next) {
      found.push(...namesOf(next.command))
      if (next.command.words.length > 0)
        waiting.push(...knownOf(next.command, guessed).inside.map((each) => ({ ...each, depth })))
    } else {
      const commands = commandsOfScript(next.script)
      if (commands === null) found.push(anything)
      else waiting.push(...commands.map((command) => ({ command, guessed: false, depth })))
    }
  }
  return found
}

/**
 * The commands of a script. `null`: it may start anything, because it cannot be read, gives a command its
 * input that may take it for a script, or runs a file that it may have written.
 */
function commandsOfScript(script: string): readonly ScriptCommand[] | null {
  const commands = readScript(script)?.map((command) => {
    const known = knownOf(command)
    return { command, known, writes: mostWritten([known.writes, ...command.written.map(writesTo)]) }
  })
  if (commands === undefined) return null
  // There, git keeps messages, and an earlier command may have gone there.
  const isInGit = commands.some(
    ({ command: { words, open } }) =>
      words.some((word) => /(?:^|[/=])\.git(?:\/|$)/i.test(word)) || (words[0] === 'cd' && open),
  )
  const isAtDevice = commands.some(
    ({ command: { words, open } }) => words[0] === 'cd' && (open || words.some(namesDevice)),
  )
  const isUnread = commands.some(({ command, known }, at) => {
    const before = commands.filter(
      (other, i) => i !== at && (i < at || other.command.pipeline === command.pipeline),
    )
    const most = mostWritten(before.map(({ writes }) => writes))
    const written = most === 'named' && isInGit ? 'file' : most
    return (
      (command.fed && !known.takesInput) ||
      (isAtDevice && known.runs === 'file') ||
      mayRun(known, command.words, written)
    )
  })
  return isUnread ? null : commands.map(({ command }) => command)
}

/** Whether a script is nothing but one command with words that are known, which starts no other. */
export function isPlainScript(script: string): boolean {
  const [command, ...others] = readScript(script) ?? []
  return (
    command !== undefined &&
    others.length === 0 &&
    command.plain &&
    !command.open &&
    knownOf(command).inside.every(({ guessed }) => guessed)
  )
}

/**
 * The command as it is, by the name of its program, without its first options, and with each option before
 * all other arguments.
 */
function namesOf({ words, open }: ReadCommand): ReadCommand[] {
  const [program, ...args] = words
  if (program === undefined) return [anything]
  const name = programName(program)
  const named = [name, ...args]
  const subs = name === 'git' ? 2 : 1
  const options = named
    .flatMap((word, at) => (at > subs && word.startsWith('-') ? [at] : []))
    .slice(0, optionsMax)
  const moved = options.map((at) => [
    ...named.slice(0, subs),
    ...named.slice(at, at + 1),
    ...named.slice(subs, at),
    ...named.slice(at + 1),
  ])
  return [...(name === program ? [] : [words]), named, ...withoutOptions(named), ...moved].map((each) => ({
    words: each,
    open,
  }))
}

/**
 * An option before the sub-command may have its value in the next word, so it is left out with and without
 * that word.
 */
function withoutOptions([name = '', ...args]: readonly string[]): string[][] {
  const isSkipped = (at: number): boolean =>
    args[at]?.startsWith('-') === true || args[at - 1]?.startsWith('-') === true
  const end = args.findIndex((_, at) => !isSkipped(at))
  return Array.from({ length: Math.min(end === -1 ? args.length : end, optionsMax) }, (_, at) => [
    name,
    ...args.slice(at + 1),
  ])
}
