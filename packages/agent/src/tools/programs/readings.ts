// Every command that a call could start, as far as it can be read: the call itself, and what wrappers, shells
// and git start for it. What cannot be read is `anything`, and never left out. Only what a program takes from
// a file is (inside-program.ts, I3).
import { insideGit } from './inside-git.ts'
import { type Inside, insideProgram, isWrapper, runsCode, setsStarting } from './inside-program.ts'
import { insideScript, insideShell, shells } from './inside-shell.ts'
import { anything, programName, type ReadCommand } from './read-command.ts'

export interface Readings {
  readonly commands: readonly ReadCommand[]
  /** Texts that a shell reads. */
  readonly scripts: readonly string[]
}

const commandsMax = 2_000
const depthMax = 12
const charsMax = 100_000
const optionsMax = 64

/** @param line the words of the call, or a line for a shell */
export function readingsOf(line: readonly string[] | string): Readings {
  if ((typeof line === 'string' ? line : line.join(' ')).length > charsMax)
    return { commands: [anything], scripts: [] }
  const found: { readonly commands: ReadCommand[]; readonly scripts: string[] } = {
    commands: [],
    scripts: [],
  }
  const waiting: { readonly inside: Inside; readonly depth: number }[] = [
    {
      inside:
        typeof line === 'string'
          ? { script: line, shell: 'sh', certain: true }
          : { command: { words: line, open: false } },
      depth: 0,
    },
  ]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { inside, depth } = next
    if (found.commands.length + waiting.length > commandsMax || depth > depthMax)
      return { ...found, commands: [...found.commands, anything] }
    if ('script' in inside && inside.certain) found.scripts.push(inside.script)
    if ('command' in inside) found.commands.push(...namesOf(inside.command))
    for (const each of insideOf(inside)) waiting.push({ inside: each, depth: depth + 1 })
  }
  return found
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

function insideOf(inside: Inside): Inside[] {
  if ('script' in inside) return insideScript(inside)
  const { command, guessed = false } = inside
  const [program, ...args] = command.words
  if (program === undefined) return []
  const { open } = command
  const name = programName(program)
  if (name === '') return [{ command: anything }]
  if (name === 'git')
    return insideGit(args, open)
      .filter(({ words }) => words.length !== command.words.length)
      .map((each) => ({ command: each, guessed: true }))
  if (name.startsWith('git-'))
    return [{ command: { words: ['git', name.slice('git-'.length), ...args], open }, guessed: true }]
  if (shells.has(name)) return insideShell(name, args, { open, guessed })
  if (guessed && !isWrapper(name))
    return runsCode(name, args, open) && args.length > 0 ? [{ command: anything }] : []
  return insideBuiltin(name, args, open) ?? insideProgram(name, args, open)
}

/**
 * Builtins of a shell that read their arguments as a script, or change what other words mean. Returns `null`
 * for another program.
 */
function insideBuiltin(name: string, args: readonly string[], open: boolean): Inside[] | null {
  switch (name) {
    case 'eval':
      return open ? [{ command: anything }] : [{ script: args.join(' '), shell: 'sh', certain: true }]
    case 'trap':
      return open
        ? [{ command: anything }]
        : args
            .filter((arg) => arg !== '--')
            .slice(0, 1)
            .map((script) => ({ script, shell: 'sh', certain: true }))
    case 'alias':
    case 'hash':
    case 'enable':
    case 'bind':
    case 'fc':
      return args.length === 0 && !open ? [] : [{ command: anything }]
    case '.':
    case 'source':
      return open || /^\/(?:dev|proc)\//.test(args[0] ?? '')
        ? [{ command: anything }]
        : [{ command: { words: args, open }, guessed: true }]
    case 'export':
    case 'declare':
    case 'typeset':
    case 'local':
    case 'readonly':
      return setsStarting(args) ? [{ command: anything }] : []
    default:
      return null
  }
}
