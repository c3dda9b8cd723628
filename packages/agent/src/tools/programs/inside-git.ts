// What a git command starts: its sub-command without the global options, and other programs that it is told
// to start. An option or a setting that may start a program, and a sub-command that git does not have itself
// (an alias), may be anything.
import { anything, type ReadCommand } from './read-command.ts'

/** Global options that have their value in the next word. */
const withValue = new Set([
  '-C',
  '--git-dir',
  '--work-tree',
  '--namespace',
  '--super-prefix',
  '--attr-source',
  '--shallow-file',
  '--config-env',
  '-c',
])
const flags =
  /^(?:-[pPvh]|--(?:paginate|no-pager|no-replace-objects|bare|literal-pathspecs|glob-pathspecs|noglob-pathspecs|icase-pathspecs|no-optional-locks|no-lazy-fetch|no-advice|html-path|man-path|info-path|exec-path|version|help))$/
/** Settings that start nothing. */
const harmless =
  /^(?:color\.[a-z.]+|user\.(?:name|email)|author\.\w+|committer\.\w+|advice\.\w+|safe\.directory|init\.defaultbranch|core\.(?:quotepath|autocrlf|eol|filemode|ignorecase|precomposeunicode|longpaths|abbrev)|commit\.(?:gpgsign|verbose)|tag\.gpgsign|push\.default|pull\.(?:rebase|ff)|merge\.ff|log\.\w+|diff\.(?:renames|algorithm|context)|protocol\.version|http\.(?:version|lowspeedlimit|lowspeedtime)|gc\.auto|fetch\.prune)(?:=|$)/i
/** Settings that start a program later, when they are written by "git config". */
const starting =
  /^(?:alias|include|includeif|pager|credential|filter|gpg|sequence|difftool|mergetool|browser|man|trailer|url|uploadpack|remote|submodule|interactive|hook|core|diff|merge|sendemail|tar|web|instaweb|guitool|protocol)\..+/i

/**
 * The sub-commands of git that it never looks up as an alias, without those that only start other programs.
 */
const ownCommands = new Set(
  (
    'add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index cherry ' +
    'cherry-pick clean clone commit commit-graph commit-tree config count-objects describe diff diff-files diff-index diff-tree fast-export fast-import fetch ' +
    'fetch-pack fmt-merge-msg for-each-ref format-patch fsck gc grep hash-object help index-pack init log ls-files ls-remote ls-tree merge merge-base ' +
    'merge-file merge-tree mktag mktree mv name-rev notes pack-objects pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase ' +
    'receive-pack reflog remote repack replace rerere reset restore rev-list rev-parse revert rm send-pack shortlog show show-branch show-index show-ref ' +
    'sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects update-index update-ref ' +
    'update-server-info upload-archive upload-pack verify-commit verify-pack verify-tag version worktree write-tree'
  ).split(' '),
)

/** @param args the words after `git` */
export function insideGit(args: readonly string[], open: boolean): ReadCommand[] {
  const found: ReadCommand[] = []
  let at = 0
  for (; args[at]?.startsWith('-') === true; at++) {
    const option = args[at] ?? ''
    const [name = ''] = option.split('=', 1)
    if (withValue.has(option)) {
      at++
      if ((option === '-c' && !harmless.test(args[at] ?? '')) || option === '--config-env')
        found.push(anything)
    } else if (
      !flags.test(option) &&
      !(name !== option && withValue.has(name) && name !== '--config-env' && name.startsWith('--'))
    )
      found.push(anything)
  }
  const words = args.slice(at)
  const [sub] = words
  if (sub === undefined) return open ? [...found, anything] : [...found, { words: ['git'], open }]
  if (!ownCommands.has(sub) || startsOthers(sub, words.slice(1))) found.push(anything)
  return [...found, { words: ['git', ...words], open }]
}

/** Whether the words of the sub-command name a program to start. */
function startsOthers(sub: string, args: readonly string[]): boolean {
  if (args.some((arg) => arg.startsWith('ext::') || isLong(arg, ['exec', 'upload-pack', 'receive-pack'])))
    return true
  const short = (letter: string): boolean => args.some((arg) => new RegExp(`^-[a-zA-Z]*${letter}`).test(arg))
  switch (sub) {
    case 'submodule':
      return args.includes('foreach')
    case 'bisect':
      return args.includes('run')
    case 'rebase':
      return short('x')
    case 'grep':
      return short('O') || args.some((arg) => isLong(arg, ['open-files-in-pager']))
    case 'clone':
      return short('u') || short('c') || args.some((arg) => isLong(arg, ['config', 'template']))
    case 'init':
      return args.some((arg) => isLong(arg, ['template']))
    case 'config':
      return (
        args.some((arg) => starting.test(arg)) && !args.some((arg) => isLong(arg, ['get', 'get-all', 'list']))
      )
    default:
      return false
  }
}

/** git takes the beginning of a long option for the option. */
const isLong = (arg: string, names: readonly string[]): boolean => {
  const [, given = ''] = /^--([a-z-]+)/.exec(arg) ?? []
  return given !== '' && names.some((name) => name.startsWith(given))
}
