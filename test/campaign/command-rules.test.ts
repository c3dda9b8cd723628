// No script that starts `git push` passes a rule that denies it without a question. The scripts are made at
// random from three sources, and real shells say what they start.
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  commandLine,
  confined,
  permissionOf,
  type PermissionRule,
  startGroup,
  type Tool,
} from '@beaver/agent/tool-kit'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'

const scriptsMin = Number(process.env['BEAVER_CAMPAIGN_SCRIPTS'] ?? 6_000)
const seed = Number(process.env['BEAVER_CAMPAIGN_SEED'] ?? 37)
const shells = ['sh', 'dash', 'bash'] as const
const batchMax = 100

const tool: Tool = {
  name: 'run_command',
  description: '',
  parameters: {},
  idempotent: false,
  subject: (args) => commandLine(args as string[]),
  subjectKind: 'command',
  invoke: async () => '',
}
const rules: readonly PermissionRule[] = [{ tool: 'run_command', pattern: 'git push*', decision: 'deny' }]
const passes = (command: readonly string[]): boolean =>
  permissionOf(tool, command, rules).decision === 'allow'

const words = (text: string): string[] => text.split(' ')

/** Letters and words that mean something to some shell. */
const soup = fc
  .array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.constantFrom('git push', 'git', 'push', ' ', ' ', '\n', ';', '\\\n', '#', "'", '"'),
      },
      {
        weight: 3,
        arbitrary: fc.constantFrom(
          ...words(
            `& | ( ) { } $ \` \\ < > = a x * ? ~ ! $( \${ <<E <<-E E &> >& 2>&1 1> [[ ]] (( )) [ ] $' $" $x "$@" $1 {} @( += && || |& ;; ,`,
          ),
          '\t',
          '\\ ',
        ),
      },
      {
        weight: 3,
        arbitrary: fc
          .constantFrom(
            ...words(
              'echo cat env exec eval time command xargs sh tee if then fi do done for in set -- -c -S . true :',
            ),
          )
          .map((each) => `${each} `),
      },
    ),
    { minLength: 1, maxLength: 14 },
  )
  .map((pieces) => pieces.join(''))

/** A word as a shell may spell it. */
const spelled = (word: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      ...[...word].map((letter) =>
        fc.constantFrom(
          letter,
          letter,
          letter,
          `'${letter}'`,
          `"${letter}"`,
          `\\${letter}`,
          `""${letter}`,
          `${letter}\\\n`,
          `$e${letter}`,
          `\${e}${letter}`,
          `\`\`${letter}`,
          `$()${letter}`,
        ),
      ),
    )
    .map((letters) => letters.join(''))
const push = fc.oneof(
  fc.constantFrom(
    'git push',
    'git -C . push',
    'git  push',
    'git\tpush origin',
    './bin/git push',
    '"git" push',
  ),
  fc.tuple(spelled('git'), spelled('push')).map(([git, sub]) => `${git} ${sub}`),
)
const quoted = (text: string): string => commandLine([text])

/** What a script may do with a line. `%` is the line, `Q` the line in quotes. */
const families = `%
cd .; %
true && % || true
(%)
{ %; }
if true; then %; fi
for i in 1; do %; done
case a in a) %;; esac
f() { %; }; f
f() %; f
% &
! %
time %
time -p %
x=$(%)
echo "$(%)"
echo \`%\`
cat <<E\n$(%)\nE
cat <<'E'\n$(%)\nE
sh <<E\n%\nE
sh <<'E'\n%\nE
echo Q | sh
echo Q | xargs -I X sh -c X
echo Q | xargs
echo push | xargs git
printf '%s\\n' Q | sh
echo Q > q.sh; sh q.sh
echo Q > q.sh; . ./q.sh
echo Q > q.log; sh q.log
echo Q | tee q.log; sh q.log
echo Q > q.sh; chmod +x q.sh; ./q.sh
echo Q > q.sh | sleep 0.01; sh q.sh
cp bin/git ls; ./ls push
cp bin/git nice; ./nice push
cp bin/git bin/ls; ls push
mv bin/git bin/tail; tail push
ln -s git bin/wc; ls | wc push
cp bin/git bin/tsc; tsc push
perl bin/git push
git commit -m Q; sh .git/COMMIT_EDITMSG
git log --format=Q --output=q.sh; sh q.sh
npm pkg set scripts.test=Q; npm test
ls | ./bin/git push
sh q.sh | tee q.sh
ln -s bin/git g; ./g push
mv bin/git bin/w; bin/w push
cp bin/git bin/echo; PATH=bin:$PATH; echo push
cp bin/git bin/zz; zz push
eval Q
eval Q ""
trap Q EXIT
trap Q 0; exit
x=Q; eval "$x"
x=Q; $x
x=git; $x push
x=push; git $x
set -- git push; "$@"
set -- push; git "$1"
env git push
env -S Q
env --spl=git\\_push
env -u X -Sgit\\_push
env - %
env A=b git push
nice -n 1 git push
timeout 5 git push
timeout 5 sh -c Q
setsid -w git push
nohup git push
stdbuf -oL git push
xargs -a /dev/null git push
find . -maxdepth 0 -exec git push \\;
find . -maxdepth 0 -exec sh -c Q \\;
find . -maxdepth 0 -exec git {} \\; -o -exec sh -c 'git push' {} +
find bin -name git -exec {} push \\;
awk 'BEGIN { system("git push") }'
awk 'BEGIN { print "git push" | "sh" }'
awk 'BEGIN { while (("git push" | getline) > 0); }'
sed -n '1e git push' bin/git
sed -n 's/.*/git push/e' bin/git
sort --compress-program=bin/git -S 1k bin/git
printf -v PS4 '$(git push)'; set -x; :
read -r PS4 <<< '$(git push)'; set -x; :
for PS4 in '$(git push)'; do set -x; :; done
export PS4='$(git push)'; set -x; :
PS4='$(git push)' sh -xc :
PS4='$(git push)' bash -xc :
x='$(git push)'; echo \${x@P}
echo \${x:-$(git push)}
echo \${x:=git push}; $x
echo "\${x-'}";git push;echo "'}"
x='a[$(git push)]'; echo $((x))
x='a[$(git push)]'; [[ $x -eq 0 ]]
x='a[$(git push)]'; test -v "$x"
test -v 'a[$(git push)]'
declare -i y='a[$(git push)]'
printf -v 'a[$(git push)]' x
read 'a[$(git push)]' < bin/git
unset 'a[$(git push)]'
let 'a[$(git push)]'
wait -p 'a[$(git push)]' -n
mapfile -C 'git push #' -c 1 x < bin/git
compgen -C 'git push'
shopt -s expand_aliases\nBASH_ALIASES[x]="git push"\nx
shopt -s expand_aliases\nalias x='git push'\nx
alias x='git push'\nx
alias echo='git push'\necho
hash -p bin/git ls; ls push
enable -n echo; echo
declare -n x=PATH; x=bin; git push
IFS=x; y=gitxpush; $y
exec git push
exec > q.log; git push
command git push
command -p git push
command -v git; %
builtin eval Q
busybox sh -c Q
bash -c Q
dash -c Q
sh -ec Q
sh -c 'sh -c Q'
sh -c '"$@"' x git push
sh -c '$0 push' git
sh -c 'git $0' push
bash --posix -c Q
bash -o errexit -c Q
bash -O extglob -c Q
bash +e -c Q
sh -- bin/git push
sh bin/git push
. bin/git push
python3 -c 'import os; os.system("git push")'
python3 -m timeit "__import__('os').system('git push')"
perl -e 'system("git push")'
perl -x bin/git
make --eval 'x:;git push' x
make -f - x <<E\nx:;git push\nE
git -c alias.x=push x
git x; git push
coproc git push; wait
cat <(git push)
{git,push}
{git,push} origin
$'git' push
$"git" push
g[i]t push
bin/g?t push
bin/g*t push
~/bin/git push
$PWD/bin/git push
a=(git push); "\${a[@]}"
\\git push
'git' 'push'
git 'pu'sh
git <bin/git push
>q.log git push
git >q.log push
2>&1 git push
git push#
#git push
# a \\\ngit push
echo a#; git push
echo '#'; git push
echo "#" ; git push
echo \\#; git push
echo 'a\\'; git push
echo "a\\"; git push; "
echo 'it'"'"'s'; git push
echo "$x"; git push
true;\tgit push
true;;git push
true |git push
true || git push
false || git push
true&& git push
echo a\\\nb; git push
echo a \\\n; git push
gi\\\nt push
git push 2>/dev/null
[ -n a ] && git push
[ a ]; git push
test a = a && git push
cd /; git push
kill -0 $$; git push
export CI=1; git push
export CI=1 X=2; git push
CI=1 git push
CI=1 X=2 git push
X=2 git push
type git; git push
printf git\\ push | sh
printf 'git push' > q.log; bash q.log
tee q.log < bin/git; sh q.log push
dd if=bin/git of=ls; chmod +x ls; ./ls push
curl -s file://$PWD/bin/git -o ls; chmod +x ls; ./ls push
npm exec -- git push
npx -c 'git push'
script -qc Q /dev/null
flock . git push
flock . -c Q
watch -n 9 -g git push
xargs -I{} git {} <<< push
ssh -o ProxyCommand='git push' x
tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec='git push' bin/git
split --filter='git push' bin/git
sh -c Q & wait`
  .split('\n')
  .map((line) => line.replaceAll('\\n', '\n'))

const family = fc
  .tuple(push, fc.constantFrom(...families), fc.constantFrom(...families), fc.nat(3))
  .map(([line, one, other, deep]) => {
    const filled = (form: string, text: string): string =>
      form.replaceAll('%', () => text).replaceAll('Q', () => quoted(text))
    const inner = filled(one, line)
    return deep === 0 ? filled(other, inner) : inner
  })

/** A script of a family with a few letters changed. */
const mutant = fc
  .tuple(
    family,
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat(2),
        fc.constantFrom(
          ...words(`' " \\ ; | & < > $ \` # ( ) { } = x git sh echo 'a' "a" 2>&1 $x`),
          ' ',
          '\n',
          '\\\n',
          'git push\n',
          '; git push',
        ),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([script, changes]) =>
    changes.reduce((text, [place, removed, added]) => {
      const at = place % (text.length + 1)
      return text.slice(0, at) + added + text.slice(at + removed)
    }, script),
  )

let folder: string
beforeAll(() => (folder = realpathSync(mkdtempSync(join(tmpdir(), 'beaver-scripts-')))))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 }))

const mark = `#!/bin/sh\nfor each; do case $each in -C) ;; .|-*) ;; *) break;; esac; done\n[ "$each" = push ] && echo push >> "$MARK"\n:\n`

/** Runs the script of each folder by the shell of its name, and marks those that start `git push`. */
const driver = `
for each in */; do
  cd "$each" || exit
  text=$(cat script; echo .)
  read -r shell < shell
  env -i PATH="$PWD/bin:/usr/bin:/bin" HOME="$PWD" MARK="$PWD/mark" timeout -s KILL 5 "$shell" -c "\${text%.}" </dev/null >/dev/null 2>&1
  cd ..
done`
interface Run {
  readonly shell: string
  readonly script: string
}

/**
 * For each run, whether the shell starts `git push`. A script may do anything, so they run in the sandbox, each
 * in a folder of its own.
 */
async function starts(runs: readonly Run[], batch: number): Promise<boolean[]> {
  const cwd = join(folder, String(batch))
  const folders = runs.map((_, i) => join(cwd, String(i).padStart(4, '0')))
  for (const [i, { shell, script }] of runs.entries()) {
    const own = folders[i] ?? ''
    mkdirSync(join(own, 'bin'), { recursive: true })
    writeFileSync(join(own, 'bin', 'git'), mark, { mode: 0o755 })
    writeFileSync(join(own, 'script'), script)
    writeFileSync(join(own, 'shell'), `${shell}\n`)
  }
  const { program, args } = await confined(
    { mode: 'required', hidden: [], readable: [] },
    { cwd, writable: [cwd], network: false },
    ['sh', '-c', driver],
  )
  const group = startGroup(program, args, { cwd, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } })
  group.child.stdout?.resume()
  let said = ''
  group.child.stderr?.on('data', (text: Buffer) => (said += text.toString()))
  const { exitCode } = await group.ended
  expect([exitCode, said]).toEqual([0, ''])
  const marked = folders.map((own) => existsSync(join(own, 'mark')))
  rmSync(cwd, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  return marked
}

it('no script that starts git push passes', async () => {
  const scripts = [soup, family, mutant].flatMap((source, i) =>
    fc
      .sample(source, { numRuns: Math.ceil(scriptsMin / 2), seed: seed + i })
      .filter((script) => !script.includes('\0') && script.trim() !== ''),
  )
  const runs = [...new Set(scripts)].flatMap((script) => shells.map((shell): Run => ({ shell, script })))
  const count = { started: 0, passed: 0 }
  const evasions: Run[] = []
  const batches = Array.from({ length: Math.ceil(runs.length / batchMax) }, (_, i) =>
    runs.slice(i * batchMax, (i + 1) * batchMax),
  )
  const work = async (): Promise<void> => {
    for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
      const started = await starts(batch, batches.length)
      for (const [i, run] of batch.entries()) {
        const passed = passes([run.shell, '-c', run.script])
        if (passed) count.passed++
        if (started[i] === true) count.started++
        if (passed && started[i] === true) evasions.push(run)
      }
    }
  }
  await Promise.all([work(), work()])
  process.stdout.write(
    `${runs.length / shells.length} scripts, each by ${shells.join(', ')}: ${count.started} of ${runs.length} runs started git push, ${count.passed} passed the rule, ${evasions.length} did both\n`,
  )
  expect(evasions).toEqual([])
  expect(count.started).toBeGreaterThan(runs.length / 10)
  expect(count.passed).toBeGreaterThan(runs.length / 40)
}, 1_800_000)
