// What is known of programs by their names: which take their arguments as data, which start the command that
// follows their options, which run a file. Each knows the options that it is looked through with, and with
// any other it may start anything. Of a program that is not here, an argument and those after it may be a
// command, and a text may be a script.
// I3. What a program reads from a file is not known here: a script, a Makefile, the package.json of a
// project.
import { insideGit, isLong } from './inside-git.ts'
import { anything, beforeFilled, type Inside, programName, type ReadCommand } from './read-command.ts'
import { isReserved, isSettable } from './read-script.ts'

/**
 * What a command may run that its words do not show. A builtin of every shell runs nothing. Other commands run
 * the program with their name, what files of the project say, or a file that their words name.
 */
const running = ['nothing', 'program', 'project', 'file'] as const
type Running = (typeof running)[number]
/**
 * Where a command may write a text of its script: nowhere, to a file with a name of its own, to any file, or
 * to a program. A `.log` and the message of a commit have names of their own: a program runs them only if its
 * words name them.
 */
const writing = ['nothing', 'named', 'file', 'program'] as const
export type Writing = (typeof writing)[number]

export const mostWritten = (all: readonly Writing[]): Writing =>
  writing.findLast((each) => all.includes(each)) ?? 'nothing'
export const writesTo = (file: string): Writing =>
  file === '/dev/null' ? 'nothing' : file.endsWith('.log') ? 'named' : 'file'

export interface Known {
  readonly inside: readonly Inside[]
  readonly runs: Running
  readonly writes: Writing
  /** Whether its input is data to it. */
  readonly takesInput: boolean
}

/** Whether a command may run what another one wrote. */
export function mayRun({ runs }: Known, words: readonly string[], written: Writing): boolean {
  switch (written) {
    case 'nothing':
      return false
    case 'named':
      return runs === 'file' || (runs === 'project' && words.some((word) => word.includes('.log')))
    case 'file':
      return runs === 'file' || runs === 'project'
    case 'program':
      return runs !== 'nothing'
    default:
      return written satisfies never
  }
}

const setOf = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** Their arguments are data, and they write no content. */
const readers = setOf(
  'cat tac ls head tail wc cut tr grep egrep fgrep sleep which basename dirname realpath readlink date uname hostname whoami id seq ' +
    'expr diff cmp comm paste sha256sum sha1sum md5sum cksum stat du df file nl od hexdump base64 fold fmt column rev jq printenv mkdir rmdir rm',
)
/** Such programs that every shell has itself. */
const plainBuiltins = setOf('echo pwd cd true false : type kill exit')
/** Their arguments are data, and they write a file, or make it a program. */
const writers = setOf('touch uniq tree dd curl')
const movers = setOf('cp mv ln chmod chown')

/** Programs that start what files of the project say. Their own arguments are those of any program. */
const ofProject = setOf('tsc eslint prettier oxlint biome vitest jest mocha pytest ruff black mypy')
/** The same with these sub-commands. */
const managers = setOf('npm pnpm yarn cargo go pip pip3')
const managing = setOf(
  'install i ci add test t run start build lint list ls outdated audit check clippy fmt bench doc vet uninstall show freeze',
)

/** The shells whose scripts are read. */
const shells = setOf('sh bash dash ash rbash')

/** They run code that is not a shell's, or another machine's, or that of a screen. */
const openPrograms = setOf(
  'zsh ksh mksh fish csh tcsh pwsh powershell cmd ssh su script screen tmux parallel watch at batch crontab vi vim nvim ex view ed emacs gdb lldb expect osascript ' +
    'tclsh wish sqlite3 psql mysql irb ghci m4 jshell nix-shell',
)
/** The builtins of shells that are in no other list. */
const builtins = setOf(
  'alias bg bind break builtin caller chdir compgen complete compopt continue declare dirs disown enable eval fc fg getopts hash help history jobs let local ' +
    'logout mapfile popd pushd read readarray readonly return shift shopt suspend times trap typeset ulimit umask unalias unset wait',
)

interface Wrapper {
  /** Options of one word. */
  readonly flags?: RegExp
  /** Options with a value in the next word. */
  readonly values?: string
  /** Words before the command. */
  readonly operand?: RegExp
  /** Whether variables may stand before the command. */
  readonly sets?: true
}

/** Programs that start the command after their options. */
const wrappers: Readonly<Record<string, Wrapper>> = {
  env: { flags: /^-$|^-i$|^--ignore-environment$/, values: '-u -C', sets: true },
  timeout: {
    flags: /^(?:--preserve-status|--foreground|-v|-[ks][\w.]+|--(?:signal|kill-after)=[\w.]+)$/,
    values: '-k -s',
    operand: /^[\d.]+[smhd]?$/,
  },
  nice: { flags: /^-(?:n-?)?\d+$/, values: '-n' },
  nohup: {},
  setsid: { flags: /^-[wfc]+$/ },
  stdbuf: { flags: /^-[ioe](?:L|\d+)$/, values: '-i -o -e' },
  time: { flags: /^-[pv]$/ },
  ionice: { flags: /^-[cn]\d$/, values: '-c -n' },
  command: {},
  exec: {},
  sudo: { flags: /^-[nEHSkb]+$/, values: '-u -g', sets: true },
  doas: { flags: /^-n$/, values: '-u' },
  chroot: { operand: /^[^-]/ },
  xargs: {
    flags:
      /^(?:-[0rtx]+|-[nPLs]\d+|-d.+|-I.+|--(?:null|no-run-if-empty|verbose)|--max-(?:args|procs|lines)=\d+)$/,
    values: '-n -P -L -s -d -I',
  },
  busybox: {},
  toybox: {},
}

/** Interpreters, their options before the name of the file, and the words that may replace the file. */
const interpreters: readonly (readonly [program: RegExp, options: RegExp, others?: RegExp])[] = [
  [
    /^(?:python|pypy)[\d.]*$/,
    /^-[uBOEIsSv]+$/,
    /^(?:-V|--version|-h|--help|-m(?: (?:pytest|unittest|venv|pip (?:install|uninstall|list|show|freeze|check|download)|json\.tool|http\.server|compileall|py_compile|black|ruff|isort|flake8|mypy|build)(?: .*)?)?)$/s,
  ],
  [
    /^(?:node|nodejs)$/,
    /^--(?:test|watch|check|no-warnings|enable-source-maps|experimental-strip-types|test-(?:only|concurrency=\d+|name-pattern=.*|reporter=(?:spec|tap|dot|junit)))$/,
    /^(?:-v|--version|-h|--help|--test)$/,
  ],
  [/^(?:bun|deno)$/, /^$/, /^(?:--version|test|run|fmt|lint|check|task|install|add|build)$/],
  [/^(?:tsx|ts-node|perl[\d.]*|ruby[\d.]*|lua[\d.]*|luajit)$/, /^-w$/, /^(?:-v|--version)$/],
  [
    /^(?:php[\d.]*|Rscript|rscript|julia|octave|elixir|swift|scala|groovy|racket|guile|sbcl|clisp)$/,
    /^$/,
    /^--version$/,
  ],
]

const reading: Known = { inside: [], runs: 'program', writes: 'nothing', takesInput: true }
const builtin: Known = { ...reading, runs: 'nothing' }
const ofFiles: Known = { inside: [], runs: 'project', writes: 'nothing', takesInput: false }
const nothingKnown = (by = 0): Known => ({
  inside: [{ by, command: anything, from: by, guessed: false }],
  runs: 'file',
  writes: 'program',
  takesInput: false,
})

/**
 * What is known of a command.
 *
 * @param guessed whether it is not known that it starts
 */
export function knownOf(command: ReadCommand, guessed = false): Known {
  const known = withoutDevices(command, guessed)
  const at = command.words.findIndex(namesDevice)
  return at > 0 && (known.runs === 'project' || known.runs === 'file') ? nothingKnown(at) : known
}

function withoutDevices({ words, open }: ReadCommand, guessed: boolean): Known {
  const [program = '', ...args] = words
  const name = programName(program)
  if (name === '' || name.includes('=') || isReserved(name)) return nothingKnown()
  if (name === 'git')
    return {
      ...ofFiles,
      inside: insideGit(args, { open, guessed }),
      ...filesOfGit(args, open),
    }
  if (name.startsWith('git-')) {
    const command = { words: ['git', name.slice('git-'.length), ...args], open }
    return { ...nothingKnown(), inside: [{ by: 0, command, from: 0, guessed: false }] }
  }
  if (shells.has(name)) return ofShell(args, { open, guessed })
  // A file of the workspace may have any name.
  const isSystem = !program.includes('/') || /^\/(?:usr\/(?:local\/)?)?s?bin\/[^/]+$/.test(program)
  if (isSystem && Object.hasOwn(wrappers, name)) return ofWrapper(name, args, open)
  // `python3.12`, `perl5.36-x86_64-linux-gnu`, `vim.basic`
  const [family = name] = /^[a-z]+(?=[\d.-])/.exec(name) ?? []
  const interpreter = interpreters.find(([each]) => each.test(name) || each.test(family))
  if (interpreter !== undefined)
    return guessed && args.length === 0 && !open ? ofFiles : ofInterpreter(interpreter, args, open)
  if (guessed && !/^(?:[gmn]?awk|sed|find|sort|rg|g?make)$/.test(name)) return ofFiles
  if (openPrograms.has(name) || openPrograms.has(family) || builtins.has(name)) return nothingKnown()
  const ofData = isSystem ? ofDataProgram(name, args, open) : null
  if (ofData !== null) return ofData
  // A word that the shell computes may be an option or a script.
  return open ? nothingKnown(words.length) : ofUnknown(name, program, args)
}

/** Sub-commands that keep nothing of what their arguments say. */
const askingGit = setOf(
  'add blame branch cat-file check-ignore count-objects describe diff fetch for-each-ref grep log ls-files ls-remote ls-tree merge-base name-rev push reflog ' +
    'rev-list rev-parse shortlog show show-ref status version',
)
/** Sub-commands that keep a message, and write only files that are in the repository. */
const committingGit = setOf(
  'checkout cherry-pick clean commit merge pull rebase reset restore revert rm stash switch tag',
)

function filesOfGit(args: readonly string[], open: boolean): Pick<Known, 'writes' | 'takesInput'> {
  const sub = args.find((arg) => !arg.startsWith('-')) ?? ''
  const elsewhere =
    open ||
    args.some(
      (arg) =>
        isLong(arg, ['output', 'output-directory']) || /^-[oC]|^--(?:git-dir|work-tree|bare)/.test(arg),
    )
  const writes = elsewhere
    ? 'program'
    : askingGit.has(sub)
      ? 'nothing'
      : committingGit.has(sub)
        ? 'named'
        : 'program'
  return { writes, takesInput: askingGit.has(sub) || /^(?:apply|am|hash-object)$/.test(sub) }
}

/** Returns `null` if the program may take its arguments as more than data. */
function ofDataProgram(name: string, args: readonly string[], open: boolean): Known | null {
  const only = (option: RegExp): boolean =>
    !open && args.every((arg) => !arg.startsWith('-') || option.test(arg))
  const when = (holds: boolean, known: Known = reading): Known => (holds ? known : nothingKnown(args.length))
  if (readers.has(name)) return reading
  if (name === 'tee') {
    const files = args.filter((arg) => arg !== '-a')
    return { ...reading, writes: open ? 'file' : mostWritten(files.map(writesTo)) }
  }
  if (plainBuiltins.has(name)) return builtin
  if (writers.has(name)) return { ...reading, writes: 'file' }
  if (movers.has(name)) return { ...reading, writes: 'program' }
  switch (name) {
    case 'printf':
      return when(args[0] !== undefined && !args[0].startsWith('-'), builtin)
    case 'test':
    case '[':
      return when(!open && !args.some((arg) => arg === '-v' || arg === '-R'), builtin)
    case 'sort':
      return when(only(/^-[bdfghnrRMVcusz]*(?:[kt].*)?$/))
    case 'rg':
      return when(!open && !args.some((arg) => /^--(?:pre|hostname-bin)/.test(arg)))
    case 'set':
      return when(
        !open && args.every((arg) => /^[-+][euxo]+$|^(?:pipefail|errexit|nounset|xtrace)$/.test(arg)),
        builtin,
      )
    case 'export':
      return when(!open && args.every(isSettable), builtin)
    case 'sed':
      return when(!open && isPlainSed(args), {
        ...reading,
        writes: args.some((arg) => /^-[a-zA-Z]*i/.test(arg)) ? 'file' : 'nothing',
      })
    case 'awk':
    case 'gawk':
    case 'mawk':
    case 'nawk':
      return when(!open && isPlainAwk(args), {
        ...reading,
        writes: args.some((arg) => arg.includes('>')) ? 'file' : 'nothing',
      })
    case 'find':
      return ofFind(args, open)
    case 'make':
    case 'gmake':
      return when(
        !open &&
          args.every(
            (arg, at) =>
              /^-(?:[kBsniw]|j\d*)$|^-[Cf]$|^--(?:silent|version|help|dry-run|keep-going|always-make)$/.test(
                arg,
              ) ||
              (args[at - 1] === '-f' ? isFile(arg) : /^[\w./:@%,+-]+$/.test(arg) && !arg.startsWith('-')),
          ),
        args.includes('-f') ? { ...ofFiles, runs: 'file' } : ofFiles,
      )
    case 'gh':
      return when(!open && /^(?:issue|label|pr|release|run|search|status|workflow)$/.test(args[0] ?? ''), {
        ...ofFiles,
        takesInput: true,
      })
    case '.':
    case 'source':
      return ofFile(args, 0, open)
    default:
      return null
  }
}

/** A program that runs the file at this place of its arguments. */
function ofFile(args: readonly string[], at: number, open: boolean): Known {
  const file = args[at]
  if (file === undefined || !isFile(file)) return nothingKnown(at + 1)
  const command = { words: args.slice(at), open }
  return { ...ofFiles, runs: 'file', inside: [{ by: 0, command, from: at + 1, guessed: true }] }
}

const isFile = (name: string): boolean => /^[\w./@][\w./@+ -]*$/.test(name)

/** Whether a word names a place where a file holds what a command was given: its input or its arguments. */
export const namesDevice = (word: string): boolean => /(?:^|[/=:])(?:dev|proc|fd)(?:\/|$)/.test(word)

function ofShell(
  args: readonly string[],
  { open, guessed }: { readonly open: boolean; readonly guessed: boolean },
): Known {
  let [at, reads, by] = [0, false, 0]
  for (; /^[-+]/.test(args[at] ?? ''); at++) {
    const option = args[at] ?? ''
    if (option === '--') {
      at++
      break
    }
    if (/^-[eufxvlc]+$/.test(option) || /^-[eufx]*o$/.test(option)) {
      if (option.includes('c')) [reads, by] = [true, at + 1]
      if (
        option.endsWith('o') &&
        !/^(?:pipefail|errexit|nounset|noglob|xtrace|posix)$/.test(args[++at] ?? '')
      )
        return nothingKnown(at)
    } else if (/^--(?:version|help)$/.test(option)) return reading
    else if (!/^--(?:norc|noprofile|posix|login)$/.test(option)) return nothingKnown(at + 1)
  }
  const script = args[at]
  if (script === undefined) return guessed && !open && args.length === 0 ? ofFiles : nothingKnown(0)
  if (!reads) return ofFile(args, at, open)
  return { ...nothingKnown(), inside: [{ by, script, from: at + 1, guessed: false }] }
}

function ofWrapper(name: string, args: readonly string[], open: boolean): Known {
  const { flags, values = '', operand, sets } = wrappers[name] ?? {}
  if (name === 'command' && /^-[vV]$/.test(args[0] ?? '')) return reading
  let at = 0
  let filled = '{}'
  for (; args[at]?.startsWith('-') === true; at++) {
    const option = args[at] ?? ''
    if (option === '--') {
      at++
      break
    }
    if (option.startsWith('-I')) filled = option.length > 2 ? option.slice(2) : (args[at + 1] ?? '')
    if (values.split(' ').includes(option)) at++
    else if (flags?.test(option) !== true) return nothingKnown(at + 1)
  }
  if (operand !== undefined && !operand.test(args[at++] ?? '')) return nothingKnown(at)
  for (; sets === true && /^\w+=/.test(args[at] ?? ''); at++)
    if (!isSettable(args[at] ?? '')) return nothingKnown(at + 1)
  const words = args.slice(at)
  if (words.length === 0) return open || name === 'exec' || name === 'chroot' ? nothingKnown() : reading
  const command = name === 'xargs' ? beforeFilled({ words, open: true }, filled) : { words, open }
  const inner = command.words.length === 0 ? nothingKnown() : knownOf(command)
  return {
    ...inner,
    inside: [{ by: 0, command, from: at + 1, guessed: false }],
    // Only the shell has builtins.
    runs: inner.runs === 'nothing' && name !== 'command' ? 'program' : inner.runs,
    takesInput: inner.takesInput || name === 'xargs',
  }
}

function ofInterpreter(
  [, options, others]: (typeof interpreters)[number],
  args: readonly string[],
  open: boolean,
): Known {
  let at = 0
  while (args[at] !== undefined && options.test(args[at] ?? '') && others?.test(args[at] ?? '') !== true) at++
  const first = args[at]
  if (first === undefined) return nothingKnown()
  if (others?.test(first) !== true) return ofFile(args, at, open)
  const rest = args.slice(at + 1)
  if (first === '-m')
    return others.test(args.slice(at).join(' '))
      ? { ...ofFiles, inside: [...scriptsOf(rest, at + 2)], runs: 'project' }
      : nothingKnown(at + 1)
  if (!first.startsWith('-')) return rest.length === 0 && !open ? ofFiles : ofFile(args, at + 1, open)
  return !open && rest.every((each) => options.test(each) || isFile(each))
    ? { ...ofFiles, runs: 'file' }
    : nothingKnown(args.length)
}

const findTests =
  /^(?:!|\(|\)|,|-(?:[HLP]|not|o|or|a|and|empty|print|print0|prune|delete|ls|executable|readable|writable|xdev|mount|depth|links|true|false|quit))$/

/** They have a value in the next word. */
const findValues =
  /^-(?:name|iname|path|ipath|wholename|type|maxdepth|mindepth|size|mtime|mmin|atime|ctime|newer|perm|user|group|regex|iregex|regextype)$/

function ofFind(args: readonly string[], open: boolean): Known {
  const found: { readonly inside: Inside; readonly known: Known }[] = []
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (/^-exec(?:dir)?$/.test(arg)) {
      const end = args.findIndex(
        (each, i) => i > at && (each === ';' || (each === '+' && args[i - 1] === '{}')),
      )
      if (end === -1) return nothingKnown(at + 1)
      const command = beforeFilled({ words: args.slice(at + 1, end), open: false })
      const known = command.words.length === 0 ? nothingKnown() : knownOf(command)
      found.push({ inside: { by: at + 1, command, from: at + 2, guessed: false }, known })
      at = end
    } else if (findValues.test(arg)) at++
    else if (/^[-(!),]/.test(arg) && !findTests.test(arg) && !/^-\d+$/.test(arg)) return nothingKnown(at + 1)
  }
  const all = [reading, ...found.map(({ known }) => known)]
  const writes = mostWritten(all.map((known) => known.writes))
  // Each runs for many files, also after the others.
  if (open || (found.length > 1 && writes !== 'nothing')) return nothingKnown(args.length)
  return {
    inside: found.map(({ inside }) => inside),
    runs: running.findLast((each) => all.some(({ runs }) => runs === each)) ?? 'file',
    writes,
    takesInput: all.every(({ takesInput }) => takesInput),
  }
}

/** A script of sed may start programs (`e`) and write or read others (`w`, `-f`). */
function isPlainSed(args: readonly string[]): boolean {
  const scripts = args.filter(
    (arg, at) =>
      args[at - 1] === '-e' ||
      (!args.includes('-e') && at === args.findIndex((each) => !each.startsWith('-'))),
  )
  return (
    scripts.length > 0 &&
    args.every((arg) => !arg.startsWith('-') || /^-[nEriuzs]+$|^-e$|^-i\.\w+$/.test(arg)) &&
    scripts.every(isPlainSedScript)
  )
}

function isPlainSedScript(script: string): boolean {
  const command =
    /(?:\d+|\$|\d+,(?:\d+|\$)|\/[^/\n\\]*\/)?(?:[pdq=]|s([/|#,:@])(?:(?!\1)[^\n\\]|\\[^\n])*\1(?:(?!\1)[^\n\\]|\\[^\n])*\1[gpiI\d]*)(?:; ?|$)/y
  while (command.lastIndex < script.length) if (!command.test(script)) return false
  return script !== ''
}

const isPlainAwk = (args: readonly string[]): boolean => {
  let at = 0
  for (; args[at]?.startsWith('-') === true; at++) {
    if (args[at] === '-F') at++
    else if (args[at] === '-v' && /^\w+=[\w .,:/-]*$/.test(args[at + 1] ?? '')) at++
    else if (!/^-F./.test(args[at] ?? '')) return false
  }
  const script = args[at]
  return script !== undefined && !/system|getline|[|@\\]/.test(script)
}

/** Anything that an argument could name as a command, and any text that could be a script. */
function ofUnknown(name: string, program: string, args: readonly string[]): Known {
  const [sub = ''] = args
  // What stands behind "--" is for a script of the project.
  const forScript = managers.has(name) && /^(?:t|test|run|start|build|bench)$/.test(sub)
  const end = forScript ? args.indexOf('--') : -1
  const own = end === -1 ? args : args.slice(0, end)
  // Packages of programs have options that name another shell, or code for it.
  const option = managers.has(name) || packageRunner.test(name) ? own.findIndex((arg) => isSetting(arg)) : -1
  if (option !== -1) return nothingKnown(option + 1)
  const inside = [
    ...own.flatMap((arg, at): Inside[] =>
      arg.startsWith('-') || openPrograms.has(programName(arg)) || builtins.has(programName(arg))
        ? []
        : [
            {
              by: 0,
              command: beforeFilled({ words: args.slice(at), open: false }),
              from: at + 1,
              guessed: true,
            },
          ],
    ),
    ...scriptsOf(own, 1),
  ]
  const isOfProject =
    ofProject.has(name) || (managers.has(name) && managing.has(sub)) || program.startsWith('./')
  return isOfProject
    ? { ...ofFiles, inside, runs: program.startsWith('./') ? 'file' : 'project' }
    : { ...nothingKnown(), inside }
}

const packageRunner = /^(?:npx|bunx|pipx|uvx)$/
/** A long option that is none of those that are known to start nothing. */
const isSetting = (arg: string): boolean =>
  arg.startsWith('--') &&
  arg !== '--' &&
  !/^--(?:yes|silent|quiet|verbose|if-present|workspaces?|workspace-root|include-workspace-root|recursive|filter|parallel|frozen-lockfile|prefer-offline|offline|no-audit|no-fund|ignore-scripts|legacy-peer-deps|force|omit|include|save-dev|save-exact|save|global|depth|json|long|release|locked|all|all-targets|features|all-features|no-default-features|package|bin|lib|example|no-run|no-deps|user|upgrade|requirement|break-system-packages|version|help|reporter|watch|coverage|fix)(?:=.*)?$/s.test(
    arg,
  )

/** The texts among these arguments, as scripts. The first argument has this place. */
const scriptsOf = (args: readonly string[], place: number): Inside[] =>
  args.flatMap((arg, at) =>
    scriptsIn(arg).map((script): Inside => ({ by: at + place, script, from: at + place, guessed: true })),
  )

/** `--exec=git push`, `-Igit push`, `EXEC:git push` and `-wrapper git,push` have a script inside. */
function scriptsIn(arg: string): string[] {
  const words = arg.split(',').join(' ')
  const isText = /[\s;|&(`'"\\<>$]|^!/.test(arg)
  if (!isText) return words === arg ? [] : [words]
  const texts = [
    arg,
    ...[...arg.slice(0, 200).matchAll(/[=:]/g)].map(({ index }) => arg.slice(index + 1)),
    ...(/^-[a-zA-Z]./.test(arg) ? [arg.slice(2)] : []),
  ]
  return texts.slice(0, 8)
}
