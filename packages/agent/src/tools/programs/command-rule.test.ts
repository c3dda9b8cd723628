import { ownMs } from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import { commandLine, permissionOf, type PermissionRule } from '../tool-kit.ts'
import type { Tool } from '../tool.ts'

/** Its subject is a command without a shell, like that of run_command, or a line for a shell. */
const tool: Tool = {
  name: 'run_command',
  description: '',
  parameters: {},
  idempotent: false,
  subject: (args) => (typeof args === 'string' ? args : commandLine(args as string[])),
  subjectKind: 'command',
  invoke: async () => '',
}
const rule = (text: string): PermissionRule => {
  const [decision, ...pattern] = text.split(' ')
  return { decision: decision as 'allow', tool: 'run_command', pattern: pattern.join(' ') }
}
const decide = (command: readonly string[] | string, ...rules: string[]): string =>
  permissionOf(tool, command, rules.map(rule)).decision
const sh = (script: string): string[] => ['sh', '-c', script]
const bash = (script: string): string[] => ['bash', '-c', script]

const pushes: readonly (readonly string[])[] = [
  ['git', 'push'],
  ['git', 'push', 'origin', 'a b'],
  ['/usr/bin/git', 'push'],
  ['./git', 'push'],
  ['../x/Git', 'push'],
  ['git.exe', 'push'],
  ['/usr/lib/git-core/git-push', 'origin'],
  ['git', '-C', '.', 'push'],
  ['git', '--git-dir=.git', '--work-tree', '.', 'push'],
  ['git', '-P', '--no-optional-locks', 'push'],
  ['git', '-c', 'color.ui=false', 'push'],
  ['env', 'git', 'push'],
  ['timeout', '5', 'git', 'push'],
  ['timeout', '-k', '1', '--signal=KILL', '5', 'git', 'push'],
  ['nice', '-n', '5', 'git', 'push'],
  ['nice', '-5', 'git', '-C', '.', 'push'],
  ['sudo', '-u', 'root', 'git', 'push'],
  ['stdbuf', '-oL', 'git', 'push'],
  ['nohup', 'setsid', 'env', 'timeout', '9', 'git', 'push'],
  ['busybox', 'env', 'git', 'push'],
  ['xargs', '-n1', 'git', 'push'],
  ['find', '.', '-exec', 'git', 'push', ';'],
  ['find', '.', '-exec', 'sh', '-c', 'git push', ';'],
  ['a-wrapper', '--fast', 'git', 'push'],
  ['a-wrapper', 'git push'],
  ['a-wrapper', '--run=git  push'],
  ['tar', '-Igit push', 'x'],
  ['npx', '-c', 'git push'],
  ['npm', 'exec', '--', 'git', 'push'],
  ['docker', 'run', 'alpine', 'git', 'push'],
  ['npx', 'nice', '-n', '5', 'git', 'push'],
  ['bash', '-lc', 'git push'],
  ['bash', '-o', 'pipefail', '-ec', 'git push'],
  ['dash', '-c', '--', 'git push'],
  ['timeout', '5', 'bash', '-c', 'git push'],
  sh('git push'),
  sh('git\tpush'),
  sh('g""it push'),
  sh("'g'i\\t pu\\sh"),
  sh('gi\\\nt push'),
  sh('cd x; git push'),
  sh('cd x\ngit push'),
  sh('true && git push || exit 1'),
  sh('ls | git push'),
  sh('>x git push'),
  sh('command git push'),
  sh('exec git push'),
  sh('sh -c \'sh -c "git push"\''),
]

/** Nobody can read what these start. */
const unread: readonly (readonly string[])[] = [
  sh('cp bin/git bin/ls; ls push'),
  sh("git commit -m 'git push'; sh .git/COMMIT_EDITMSG"),
  sh("git log --format='git push' --output=q.sh; sh q.sh"),
  sh('npm test | tee a.log; sh a.log'),
  sh('make SHELL=bin/git'),
  ['node', '--test', '--import=data:text/javascript,x'],
  ['sh', '+e', '-c', 'git push'],
  sh('cat a | git apply; ./a'),
  sh("sed -Ei 's/.*/git push/' a; sh a"),
  sh('git commit -m "$x" && sh a'),
  sh('split --filte$xr="git push" a'),
  ['git', '-c', 'alias.x=push', 'x'],
  ['git', '-c', 'alias.x=!id', 'x'],
  ['git', '-c', 'core.sshCommand=git push', 'fetch'],
  ['git', '-c', 'core.fsmonitor=./x', 'status'],
  ['git', '--config-env=alias.x=Y', 'x'],
  ['git', '--exec-path=/tmp', 'status'],
  ['git', '--unheard-of', 'status'],
  ['git', 'x'],
  ['git', 'config', 'alias.x', 'push'],
  ['git', 'submodule', 'foreach', 'git push'],
  ['git', 'bisect', 'run', 'git', 'push'],
  ['git', 'rebase', '-x', 'git push'],
  ['git', 'rebase', '--ex', 'git push'],
  ['git', 'fetch', '--upload-pa=git push'],
  ['git', 'clone', '-c', 'core.fsmonitor=x', 'a'],
  ['git', 'clone', 'ext::sh -c x'],
  ['git', 'for-each-repo', '--config=a', 'push'],
  ['env', '-i', '-u', 'A', 'B=c', 'git', 'push'],
  ['env', '-S', 'git push'],
  ['env', '--split-string=git push'],
  ['env', 'GIT_CONFIG_COUNT=1', 'git', 'status'],
  ['env', 'PATH=.', 'ls'],
  ['sudo', '--user', 'root', 'git', 'push'],
  ['xargs', 'git'],
  ['xargs', '-I', '%', 'git', '%'],
  ['xargs', '--replace=g', 'g', 'push'],
  ['find', '.', '-exec', 'git', '{}', ';'],
  ['watch', 'g""it push'],
  ['strace', '-f', 'xargs', 'git'],
  ['a-wrapper', 'env', 'PATH=.', 'ls'],
  ['ssh', 'host', 'git', 'push'],
  ['python3', '-c', 'print(1)'],
  ['python3', '-Ic', 'print(1)'],
  ['node', '-e', '1'],
  ['node', '--eval=1'],
  ['perl', '-ne', '1'],
  ['awk', 'BEGIN { system("git push") }'],
  ['awk', '{ print | "git push" }'],
  ['sed', '1e git push', 'a'],
  ['sed', 's/a/b/e;s/c/d/', 'a'],
  ['make', '--eval=x:;git push'],
  ['vim', '-c', '!git push'],
  ['sh'],
  ['sh', '/dev/stdin'],
  ['bash', '--rcfile', 'x', '-ic', 'ls'],
  ['zsh', '-c', 'ls'],
  sh('git push & wait'),
  sh('(git push)'),
  sh('{ git push; }'),
  sh('! git push'),
  sh('if true; then git push; fi'),
  sh('for i in 1; do git push; done'),
  sh('case a in *) git push;; esac'),
  sh('f() { git push; }; f'),
  sh('f() { "$@"; }; f git push'),
  sh('f() { git "$@"; }; f push'),
  sh('echo $(git push)'),
  sh('echo "`git push`"'),
  sh('echo "${x:-$(git push)}"'),
  sh('cat <<E\n$(git push)\nE'),
  sh('A=b git push'),
  sh('PATH=. ls'),
  sh('export PATH=$PWD; ls'),
  sh('x=git; $x push'),
  sh('x=push; git $x'),
  sh('git pu$x'),
  sh('git -C "$PWD" push'),
  sh('gi? push'),
  sh('./gi[t] push'),
  sh('~/git push'),
  sh('eval git push'),
  sh('eval "git $x"'),
  sh('trap -- "git push" EXIT'),
  sh('alias g=git\ng push'),
  sh('"$0" push'),
  sh('"$@"').concat('x', 'git', 'push'),
  sh('echo git push | sh'),
  sh('echo "import os" | python3'),
  sh('sh <<E\ngit push\nE'),
  sh('sh -c "$x"'),
  sh('. /dev/stdin'),
  sh('((git push))'),
  sh('echo &>x git push'),
  sh('[[ a ]] && ls'),
  sh("git push\n'"),
  sh("ls 'a"),
  sh("test -v 'a[$(git push)]'"),
  bash("$'\\x67it' push"),
  bash('{git,push}'),
  bash('cat <(git push)'),
  bash('a=(git push); "${a[@]}"'),
  bash('coproc git push'),
  bash('echo $(( a[$(git push)] ))'),
]

describe('a rule that denies git push', () => {
  test.each(pushes.map((command) => [command]))('holds for %j', (command) => {
    expect(decide(command, 'deny git push*', 'allow *')).toBe('deny')
    expect(decide(command, 'ask git push*', 'allow *')).toBe('ask')
  })

  test.each(unread.map((command) => [command]))('could hold for %j', (command) => {
    expect(decide(command, 'deny git push*', 'allow *')).toBe('ask')
    expect(decide(command, 'ask git push*', 'allow *')).toBe('ask')
    const rules = ['deny git push*', 'allow *'].map((text) => ({
      ...rule(text),
      unreadable: 'deny' as const,
    }))
    expect(permissionOf(tool, command, rules).decision).toBe('deny')
    // What comes after still decides, if it is stricter.
    expect(decide(command, 'deny git push*', 'deny *')).toBe('deny')
    // A person can allow such a command by a rule before.
    expect(decide(command, `allow ${commandLine(command)}`, 'deny git push*')).toBe('allow')
  })

  test.each([
    [['git', 'status']],
    [['git', 'commit', '-m', 'git push; $(git push)']],
    [['git', '-C', 'a', 'log', '--oneline']],
    [['git', 'config', '--get', 'alias.x']],
    [['git', 'rm', 'push']],
    [['/usr/bin/git', 'pull']],
    [['echo', 'git', 'push']],
    [['grep', '-r', 'git push', '.']],
    [['npm', 'test']],
    [['npm', 'run', 'build', '--', '--watch']],
    [['npm', 'install', 'git']],
    [['python3', 'git.py', '-c', 'push']],
    [['python3', '-m', 'pytest', '-c', 'x.ini']],
    [['node', '--test', 'a.js']],
    [['node', '--version']],
    [['make', 'push']],
    [['tsc', '-b']],
    [['gh', 'pr', 'view', '1']],
    [['sed', '-n', '1,20p', 'a']],
    [['sed', '-i', 's/a\\/b/c/g', 'a']],
    [['awk', '{ print $1 }', 'a']],
    [['find', '.', '-name', '*.ts', '-exec', 'wc', '-l', '{}', '+']],
    [['./build.sh', 'push']],
    [['bash', 'build.sh']],
    [['timeout', '5', 'git', 'status']],
    [['env', 'CI=1', 'npm', 'test']],
    [['xargs', '-0', 'rm']],
    [['git', 'stash', 'push']],
    [sh('cd a && git status 2>&1 | head -3')],
    [sh('npm test 2>&1 | tee test.log')],
    [sh('make > build.log 2>&1 && make install')],
    [sh('# Build, then test.\nnpm ci && \\\n  CI=1 npm test -- --grep "a (b)"\n')],
    [sh('find . -name "*.ts" -print0 | xargs -0 wc -l')],
    [sh('git diff --stat | cat')],
    [sh('git add -A && git commit -m "Fix a; b" && npm test')],
    [sh('npm test > a.log 2>&1; tail -20 a.log')],
    [sh('cp a b && echo done')],
    [['perl', 'a.pl', 'x']],
    [sh("sed -i 's/a/b/; s/c/d/g' a")],
    [sh('test -f a && [ -d b ] || exit 1')],
    [sh('git log --format="%h %s" > log.txt; cat log.txt')],
    [bash('set -euo pipefail; mkdir -p out; npm run build')],
    [sh('ls "$HOME" *.ts; echo ${x}')],
    [sh('export CI=1; npm test')],
    [sh('command -v git')],
    [sh("awk '{print $1}' a | sort | uniq -c")],
    [sh('git log --format="%h %s" -- src')],
  ])('does not hold for %j', (command) => {
    expect(decide(command, 'deny git push*', 'allow *')).toBe('allow')
  })

  it('says as what it reads the command', () => {
    const rules = ['deny git push*'].map(rule)
    expect(permissionOf(tool, ['git', '-C', '.', 'push', 'a'], rules).rule).toBe(
      'deny run_command git push* (this could be: git push a)',
    )
    expect(permissionOf(tool, ['git', 'push'], rules).rule).toBe('deny run_command git push*')
    expect(permissionOf(tool, sh('$x'), rules).rule).toBe(
      'deny run_command git push* (this could be: something that cannot be read, so a person decides)',
    )
    expect(permissionOf(tool, sh('$x'), rules).possible).toBe(true)
    expect(permissionOf(tool, ['git', 'push'], rules).possible).toBeUndefined()
    expect(permissionOf(tool, ['xargs', 'git'], rules).rule).toBe(
      'deny run_command git push* (this could be: git …, so a person decides)',
    )
  })
})

describe('a rule that asks or denies', () => {
  it.each([
    ['git push --force*', ['git', 'push', 'origin', '--force']],
    ['rm -rf *', ['rm', 'a', '-rf']],
    ['rm /etc/*', ['rm', '/etc/a b']],
    ['curl https://evil.example/*', ['curl', 'https://evil.example/?a=b&c']],
    ['/usr/bin/git push*', ['git', 'push']],
    ['./deploy.sh *', ['bash', 'x/deploy.sh', 'now']],
    ['GIT push*', ['git', 'push']],
    ['npm publish*', ['npm', '--registry', 'x', '--silent', 'publish']],
    ['kubectl delete*', ['kubectl', '--context=a', '-n', 'prod', 'delete', 'pod']],
    ['rm *', sh('rm -rf "$HOME"/x')],
    ['*--force*', ['git', '-C', '.', 'push', '--force']],
    ['sh *', ['/bin/sh', '-c', 'ls']],
    ['*', sh('ls')],
  ])('%s holds for %j', (pattern, command) => expect(decide(command, `deny ${pattern}`)).toBe('deny'))

  it('without a pattern holds for every command', () => {
    expect(permissionOf(tool, ['ls'], [{ tool: '*', decision: 'deny' }]).decision).toBe('deny')
  })

  it('reads a line for a shell like a script', () => {
    for (const line of ['git -C . push', 'cd x; git  push', 'CI=1 git push', '"git" push'])
      expect([line, decide(line, 'deny git push*')]).toEqual([line, 'deny'])
    for (const line of ['A=b git push', '$x push', 'git "$x"'])
      expect([line, decide(line, 'deny git push*')]).toEqual([line, 'ask'])
    for (const line of ['git status', 'echo git push', 'cd x && ls', ''])
      expect([line, decide(line, 'deny git push*')]).toEqual([line, 'allow'])
  })
})

describe('a rule that allows', () => {
  it.each([
    ['git status*', ['git', 'status', '-s']],
    ['git status*', ['git', 'status', ';', 'rm', '-rf', '/']], // There is no shell: these are arguments of git.
    ['git *', ['git', 'commit', '-m', 'a; b']],
    ['npm test', ['npm', 'test']],
    ['sh -c *', sh('ls; rm a')],
    ['sh *', sh('ls; rm a')],
    ["sh -c 'ls -l*", sh('ls -l a')],
    ["sh -c 'ls; rm a'", sh('ls; rm a')],
    ['git *', ['git', 'fetch', '--upload-pack=id']],
    ['git fetch*', ['git', 'fetch', '--prune', 'origin']],
    ['timeout 5 git fetch*', ['timeout', '5', 'git', 'fetch', 'origin']],
    ['timeout *', ['timeout', '5', 'git', 'fetch', '--upload-pack=id']],
    ['timeout * npm test', ['timeout', '5', 'npm', 'test']],
    ['python3 -c *', ['python3', '-c', 'print(1)']],
    ['python3 *', ['python3', '-c', 'print(1)']],
    ['*', sh('ls; rm a')],
  ])('%s holds for %j', (pattern, command) =>
    expect(decide(command, `allow ${pattern}`, 'ask *')).toBe('allow'),
  )

  it.each([
    ['git status*', ['git', '-c', 'core.fsmonitor=x', 'status']],
    ['git status*', ['git', '-C', '.', 'status']],
    ['git status*', ['/tmp/git', 'status']],
    ['git status*', ['Git', 'status']],
    ['git status*', ['env', 'git', 'status']],
    ['git status*', ['git status']],
    ['git status*', sh('git status')],
    ["sh -c 'git status*", sh('git status; rm -rf /')],
    ["sh -c 'git status*", sh('git status $(id)')],
    ["sh -c 'git status*", sh('git status > /etc/passwd')],
    ['sed -n*', ['sed', '-n', '1e git push', 'bin/git']],
    ['timeout 5 sed -n*', ['timeout', '5', 'sed', '-n', '1e git push', 'bin/git']],
    ['awk -F*', ['awk', '-F:', 'BEGIN { system("git push") }']],
    ['sort -n*', ['sort', '-n', '--compress-program=bin/git', 'x']],
    ['rg foo*', ['rg', 'foo', '--pre', 'git']],
    ['make test*', ['make', 'test', '--eval=test:;git push']],
    ['make build*', ['make', 'build', 'SHELL=git']],
    ['node --test *', ['node', '--test', '--import=data:x']],
    ['tar -xf*', ['tar', '-xf', 'a.tar', '--to-command=git push']],
    ['flock . npm test*', ['flock', '.', 'npm', 'test', '-c', 'git push']],
    ['env CI=1 npm*', ['env', 'CI=1', 'npm', 'exec', '-c', 'git push']],
    ['gcc -c*', ['gcc', '-c', 'x.c', '-wrapper', 'git,push']],
    ['timeout * npm test', ['timeout', '5', 'git', 'push', 'npm', 'test']],
    ["timeout * sh -c 'ls*", ['timeout', '5', 'sh', '-c', 'ls; id']],
    ["bash -lc 'ls*", ['bash', '-lc', 'ls\nid']],
    ['git fetch*', ['git', 'fetch', '--upload-pack=id']],
    ['git fetch*', ['git', 'fetch', 'ext::sh -c id']],
    ["sh -c 'git fetch*", sh('git fetch --upload-pack=id')],
    ['timeout 5 git fetch*', ['timeout', '5', 'git', 'fetch', '--upload-pack=id']],
    ['find . -name*', ['find', '.', '-name', 'a', '-exec', 'id', ';']],
  ])('%s does not hold for %j', (pattern, command) =>
    expect(decide(command, `allow ${pattern}`, 'ask *')).toBe('ask'),
  )

  it.each([
    'git status; id',
    'git status && id',
    'git status\nid',
    'git status $(id)',
    'git status `id`',
    'git status > a',
    'git status & id',
    'git status | sh',
  ])('git status* does not hold for the line %j of a shell', (line) => {
    expect(decide(line, 'allow git status*', 'ask *')).toBe('ask')
  })

  it('git status* holds for a plain line of a shell', () =>
    expect(decide('git status -s', 'allow git status*', 'ask *')).toBe('allow'))
})

describe('hostile commands', () => {
  it.each([
    ['many arguments', ['a-wrapper', ...Array.from({ length: 256 }, (_, i) => `a${i} b`)]],
    ['many options', ['git', 'log', ...Array.from({ length: 256 }, (_, i) => `-${i}${'x'.repeat(1_000)}`)]],
    ['long arguments', ['a-wrapper', ...Array.from({ length: 250 }, () => 'x '.repeat(16_000))]],
    ['long scripts', sh('ls; '.repeat(8_000))],
    ['nested substitutions', sh('$('.repeat(10_000))],
    ['substitutions beside each other', bash('$(ls) '.repeat(5_000))],
    [
      'nested scripts',
      Array.from({ length: 30 }).reduce<string[]>((inner) => sh(commandLine(inner).slice(0, 30_000)), ['ls']),
    ],
    ['many quotes', ["'".repeat(30_000), "\\'".repeat(10_000)]],
    ['many wrappers', Array.from({ length: 256 }, () => 'env')],
    [
      'many options at first',
      ['a-wrapper', ...Array.from({ length: 256 }, (_, i) => `-${i}${'x'.repeat(300)}`)],
    ],
    ['many equals signs', ['a-wrapper', `${'='.repeat(30_000)} `]],
    ['a word for sed', ['sed', `s/${'a\\/'.repeat(10_000)}`]],
    ['half characters', ['a-wrapper', '\uD800 \uDC00;', '\0']],
  ])('%s are judged in little time', async (_, command) => {
    const work = (): void =>
      expect(['allow', 'ask', 'deny']).toContain(decide(command, 'deny git push*', 'deny *x*y*z*push'))
    expect(await ownMs(work)).toBeLessThan(4_000)
  })
})
