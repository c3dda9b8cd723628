// No spelling of a command passes a rule that denies it. The spellings are made at random, and real shells
// and a real git say what they start.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { commandLine, permissionOf, type PermissionRule } from '../tool-kit.ts'
import type { Tool } from '../tool.ts'

const tool: Tool = {
  name: 'run_command',
  description: '',
  parameters: {},
  idempotent: false,
  subject: (args) => commandLine(args as string[]),
  subjectKind: 'command',
  invoke: async () => '',
}
const denyPush: PermissionRule = { tool: 'run_command', pattern: 'git push*', decision: 'deny' }
/** Nobody is asked about it, and it runs. */
const passes = (command: readonly string[]): boolean =>
  permissionOf(tool, command, [denyPush]).decision === 'allow'

type Command = readonly string[]

/** A word as a shell may spell it. */
const spelled = (word: string): fc.Arbitrary<string> =>
  fc.array(fc.nat(5), { minLength: word.length, maxLength: word.length }).map((ways) =>
    [...word]
      .map((letter, i) => {
        const plain = /[\w./=-]/.test(letter) ? letter : `'${letter}'`
        return letter === "'"
          ? "\\'"
          : [
              plain,
              plain,
              `'${letter}'`,
              /["$`\\]/.test(letter) ? `'${letter}'` : `"${letter}"`,
              `""${plain}`,
              /\w/.test(letter) ? `\\${letter}` : plain,
            ][ways[i] ?? 0]
      })
      .join(''),
  )

const line = (command: Command): fc.Arbitrary<string> =>
  fc
    .tuple(fc.tuple(...command.map(spelled)), fc.constantFrom(' ', '  ', '\t', ' \\\n'))
    .map(([words, space]) => words.join(space))

/** What a script does with a line that starts the command. */
const scripts: readonly ((line: string) => string)[] = [
  (text) => text,
  (text) => `cd .; ${text}`,
  (text) => `true && ${text} || true`,
  (text) => `(${text})`,
  (text) => `{ ${text}; }`,
  (text) => `! ${text}`,
  (text) => `if true; then ${text}; fi`,
  (text) => `for i in 1; do ${text}; done`,
  (text) => `while ${text}; do break; done`,
  (text) => `case a in a) ${text};; esac`,
  (text) => `f() { ${text}; }\nf`,
  (text) => `${text} &\nwait`,
  (text) => `true | ${text}`,
  (text) => `x=$(${text})`,
  (text) => `echo "$(${text})"`,
  (text) => `cat <<E\n$(${text})\nE`,
  (text) => `>out 2>&1 ${text}`,
  (text) => `A=b ${text}`,
  (text) => `command ${text}`,
  (text) => `exec ${text}`,
  (text) => `eval ${commandLine([text])}`,
  (text) => `trap ${commandLine([text])} EXIT`,
  (text) => `x=${commandLine([text])}; eval "$x"`,
  (text) => `set -- ${text}; "$@"`,
  (text) => `sh <<'EOF'\n${text}\nEOF`,
  (text) => `echo ${commandLine([text])} | sh`,
  (text) => `# a comment\n${text}`,
  (text) => `${text}\n'`,
]

const wrapped = (command: Command): fc.Arbitrary<Command> =>
  fc.oneof(
    ...[
      ['env'],
      ['env', 'A=b', '-u', 'C'],
      ['timeout', '9'],
      ['timeout', '-s', 'KILL', '9'],
      ['nice', '-n', '1'],
      ['nice', '-1'],
      ['nohup'],
      ['setsid', '-w'],
      ['stdbuf', '-oL'],
      ['xargs'],
      ['xargs', '-n', '9'],
    ].map((wrapper) => fc.constant([...wrapper, ...command])),
    fc.constant(['find', '.', '-maxdepth', '0', '-exec', ...command, ';']),
    fc.constant(['sh', '-c', '"$@"', 'x', ...command]),
    fc.constant(['env', '-S', commandLine(command)]),
    fc
      .tuple(
        line(command),
        fc.constantFrom(...scripts),
        fc.constantFrom(
          ['sh', '-c'],
          ['bash', '-c'],
          ['bash', '--norc', '-uc'],
          ['dash', '-o', 'noglob', '-c'],
        ),
      )
      .map(([text, script, shell]) => [...shell, script(text)]),
  )

const push: fc.Arbitrary<Command> = fc
  .tuple(
    fc.constantFrom('git', './bin/git'),
    fc.array(
      fc.constantFrom(
        ['-C', '.'],
        ['-P'],
        ['--no-pager'],
        ['--git-dir=.git'],
        ['-c', 'color.ui=false'],
        ['-c', 'alias.q=push'],
      ),
      { maxLength: 3 },
    ),
    fc.constantFrom('push', 'push', 'q'),
    fc.subarray(['origin', '--force', 'a b']),
  )
  .map(([program, options, sub, args]) => [
    program,
    ...options.flat(),
    ...(sub === 'q' ? ['-c', 'alias.q=push'] : []),
    sub,
    ...args,
  ])

const evasion = (depthMax: number): fc.Arbitrary<Command> =>
  fc
    .nat(depthMax)
    .chain((depth) =>
      Array.from({ length: depth }).reduce<fc.Arbitrary<Command>>((inner) => inner.chain(wrapped), push),
    )

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-evasions-'))
  mkdirSync(join(folder, 'bin'))
  const git = spawnSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).stdout.trim()
  writeFileSync(
    join(folder, 'bin', 'git'),
    `#!/bin/sh\nGIT_TRACE=${commandLine([join(folder, 'trace')])} exec ${commandLine([git])} "$@"\n`,
  )
  chmodSync(join(folder, 'bin', 'git'), 0o755)
  spawnSync(git, ['init', '-q', folder])
})
afterAll(() => rmSync(folder, { recursive: true }))

function startsPush([program = '', ...args]: Command): boolean {
  writeFileSync(join(folder, 'trace'), '')
  spawnSync(program, args, {
    cwd: folder,
    timeout: 20_000,
    input: '',
    env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, HOME: folder },
  })
  return readFileSync(join(folder, 'trace'), 'utf8').includes('built-in: git push')
}

it('no spelling of git push passes', () => {
  fc.assert(
    fc.property(evasion(4), (command) => !passes(command)),
    { numRuns: 2_000 },
  )
})

it('what really starts git push does not pass', () => {
  let started = 0
  fc.assert(
    fc.property(evasion(3), (command) => {
      const starts = startsPush(command)
      if (starts) started++
      return !passes(command) || !starts
    }),
    { numRuns: 80 },
  )
  // The spellings are real ones.
  expect(started).toBeGreaterThan(40)
})

it('no spelling of another command passes a rule that allows git status', () => {
  const allowStatus = [
    { ...denyPush, pattern: 'git status*', decision: 'allow' as const },
    { ...denyPush, pattern: '*' },
  ]
  fc.assert(
    fc.property(evasion(3), (command) => permissionOf(tool, command, allowStatus).decision === 'deny'),
    { numRuns: 1_000 },
  )
})

it('a script of letters that mean something to a shell never passes if it starts git push', () => {
  const piece = fc.constantFrom(
    'git',
    'push',
    ' ',
    ' ',
    '\n',
    ';',
    '&',
    '|',
    '(',
    ')',
    '{',
    '}',
    '$',
    '"',
    "'",
    '`',
    '\\',
    '<',
    '>',
    '#',
    '=',
    'a',
    '$(',
    '<<E',
    '*',
    '!',
    '&>',
    '[[',
    ']]',
    '((',
    '))',
  )
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 2, maxLength: 9 }),
      fc.constantFrom('sh', 'bash'),
      (pieces, shell) => {
        const command = [
          shell,
          '-c',
          `${pieces.join('')}\ngit push`.slice(0, pieces.length > 6 ? undefined : pieces.join('').length),
        ]
        return !passes(command) || !startsPush(command)
      },
    ),
    { numRuns: 150 },
  )
})

it.each(
  (
    [
      ['sh', '-c', 'gitgit;git<<E`\\\ngit push'],
      ['bash', '-c', 'shopt -s expand_aliases\nBASH_ALIASES[x]="git push"\nx'],
      ['bash', '-c', 'x=\'a[\\x24(git push)]\'; printf -v y "$x"; ((y))'],
      ['bash', '-c', "printf -v PS4 '$(git push)'; set -x; :"],
      ['bash', '-c', "read -r PS4 <<< '$(git push)'; set -x; :"],
      ['bash', '-c', "read -r PS4 <<'E'\n$(git push)\nE\nset -x; :"],
      ['bash', '-c', "for PS4 in '$(git push)'; do set -x; :; done"],
      ['bash', '-c', 'mkdir -p q; cp bin/git q/ls; read PATH <<E\n$PWD/q\nE\nls push'],
      ['bash', '-c', "x='$(git push)'; echo ${x@P}"],
      ['env', '--spl=git\\_push'],
      ['sh', '-c', 'echo "${x-\'}";git push;echo "\'}"'],
      ['env', '--sp', 'git\\_push'],
      ['env', '-u', 'X', '-Sgit\\_push'],
      ['nice', 'env', '--split-str=git\\_push'],
      ['timeout', '5', 'env', '--sp=git\\_push'],
      ['sh', '-c', "env '--sp=git\\_push'"],
      ['bash', '--posix', '-c', 'echo "${x-\'}";git push;echo "\'}"'],
      ['bash', '-c', 'y=\'a[\\x24\';printf -v z "$y(git push)]";declare -i q=z'],
      ['bash', '-c', "printf -v z 'a[\\x24(git push)]';x=abc;echo ${x:z}"],
      ['env', 'z=a[$(git push)]', 'bash', '-c', 'echo $((z))'],
      ['bash', '-c', 'echo $(($0))', 'a[$(git push)]'],
      ['bash', '-c', 'echo $(($1))', 'x', 'a[`git push`]'],
      ['bash', '-c', 'test -v "$1"', 'x', 'a[`git push`]'],
      ['bash', '-c', 'let "$1"', 'x', 'a[`git push`]'],
      ['bash', '-c', '(($1))', 'x', 'a[`git push`]'],
      ['sh', '-c', 'echo git push > q.sh; sh q.sh'],
      ['sh', '-c', 'echo git push > q.sh; . ./q.sh'],
      ['sh', '-c', 'echo git push > q.sh; chmod +x q.sh; ./q.sh'],
      ['sh', '-c', 'cp bin/git ls; ./ls push'],
      ['sh', '-c', 'ln -sf bin/git g; ./g push'],
      [
        'sh',
        '-c',
        'printf "#!/bin/sh\\ngit push\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git -c user.name=a -c user.email=a@a commit --allow-empty -m x',
      ],
      ['sh', '-c', 'printf "[core]\\n\\tfsmonitor=git push #\\n" >> .git/config; git status'],
      [
        'sh',
        '-c',
        'printf "[diff \\"x\\"]\\n\\ttextconv=git push #\\n" >> .git/config; echo "* diff=x">.gitattributes; echo 1>a; git add a; echo 2>a; git diff',
      ],
      ['sh', '-c', 'git config --file .git/config "$(echo core.editor)" "git push #"; git config -e'],
    ] as const
  ).map((command) => [command as Command]),
)('%j does not pass', (command) => expect(passes(command)).toBe(false))

it('git stash push is no push', () => expect(passes(['git', 'stash', 'push'])).toBe(true))

const sh = (script: string): Command => ['sh', '-c', script]
const G = 'git -c user.name=a -c user.email=a@a'
const blob = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'

// What a reader of the code found: each started `git push`, or would have with the program at hand.
it.each(
  (
    [
      ['sh', '../../../../../../proc/self/cmdline', '\ngit push\n'],
      ['env', '-C', '/proc/self', 'sh', 'cmdline', '\ngit push\n'],
      [
        'find',
        '../../../../../../proc/self',
        '-maxdepth',
        '0',
        '-execdir',
        'sh',
        './self/cmdline',
        '\ngit push\n',
        ';',
      ],
      sh("cd /proc/self; exec sh cmdline '\ngit push\n'"),
      sh("cd /pro*/self; sh cmdline '\ngit push\n'"),
      ['sh', '/var/run/../proc/self/cmdline', '\ngit push\n'],
      sh('cp bin/git bin/echo; env echo push'),
      sh('cp bin/git bin/true; exec true push'),
      sh('cp bin/git bin/kill; timeout 5 kill push'),
      sh('cp bin/git bin/pwd; nice pwd push'),
      sh("cp bin/git 'bin/['; env [ push ]"),
      sh('cp bin/git bin/printf; pwd | xargs -n1 printf push'),
      ['find', '.', '-maxdepth', '0', '-exec', 'cp', 'bin/git', 'bin/ls', ';', '-exec', 'ls', 'push', ';'],
      [
        'find',
        '.',
        '-maxdepth',
        '0',
        '-exec',
        'sh',
        '-c',
        'cp bin/git bin/ls',
        ';',
        '-exec',
        'sh',
        '-c',
        'ls push',
        ';',
      ],
      sh("echo git push | find . -maxdepth 0 -exec linux64 ';'"),
      sh("printf 'x:;git push' | find . -maxdepth 0 -exec make -f ../../../../../../dev/stdin ';'"),
      sh(`echo 'system"git","push"' | find . -maxdepth 0 -exec perl5.36-x86_64-linux-gnu ';'`),
      sh(
        "printf 'connect git-upload-pack\\n' | find . -maxdepth 0 -exec /usr/lib/git-core/git-remote-ext x 'git push' ';'",
      ),
      sh("printf 'diff' | git apply; ls"),
      sh('git add bin; git mv bin/git bin/ls; ls push'),
      sh('echo bin/git bin/ls | xargs git mv; ls push'),
      sh(
        `git add bin; git update-index --add --cacheinfo 100755,${blob},bin/ls; git checkout-index -a; ls push`,
      ),
      sh(
        `printf '#!/bin/sh\\ngit push\\n' > x.log; git add .; git update-index --add --cacheinfo 100755,${blob},bin/ls; git checkout-index -a; ls`,
      ),
      sh(
        'git sparse-checkout set --no-cone SHELL=git .SHELLFLAGS=push .RECIPEPREFIX=+ all: +z; make -f .git/info/sparse-checkout',
      ),
      sh(
        'git config user.name a; git config user.email a@a; git commit --allow-empty -m SHELL=git -m all: -m +z; make -f .git/COMMIT_EDITMSG',
      ),
      sh(
        `${G} commit -q --allow-empty -m 'all:;git push'; mkdir ./--output=Makefile; git log --format=%B --*; make`,
      ),
      sh(`git commit --allow-empty -m 'all:;git push'; cd .git; make -f COMMIT_EDITMSG`),
      sh(
        `${G} commit --allow-empty -m 'execute_process(COMMAND git push)'; cd .git; cmake -P COMMIT_EDITMSG`,
      ),
      sh(`${G} commit --allow-empty -m 'x'; cd .git; node --test COMMIT_EDITMSG`),
      sh(
        `git init --bare x; git --git-dir=x --work-tree=. -c user.name=a commit --allow-empty -m 'all:;git push'; make -f x/COMMIT_EDITMSG`,
      ),
      sh('cmake -E copy bin/git bin/ls; ls push'),
      sh("npx -c 'cp bin/git bin/ls'; ls push"),
      sh("mkdir d; printf 'all:;git push' > d/a.log; npm x -c 'mv d/* Makefile'; make"),
      sh("sed -Ei 's/.*/git push/' .git/description; sh .git/description"),
      sh('echo git push | tee -- -q; sh ./-q'),
      ['flock', '.', 'sed', '-e', 's@Unnamed@git@', '-e', 's@repository@push@e', '.git/description'],
      [
        'find',
        '.',
        '-maxdepth',
        '0',
        '-name',
        '-exec',
        '-o',
        '-exec',
        'sed',
        '-e',
        's@Unnamed@git@',
        '-e',
        's@repository@push@e',
        '.git/description',
        ';',
      ],
      ['/usr/lib/git-core/git-difftool', '-y', '--no-index', '--extcmd=git push', 'bin/git', '.git/config'],
      ['python3', '-m', 'pip', 'config', '--editor', 'git push', 'edit'],
      ['python3', '-m', 'pylint', '--init-hook', "__import__('os').system('git push')"],
      ['bun', 'run', 'git', 'push'],
      ['npx', '--node-options=--import=data:text/javascript,import%7b', '-c', 'node'],
      ['npm', 'x', '--node-options=--import=data:text/javascript,x', '-c', 'node'],
      ['gcc', '-wrapper', 'git,push', '-E', '-x', 'c', '/dev/null'],
      ['perl5.36-x86_64-linux-gnu', '-e', 'system"git","push"'],
      ['vim.basic', '-es', '-c', '!git push'],
      ['dc', '-e', '!git push'],
      ['socat', '-', 'EXEC:git push'],
      sh("printf ':!git push\\r:q!\\r' | git -c user.name=a -c user.email=a@a commit --allow-empty"),
      sh('echo git push | /usr/sbin/chroot /'),
      sh('split --filte$xr="git push" a'),
      sh('pytest --doctest-glob=cmdline /proc/self/cmdline'),
      sh("python3 -m venv --prompt '$(git push)' v; . v/bin/activate"),
      sh('npm pkg set scripts.test=git; npm test push'),
    ] as const
  ).map((command) => [command as Command]),
)('%j does not pass either', (command) => expect(passes(command)).toBe(false))
