// What a program other than a shell and git starts, as far as its arguments say. An unknown program may start
// what any of its arguments name, so a rule holds if an argument and those after it are its command.
// I3. What a program reads from a file is not known here: a script, a Makefile, the package.json of a
// project.
import { anything, beforeFilled, programName, type ReadCommand } from './read-command.ts'

/** What is inside of a command. A script is text that a shell reads. */
export type Inside = InsideCommand | InsideScript

interface InsideCommand {
  readonly command: ReadCommand
  /** It is one of many guesses, so what else its arguments could name is left out. */
  readonly guessed?: true
}

interface InsideScript {
  readonly script: string
  readonly shell: 'bash' | 'sh'
  /** Whether it is known that a shell reads it. */
  readonly certain: boolean
}

/** Their arguments are data. */
const leaves = new Set(
  (
    'echo printf cat tac ls head tail wc cut tr grep egrep fgrep mkdir rmdir rm cp mv touch ln chmod chown stat du df test [ cd pwd true false sleep which ' +
    'basename dirname realpath readlink date uname hostname whoami id seq expr diff cmp comm uniq paste sha256sum md5sum'
  ).split(' '),
)

/** Packages and their commands. These sub-commands start others. */
const managers = new Set(['npm', 'cargo', 'pip', 'pip3', 'apt', 'apt-get', 'brew', 'dnf'])
const managersStart = new Set([
  'exec',
  'x',
  'dlx',
  'create',
  'init',
  'run',
  'config',
  'set',
  'install-test',
  'explore',
])

/**
 * Programs that start the command after their options. `values`: options with a value in the next word;
 * `operands`: words before the command.
 */
const wrappers: Readonly<Record<string, { readonly values: string; readonly operands?: number }>> = {
  env: { values: 'uC' },
  timeout: { values: 'ks', operands: 1 },
  nice: { values: 'n' },
  nohup: { values: '' },
  setsid: { values: '' },
  stdbuf: { values: 'ioe' },
  time: { values: 'fo' },
  ionice: { values: 'cn' },
  command: { values: '' },
  builtin: { values: '' },
  exec: { values: 'a' },
  sudo: { values: 'ughpCrtTUDR' },
  doas: { values: 'uC' },
  chroot: { values: '', operands: 1 },
  xargs: { values: 'nLPsdEa' },
  busybox: { values: '' },
  toybox: { values: '' },
}

/** They run code that is not a shell's, or another machine's, or that of a screen. */
const strangers = new Set(
  (
    'zsh ksh mksh fish csh tcsh pwsh powershell cmd ssh su script screen tmux parallel at batch crontab vi vim nvim ex view ed emacs gdb lldb expect osascript ' +
    'tclsh wish sqlite3 psql mysql irb ghci m4 jshell nix-shell'
  ).split(' '),
)

/** Options with which an interpreter runs code of the command line. */
const inline: readonly (readonly [program: RegExp, option: RegExp])[] = [
  [/^(?:python|pypy)[\d.]*$/, /^-[a-zA-Z]*c/],
  [
    /^(?:node|nodejs|bun|deno|tsx|ts-node)$/,
    /^(?:-[a-zA-Z]*[epr]|--(?:eval|print|require|import|loader|experimental-loader)|eval$|repl$)/,
  ],
  [/^perl[\d.]*$/, /^-\w*[eEmM]/],
  [/^ruby[\d.]*$/, /^-\w*[er]/],
  [/^php[\d.]*$/, /^-\w*[rBRE]/],
  [
    /^(?:lua[\d.]*|luajit|Rscript|rscript|julia|octave|elixir|swift|scala|groovy|racket|guile|sbcl|clisp)$/,
    /^(?:-\w*[eEl]|--(?:eval|expr|expression|load))/,
  ],
  [/^g?make$/, /^(?:--eval|-E|SHELL=|-f-|-$)/],
]

/** Whether the program starts the command that its arguments are. */
export const isWrapper = (name: string): boolean => Object.hasOwn(wrappers, name)

/** Variables that make other programs start something. */
const startingVariable =
  /^(?:PATH|IFS|ENV|BASH_ENV|SHELL|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|LD_\w+|DYLD_\w+|GIT_\w+|\w*PAGER|\w*EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|MAKEFLAGS|NODE_OPTIONS|NODE_PATH|PYTHON\w+|PERL5?\w+|RUBY\w+|\w*_COMMAND|\w*_SHELL|\w*_?CONFIG_\w+|npm_config_\w+|BASH_FUNC\w*|RSYNC_RSH|TAR_OPTIONS)\+?=/

export const setsStarting = (words: readonly string[]): boolean =>
  words.some((word) => startingVariable.test(word))

export function insideProgram(name: string, args: readonly string[], open: boolean): Inside[] {
  const unknown: Inside[] = [{ command: anything }]
  if (strangers.has(name) || runsCode(name, args, open)) return unknown
  if (/^[gmn]?awk$/.test(name) && args.some((arg) => /system|[|@]/.test(arg))) return unknown
  if (name === 'sed' && !isPlainSed(args)) return unknown
  if (name === 'sed' || /^[gmn]?awk$/.test(name) || leaves.has(name)) return []
  if (managers.has(name) && !args.some((arg) => managersStart.has(arg))) return []
  if (isWrapper(name))
    return insideWrapper(name, args, open) ?? (name === 'xargs' ? unknown : insideUnknown(args, open))
  return insideUnknown(args, open)
}

/** Whether an interpreter runs code that is on the command line or comes from its input. */
export function runsCode(name: string, args: readonly string[], open: boolean): boolean {
  const [, option] = inline.find(([program]) => program.test(name)) ?? []
  if (option === undefined) return false
  const options = optionsOf(args)
  if (
    options.some((each) => option.test(each)) ||
    args.some((arg) => arg === '-' || /^\/(?:dev|proc)\//.test(arg))
  )
    return true
  const shows = options.some((each) => /^--?(?:v|V|version|h|help|test)$/.test(each))
  return options.length === args.length && !shows && (open || !name.endsWith('make'))
}

/** The words that may be options of the program itself. */
function optionsOf(args: readonly string[]): readonly string[] {
  const end = args.findIndex((arg) => !arg.startsWith('-') && !/^(?:eval|repl|[A-Z]+=.*)$/s.test(arg))
  return end === -1 ? args : args.slice(0, end)
}

/** Returns `null` if the options are not all known. */
function insideWrapper(name: string, args: readonly string[], open: boolean): Inside[] | null {
  const { values, operands = 0 } = wrappers[name] ?? { values: '' }
  if (setsStarting(args)) return [{ command: anything }]
  if (name === 'command' && /^-p?[vV]/.test(args[0] ?? '')) return []
  let at = 0
  for (; args[at]?.startsWith('-') === true && args[at] !== '--'; at++) {
    const option = args[at] ?? ''
    if (
      name === 'xargs'
        ? /^--(?:null|no-run-if-empty|verbose|max-\w+=\d+)$/.test(option)
        : /^--(?!split)[a-z-]+=/.test(option)
    )
      continue
    const letter = [...option.slice(1)].findIndex((each) => values.includes(each))
    if (
      option.startsWith('--') ||
      (letter !== -1 && !/^-[a-zA-Z]*\d*$/.test(option)) ||
      !/^-\w+$/.test(option)
    )
      return null
    if ((name === 'xargs' && /[IiJ]/.test(option)) || (name === 'env' && option.includes('S')))
      return [{ command: anything }]
    if (letter !== -1 && letter === option.length - 2) at++
  }
  if (args[at] === '--') at++
  at += operands
  while (args[at] !== undefined && /^\w+=/.test(args[at] ?? '')) at++
  const words = args.slice(at)
  if (words.length === 0) return open ? [{ command: anything }] : []
  return [{ command: name === 'xargs' ? beforeFilled({ words, open: true }) : { words, open } }]
}

/** Anything that an argument could name as a command, and any text that could be a script. */
function insideUnknown(args: readonly string[], open: boolean): Inside[] {
  if (setsStarting(args)) return [{ command: anything }]
  const suffixes = args.flatMap((arg, at): Inside[] =>
    mayBeProgram(arg, args[at - 1] ?? '')
      ? [{ command: beforeFilled({ words: args.slice(at), open }), guessed: true }]
      : [],
  )
  return [...suffixes, ...args.flatMap(scriptsIn)]
}

/**
 * A word such as "view" is a sub-command far more often than an editor. An option is no program, and neither
 * is the name of a file that is found.
 */
const mayBeProgram = (arg: string, before: string): boolean =>
  !arg.startsWith('-') &&
  !strangers.has(programName(arg)) &&
  (!arg.includes('{}') || /^-(?:exec|ok)(?:dir)?$/.test(before))

/** `--exec=git push` and `-Igit push` have a script after the beginning. */
function scriptsIn(arg: string): Inside[] {
  if (!/[\s;|&(`'"\\]/.test(arg)) return []
  const texts = [
    arg,
    ...[...arg.slice(0, 200).matchAll(/=/g)].map(({ index }) => arg.slice(index + 1)),
    ...(/^-[a-zA-Z]./.test(arg) ? [arg.slice(2)] : []),
  ]
  return texts.slice(0, 8).map((script) => ({ script, shell: 'bash', certain: false }))
}

/** A script of sed may start programs (`e`) and read others (`-f`). */
function isPlainSed(args: readonly string[]): boolean {
  const plain =
    /^(?:\d+|\$|\d+,(?:\d+|\$)|\/[^/\n\\]*\/)?(?:[pdq=]|s([/|#,:@])(?:(?!\1)[^\n\\]|\\[^\n])*\1(?:(?!\1)[^\n\\]|\\[^\n])*\1[gpiI\d]*)$/
  const scripts = args.filter(
    (arg, at) =>
      args[at - 1] === '-e' ||
      (!args.includes('-e') && at === args.findIndex((each) => !each.startsWith('-'))),
  )
  return (
    args.every((arg) => !arg.startsWith('-') || /^-[nEriuzs]+$|^-e$|^-i\.\w+$/.test(arg)) &&
    scripts.every((script) => plain.test(script))
  )
}
