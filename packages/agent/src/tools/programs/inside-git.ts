// What a git command starts: its sub-command without the global options, and other programs that it is told
// to start. A setting, an option of a sub-command that reaches out, and a sub-command are on a list, or they
// may start anything: a sub-command that git does not have itself is an alias.
import { anything, type Inside } from './read-command.ts'

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
/**
 * The sub-commands of git that it never looks up as an alias, without those that only start other programs.
 */
const ownCommands = new Set(
  (
    'add am annotate apply archive bisect blame branch cat-file check-attr check-ignore check-ref-format checkout checkout-index cherry cherry-pick clean ' +
    'clone commit commit-graph commit-tree config count-objects describe diff diff-files diff-index diff-tree fetch fmt-merge-msg for-each-ref format-patch ' +
    'fsck gc grep hash-object init log ls-files ls-remote ls-tree merge merge-base merge-file merge-tree mv name-rev notes pack-refs patch-id prune pull ' +
    'push range-diff read-tree rebase reflog remote repack replace rerere reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref ' +
    'sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag update-index update-ref verify-commit verify-tag version worktree write-tree'
  ).split(' '),
)

const remoteOptions =
  /^(?:-[adfknpPqstuv46r]+|-[jo]|-[jo]\d+|--(?:all|prune|prune-tags|tags|no-tags|depth|deepen|unshallow|force|quiet|verbose|progress|no-progress|dry-run|set-upstream|jobs|no-recurse-submodules|rebase|no-rebase|ff|ff-only|no-ff|autostash|no-autostash|no-edit|squash|commit|no-commit|stat|no-stat|delete|mirror|follow-tags|force-with-lease|force-if-includes|atomic|no-verify|porcelain|push-option|heads|refs|get-url|symref|sort|exit-code|branch|refmap|ipv4|ipv6|filter|shallow-since|shallow-exclude|append|allow-unrelated-histories)(?:=.*)?)$/s
/** The options with which these sub-commands start nothing. An option that is cut short is another. */
const options: Readonly<Record<string, RegExp>> = {
  fetch: remoteOptions,
  pull: remoteOptions,
  push: remoteOptions,
  'ls-remote': remoteOptions,
  remote: remoteOptions,
  clone:
    /^(?:-[qvnls]+|-[boj]|--(?:depth|branch|single-branch|no-single-branch|bare|mirror|recurse-submodules|shallow-submodules|no-checkout|no-tags|quiet|verbose|progress|filter|sparse|origin|jobs|local|no-local|reference|dissociate)(?:=.*)?)$/s,
  rebase:
    /^(?:-[iqvnfr]+|--(?:continue|abort|skip|quit|onto|interactive|autostash|no-autostash|autosquash|keep-base|root|rebase-merges|update-refs|quiet|verbose|stat|no-stat|signoff|force-rebase|no-ff|edit-todo|show-current-patch)(?:=.*)?)$/s,
  grep: /^(?:-[a-zA-NP-Z0-9]+|--(?:or|only-matching|[a-np-z][a-z-]*(?:=.*)?))$/s,
  init: /^(?:-q|-b|--(?:bare|quiet|initial-branch|object-format|shared)(?:=.*)?)$/s,
  archive: /^(?:-[ov0-9]|--(?:format|prefix|output|list|worktree-attributes)(?:=.*)?)$/s,
}
/** The words that may follow these sub-commands. */
const further: Readonly<Record<string, RegExp>> = {
  submodule: /^(?:status|init|update|add|sync|summary|deinit|absorbgitdirs|set-url|set-branch)$/,
  bisect: /^(?:start|good|bad|old|new|skip|reset|log|terms|replay)$/,
}

/** @param args the words after `git` */
export function insideGit(
  args: readonly string[],
  { open, guessed }: { readonly open: boolean; readonly guessed: boolean },
): Inside[] {
  const found: Inside[] = []
  const anythingBy = (at: number): void =>
    void found.push({ by: at + 1, command: anything, from: at + 1, guessed: false })
  let at = 0
  for (; args[at]?.startsWith('-') === true; at++) {
    const option = args[at] ?? ''
    const [name = ''] = option.split('=', 1)
    if (withValue.has(option)) {
      at++
      if ((option === '-c' && !harmless.test(args[at] ?? '')) || option === '--config-env') anythingBy(at)
    } else if (
      !flags.test(option) &&
      !(name !== option && withValue.has(name) && name !== '--config-env' && name.startsWith('--'))
    )
      anythingBy(at)
  }
  const words = args.slice(at)
  const [sub, ...rest] = words
  if (sub === undefined) {
    if (open) anythingBy(at)
    return found
  }
  // A word after a guessed "git" is no alias.
  if (!ownCommands.has(sub))
    return guessed ? found : [...found, { by: at + 1, command: anything, from: at + 1, guessed: false }]
  const starting = startingWord(sub, rest, open)
  if (starting !== -1) anythingBy(at + 1 + starting)
  if (at > 0) found.push({ by: 0, command: { words: ['git', ...words], open }, from: at + 1, guessed: true })
  return found
}

/** The place of the first word after the sub-command that may start a program. -1: there is none. */
function startingWord(sub: string, args: readonly string[], open: boolean): number {
  const own = options[sub]
  const next = further[sub]
  // A word that the shell computes may be an option.
  if (open && (own !== undefined || next !== undefined || sub === 'config')) return args.length
  if (sub === 'config') return readsConfig(args) ? -1 : 0
  return args.findIndex(
    (arg, at) =>
      /^[\w+.-]+::/.test(arg) ||
      (own === undefined
        ? isLong(arg, [
            'ext-diff',
            'textconv',
            'filters',
            'exec',
            'upload-pack',
            'receive-pack',
            'open-files-in-pager',
          ])
        : arg.startsWith('-') && !own.test(arg)) ||
      (next !== undefined && at === args.findIndex((each) => !each.startsWith('-')) && !next.test(arg)),
  )
}

/** Whether "git config" reads, or writes settings that start nothing. */
function readsConfig(args: readonly string[]): boolean {
  const words = args.filter(
    (arg) =>
      !/^(?:--(?:global|local|system|worktree|get|get-all|list|show-origin|show-scope|name-only|null|bool|int|unset|unset-all|type=\w+)|-[lz])$/.test(
        arg,
      ),
  )
  if (words.some((word) => word.startsWith('-'))) return false
  const [first = '', ...rest] = words
  if (first === 'get' || first === 'list') return true
  return rest.length === 0 || (harmless.test(first) && rest.length === 1)
}

/** git takes the beginning of a long option for the option. */
export const isLong = (arg: string, names: readonly string[]): boolean => {
  const [, given = ''] = /^--([a-z-]+)/.exec(arg) ?? []
  return given !== '' && names.some((name) => name.startsWith(given))
}
