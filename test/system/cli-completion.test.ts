// `beaver completion` in the shells themselves. bash is there on every machine; zsh and fish are asked where
// they are.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { existsSync } from 'node:fs'
import { until } from '@beaver/testing'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { cliEnvironment, runBeaver } from '../support/cli.ts'
import { type OperatedSystem, operatedSystem } from '../support/kept-system.ts'

const run = promisify(execFile)
const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** Each part would leave a file `ran` if a shell evaluated it. */
const hostile =
  'a $(touch ran) `touch ran` \'"; touch ran; ${(e):-$(touch ran)}\n%F{red}\u001B[31m touch ran\t:x'

let kept: OperatedSystem
beforeAll(async () => {
  kept = await operatedSystem()
  const { client } = kept.system
  await client.run({ task: 'Say it', task_id: 'completed-one', title: hostile, session_id: 'web:42' })
  await client.run({ task: 'Say it', task_id: 'completed-two', title: 'Plain', session_id: 'web:43' })
  await until(
    'the projector knows',
    async () =>
      (await client.query('tasks', { text: 'completed-', limit: 10 })).tasks.filter(
        ({ ended_at }) => ended_at !== null,
      ).length === 2,
  )
})

const present = (shell: Shell): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, shell)))

/** How a script asks its shell what comes after a line, and prints one candidate on each line. */
const ask: Readonly<Record<Shell, (line: string) => string>> = {
  bash: (
    line,
  ) => `COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'; COMP_LINE=${quoted(line)}; COMP_POINT=\${#COMP_LINE}
    compopt() { :; }; _beaver; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (line) => `
    compadd() { print -rl -- "\${(@)shown}" }
    _files() { :; }
    words=("\${(@z)$(print -r -- ${quoted(line)})}"); [[ ${quoted(line)} == *' ' ]] && words+=('')
    CURRENT=$#words; PREFIX=$words[CURRENT]; _beaver`,
  fish: (line) => `complete -C ${quoted(line)}`,
}
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
const shellOptions: Readonly<Record<Shell, readonly string[]>> = {
  bash: ['--norc', '--noprofile', '-c'],
  zsh: ['-f', '-c'],
  fish: ['--no-config', '-c'],
}

/** What a person sources. */
async function printedScript(shell: Shell): Promise<string> {
  const { exit, out, err } = await runBeaver(['completion', shell], { cwd: tmpdir() })
  expect({ exit, err }).toEqual({ exit: 0, err: '' })
  return out
}

/** What a shell offers after a line, in a folder of its own. */
async function offered(shell: Shell, line: string, env: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'beaver-completion-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const before = shell === 'zsh' ? 'compdef() { :; }\n' : ''
  const script = before + (await printedScript(shell)) + ask[shell](line)
  const { stdout, stderr } = await run(shell, [...shellOptions[shell], script], {
    cwd: folder,
    env: { ...cliEnvironment(env), HOME: folder, LANG: 'C.UTF-8' },
  })
  expect(stderr).toBe('')
  expect((await readdir(folder)).filter((name) => name === 'ran')).toEqual([])
  return stdout.split('\n').filter((each) => each !== '')
}

/** Asks again while nothing is offered: on a busy machine, the system may not answer within the limit. */
async function offeredSoon(shell: Shell, line: string): Promise<string[]> {
  let rows: string[] = []
  await until('the system answers', async () => {
    rows = await offered(shell, line, kept.env)
    return rows.length > 0
  })
  return rows
}

describe.each(shells.filter(present))('%s', (shell) => {
  const valuesOf = (rows: readonly string[]): string[] => rows.map((row) => row.split(/\t| {2}-- /)[0] ?? '')

  it('completes commands, options and closed values', async () => {
    expect(valuesOf(await offered(shell, 'beaver ta', kept.env))).toEqual(['tasks'])
    expect(valuesOf(await offered(shell, 'beaver tasks --sta', kept.env))).toEqual(['--status'])
    expect(valuesOf(await offered(shell, 'beaver tasks --status fa', kept.env))).toEqual(['failed'])
  })

  it('offers tasks, and evaluates nothing of a hostile title', async () => {
    const rows = await offeredSoon(shell, 'beaver show completed-')
    expect(valuesOf(rows).toSorted()).toEqual(['completed-one', 'completed-two'])
    expect(rows.join('')).not.toContain('\u001B')
    if (shell !== 'bash') expect(rows.join('\n')).toContain('Plain')
  })

  it('completes a word with a colon', async () => {
    const rows = valuesOf(await offeredSoon(shell, 'beaver session web:4'))
    expect(rows.toSorted()).toEqual(shell === 'bash' ? ['42', '43'] : ['web:42', 'web:43'])
  })

  it('says nothing where no system is', async () => {
    expect(await offered(shell, 'beaver show ', {})).toEqual([])
    expect(await offered(shell, 'beaver show ', { NATS_URL: 'nats://127.0.0.1:1' })).toEqual([])
  })
})

it.each(shells)('the script for %s is printed, and nothing of a line is evaluated in it', async (shell) => {
  const out = await printedScript(shell)
  expect(out).not.toMatch(/\beval\b|compgen -W|_describe/)
  expect(out).toContain(`__complete ${shell} `)
})

it('answers in silence with a broken configuration, and starts nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beaver-completion-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'beaver.config.json'), '{')
  const asked = await runBeaver(['__complete', 'zsh', 'show', ''], { cwd: folder })
  expect(asked).toEqual({ exit: 0, out: 'none\n', err: '' })
  expect(await readdir(folder)).toEqual(['beaver.config.json'])
})
