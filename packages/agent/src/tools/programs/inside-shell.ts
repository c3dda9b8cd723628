// What a script of a shell starts: every simple command in it, also in substitutions, functions and branches.
// The parser reads Bash, and other shells read some texts in another way. Such a text may be anything. A word
// that the shell computes (a variable, a substitution, a pattern of file names) ends what is known of its
// command. A script that does not parse may be anything, because a shell runs the lines before the fault.
import { createRequire } from 'node:module'
import type {
  Assignment,
  Command,
  forEachChild,
  parse,
  ParsedScript,
  SyntaxNode,
  Word,
  WordPart,
} from 'unbash'
import { type Inside, setsStarting } from './inside-program.ts'
import { anything, type ReadCommand } from './read-command.ts'

/** The shells whose scripts are read. */
export const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'ash', 'rbash'])

const scriptCharsMax = 100_000
/** The time of the parser grows with the square of their depth. */
const substitutionsMax = 200

interface Parser {
  readonly parse: typeof parse
  readonly forEachChild: typeof forEachChild
}
let loaded: Parser | undefined
/** Few calls need the parser, and cells load this module, too. */
const parser = (): Parser => (loaded ??= createRequire(import.meta.url)('unbash') as Parser)

/** What a shell starts by its arguments. `guessed`: a shell without arguments is only a word. */
export function insideShell(
  name: string,
  args: readonly string[],
  { open, guessed }: { readonly open: boolean; readonly guessed: boolean },
): Inside[] {
  const unknown: Inside[] = [{ command: anything }]
  let [at, reads] = [0, false]
  for (; /^[-+]./.test(args[at] ?? '') && args[at] !== '--'; at++) {
    const option = args[at] ?? ''
    if (option.startsWith('--')) {
      if (!/^--(?:norc|noprofile|posix|restricted|verbose|login|version|help)$/.test(option)) return unknown
    } else if (/[is]/.test(option)) return unknown
    else if (option.includes('c')) reads = true
    // Each has its value in a word of its own.
    at += [...option.slice(1)].filter((letter) => !option.startsWith('--') && /[oO]/.test(letter)).length
  }
  if (args[at] === '--' || args[at] === '-') at++
  const [first, ...more] = args.slice(at)
  if (first === undefined) return open || !guessed ? unknown : []
  if (reads) return [{ script: first, shell: name === 'bash' ? 'bash' : 'sh', certain: true }]
  return /^\/(?:dev|proc)\//.test(first)
    ? unknown
    : [{ command: { words: [first, ...more], open }, guessed: true }]
}

/** What a script starts. */
export function insideScript({ script, shell, certain }: Extract<Inside, { script: string }>): Inside[] {
  const unknown: Inside[] = [{ command: anything }]
  if (isTooLong(script)) return unknown
  if (certain && shell === 'sh' && isReadDifferently(script)) return unknown
  // An array index may hold a command that is started when the shell computes the index.
  if (certain && /\[[^\]]*(?:\$\(|`)/.test(script)) return unknown
  const found: Inside[] = []
  let faulty = false
  const bash = parser()
  const visit = (node: SyntaxNode): void => {
    if (isScript(node) && (node.errors?.length ?? 0) > 0) faulty = true
    if (node.type === 'Command') found.push(...insideCommand(node, certain))
    bash.forEachChild(node, visit)
  }
  try {
    visit(bash.parse(script))
  } catch {
    faulty = true
  }
  return faulty && certain ? [...found, ...unknown] : found
}

/** Whether a script is nothing but one command with words that are known. */
export function isPlainScript(script: string): boolean {
  if (isTooLong(script) || isReadDifferently(script)) return false
  try {
    const { commands, errors = [] } = parser().parse(script) as ParsedScript
    const [statement, ...others] = commands
    if (
      errors.length > 0 ||
      others.length > 0 ||
      statement?.command.type !== 'Command' ||
      statement.background === true
    )
      return false
    const { command } = statement
    return (
      command.prefix.length === 0 &&
      command.redirects.length === 0 &&
      [command.name, ...command.args].every((word) => word?.type === 'Word' && isKnown(word))
    )
  } catch {
    return false
  }
}

const isTooLong = (script: string): boolean =>
  script.length > scriptCharsMax || (script.match(/\$[({]|[<>]\(|`/g)?.length ?? 0) > substitutionsMax

const isScript = (node: SyntaxNode): node is ParsedScript => node.type === 'Script'

/** What Bash has and other shells do not: there the same text may start a command. */
const isReadDifferently = (script: string): boolean =>
  /&>|\|&|<<<|[<>]\(|\(\(|\[\[|\$['"[]|\{[^}\n]*[,.][^}\n]*\}|;;?&|\$\{[^}\n]*[@^,!]|[?*+@!]\(|\+=|\b(?:function|coproc|select|time)\b|\r/.test(
    script,
  )

function insideCommand(command: Command, certain: boolean): Inside[] {
  const argumentTexts = [...command.prefix, ...command.args].flatMap((each) =>
    each.type === 'Assignment' || each.type === 'Word' ? [each.text] : [],
  )
  const found: Inside[] = setsStarting(argumentTexts) ? [{ command: anything }] : []
  if (command.name === undefined) return found
  const { words, open } = knownWords([command.name, ...command.args])
  // Of a text that may be no script, a variable in the place of a program says nothing.
  if (words.length === 0) return certain ? [...found, { command: anything }] : found
  return [...found, { command: { words, open } }]
}

function knownWords(all: readonly (Word | Assignment)[]): ReadCommand {
  const end = all.findIndex(
    (word) => !(word.type === 'Word' ? isKnown(word) : word.value.type === 'Word' && isKnown(word.value)),
  )
  const known = end === -1 ? all : all.slice(0, end)
  return { words: known.map((word) => (word.type === 'Word' ? word.value : word.text)), open: end !== -1 }
}

/** Whether the shell uses the word as it is. */
const isKnown = ({ text, parts }: Word): boolean =>
  !text.startsWith('~') && !/^[^'"\\]*=~/.test(text) && (parts === undefined || parts.every(isLiteral))

function isLiteral(part: WordPart): boolean {
  if (part.type === 'DoubleQuoted') return part.parts.every(({ type }) => type === 'Literal')
  return part.type === 'Literal' || part.type === 'SingleQuoted'
}
