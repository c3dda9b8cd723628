// Reads a script of a shell if it is written in a small language that every POSIX shell reads in the same way:
// - Commands of literal words, joined by `;`, `&&`, `||`, `|` and line ends. A word may have plain single and
//   double quotes, and a backslash before a printable character. A comment begins with `#`.
// - Redirections of 0, 1 and 2 to a literal name, and `2>&1`.
// - Words that the shell computes: `$NAME`, `${NAME}`, `$1`, `$?`, `~` and patterns of file names. They are
//   never the program.
// - Variables that are on a list, before a program.
// Any other script may start anything. There is no list of bad forms.

/** A simple command of a script. */
export interface ScriptCommand {
  /** The program and its arguments, up to the first word that the shell computes. */
  readonly words: readonly [string, ...string[]]
  /** Whether a computed word follows, and after it anything. */
  readonly open: boolean
  /** Commands with the same number run at the same time. */
  readonly pipeline: number
  /** Whether another command or a file gives its input. */
  readonly fed: boolean
  /** Where its output goes. */
  readonly written: readonly string[]
  /** Whether it has redirections or variables of its own. */
  readonly plain: boolean
}

/** Variables that no program runs. */
const settable =
  /^(?:CI|NODE_ENV|DEBUG|FORCE_COLOR|NO_COLOR|TZ|VERBOSE|LOG_LEVEL|PORT|RUST_BACKTRACE|RUST_LOG|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|GOOS|GOARCH|CGO_ENABLED)=/
export const isSettable = (assignment: string): boolean => settable.test(assignment)

const scriptCharsMax = 100_000

const reserved = new Set(
  '! { } [[ ]] case coproc do done elif else esac fi for function if in select then until while'.split(' '),
)
/** Whether a word in the place of a program begins something else. */
export const isReserved = (word: string): boolean => reserved.has(word)

/** @returns `null` if the script is not written in the language above */
export function readScript(script: string): ScriptCommand[] | null {
  if (script.length > scriptCharsMax) return null
  const tokens = tokensOf(script)
  return tokens === null ? null : commandsOf(tokens)
}

type Join = ';' | '\n' | '&&' | '||' | '|'
type Token =
  | { readonly kind: 'word'; readonly word: Word }
  | { readonly kind: 'join'; readonly by: Join }
  /** Its name is the next word. */
  | { readonly kind: 'redirection'; readonly writes: boolean }
  /** `2>&1` */
  | { readonly kind: 'copy' }

interface Word {
  /** What it is without quotes. What the shell computes is left out. */
  readonly text: string
  readonly computed: boolean
  /** Whether it begins with `NAME=` outside of quotes. */
  readonly assigns: boolean
}

/** Each is read at a place of the script. */
const blank = /(?:[ \t]|\\\n)+/y
const comment = /#[^\n]*/y
const join = /\n|;|&&|\|\|?/y
const copy = /[012]?>&[12](?=[\s;|]|$)/y
const redirection = /[012]?(?:>>|>|<)(?![<>&|(])/y
/** `!` and `#` mean something only at the beginning of a word, and `{}` nothing. */
const letters = /(?:[\w@%+=:,./^!#-]|\{\})+/y
const bracket = /[[\]](?=[\s;]|$)/y
const single = /'([^']*)'/y
const escaped = /\\([ -~])/y
const joinedLine = /\\\n/y
const double = /"((?:[^"\\$`]|\\[^`]|\\`|\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[0-9?@*#]))*)"/y
const variable = /\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[0-9?@*#])/y
const pattern = /[~*?[\]]/y
const assigning = /^[A-Za-z_]\w*\+?=/

/** Bytes above 126 outside of quotes, and control characters, are not the same for each shell. */
function isOfPlainCharacters(script: string): boolean {
  for (const letter of script)
    if (letter !== '\n' && letter !== '\t' && (letter < ' ' || letter === '\x7F')) return false
  return true
}

function tokensOf(script: string): Token[] | null {
  if (!isOfPlainCharacters(script)) return null
  const tokens: Token[] = []
  let at = 0
  const take = (what: RegExp): RegExpExecArray | null => {
    what.lastIndex = at
    const found = what.exec(script)
    if (found !== null) at = what.lastIndex
    return found
  }
  const takeWord = (): Word | null => {
    const begun = at
    const alone = take(bracket)
    if (alone !== null) return { text: alone[0], computed: false, assigns: false }
    let [text, computed] = ['', false]
    for (;;) {
      let found: RegExpExecArray | null
      if ((found = take(letters)) !== null) text += found[0]
      else if ((found = take(single) ?? take(escaped)) !== null) text += found[1] ?? ''
      else if ((found = take(double)) !== null) {
        text += (found[1] ?? '').replaceAll(
          /\\(["\\$`\n])|\$(?:\w+|\{\w+\}|[?@*#])/g,
          (_, literal?: string) => {
            computed ||= literal === undefined
            return literal === '\n' ? '' : (literal ?? '')
          },
        )
      } else if (take(variable) !== null || take(pattern) !== null) computed = true
      else if (take(joinedLine) === null) break
    }
    if (at === begun || (/^\d+$/.test(text) && /[<>]/.test(script.charAt(at)))) return null
    return { text, computed, assigns: assigning.test(script.slice(begun, at).replaceAll('\\\n', '')) }
  }
  while (at < script.length) {
    if (take(blank) !== null || take(comment) !== null) continue
    let found: RegExpExecArray | null
    if (take(copy) !== null) tokens.push({ kind: 'copy' })
    else if ((found = take(redirection)) !== null)
      tokens.push({ kind: 'redirection', writes: found[0].includes('>') })
    else if ((found = take(join)) !== null) tokens.push({ kind: 'join', by: found[0] as Join })
    else {
      const word = takeWord()
      if (word === null) return null
      tokens.push({ kind: 'word', word })
    }
  }
  return tokens
}

function commandsOf(tokens: readonly Token[]): ScriptCommand[] | null {
  const commands: ScriptCommand[] = []
  let pipeline = 0
  /** The join before the command. A command must follow each of these but the first. */
  let after: Join | null = null
  for (let at = 0; at < tokens.length;) {
    const end = tokens.findIndex((token, i) => i >= at && token.kind === 'join')
    const own = tokens.slice(at, end === -1 ? undefined : end)
    const by = (end === -1 ? undefined : tokens[end]) as Extract<Token, { kind: 'join' }> | undefined
    at += own.length + 1
    if (own.length === 0) {
      if (by?.by !== '\n') return null
      continue
    }
    if (after !== '|') pipeline++
    const command = commandOf(own, { pipeline, fed: after === '|' })
    if (command === null) return null
    commands.push(command)
    after = by?.by ?? null
  }
  return after === '|' || after === '&&' || after === '||' ? null : commands
}

function commandOf(
  tokens: readonly Token[],
  { pipeline, fed }: Pick<ScriptCommand, 'pipeline' | 'fed'>,
): ScriptCommand | null {
  const words: Word[] = []
  const written: string[] = []
  let reads = fed
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]
    if (token?.kind === 'word') words.push(token.word)
    else if (token?.kind === 'redirection') {
      const name = tokens[++at]
      if (name?.kind !== 'word' || name.word.computed || name.word.text === '') return null
      if (!token.writes) reads = true
      else written.push(name.word.text)
    }
  }
  const from = words.findIndex(({ assigns }) => !assigns)
  const assigned = words.slice(0, from === -1 ? undefined : from)
  const [program, ...args] = words.slice(assigned.length)
  if (program === undefined || program.computed || program.text === '' || isReserved(program.text))
    return null
  // A quoted name of a variable is that of a program, which nobody needs.
  if (assigning.test(program.text) || program.text.startsWith('!')) return null
  if (assigned.some(({ text, computed }) => computed || !isSettable(text))) return null
  const known = args.findIndex(({ computed }) => computed)
  return {
    words: [program.text, ...args.slice(0, known === -1 ? undefined : known).map(({ text }) => text)],
    open: known !== -1,
    pipeline,
    fed: reads,
    written,
    plain: tokens.every(({ kind }) => kind === 'word') && assigned.length === 0,
  }
}
