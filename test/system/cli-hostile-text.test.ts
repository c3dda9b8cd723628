// Every command that prints what models, tools, callers or other tasks wrote: nothing that a terminal obeys
// comes out of it. The texts stand in every field that somebody outside may choose. `--raw` is the way to
// have them unchanged.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type CliPlace, type Ran, runBeaver } from '../support/cli.ts'
import { say, use } from '../support/fake-provider.ts'
import { keptCommands, type OperatedSystem, operatedSystem } from '../support/kept-system.ts'
import { only, type TestSystem } from '../support/system.ts'

const hostile = (name: string): string =>
  `${name} \u001b]52;c;cm0gLXJmIH4=\u0007 \u001b[2J\u001b[8mhid\u001b[0m \u009b31m \u009d0;t\u009c \u202Egnp.exe\u2066x\u200f \u001b]0;title\u0007 a\rb \u0008 \u007f ${name}`
// oxlint-disable-next-line no-control-regex
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

let plain: OperatedSystem
let system: TestSystem
let folder: string
beforeAll(async () => {
  plain = await operatedSystem()
  system = plain.system
  folder = await mkdtemp(join(tmpdir(), 'beaver-hostile-'))
  await plant()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Two tasks: one has ended, one waits for a person. */
async function plant(): Promise<void> {
  system.provider.answerBy(({ text, results }) => {
    if (text.includes('<instruction ')) return say(hostile('worker'))
    if (results.length === 0 && text.includes('waits'))
      return use(['echo', { text: hostile('careful argument') }])
    if (results.length === 0)
      return use(
        [
          'SequentialWorkflow',
          { task: hostile('team'), agents: [{ name: hostile('agent'), instruction: hostile('do') }] },
        ],
        [hostile('tool'), { text: 'x' }],
      )
    return say(hostile('answer'))
  })
  await mkdir(join(folder, 'skills/odd'), { recursive: true })
  await writeFile(
    join(folder, 'skills/odd/SKILL.md'),
    `---\nname: odd\ndescription: ${JSON.stringify(hostile('skill'))}\n---\n${hostile('body')}\n`,
  )
  await writeFile(
    join(folder, 'args.json'),
    JSON.stringify({ task: hostile('t'), agents: [{ name: hostile('n'), instruction: hostile('i') }] }),
  )
  const about = { source: hostile('source'), user_id: 'u', title: hostile('title') }
  await system.client.submit({
    task: hostile('ended'),
    task_id: 'hostile-ended',
    session_id: 'ses\u202Enois',
    ...about,
  })
  await system.client.submit({ task: hostile('waits'), task_id: 'hostile-waits', ...about })
  await system.client.submit({ task: hostile('refused waits'), task_id: 'hostile-refused' })
  for (const task of ['hostile-waits', 'hostile-refused'])
    await system.reached(task, 'it waits', (events) => only(events, 'approval_requested').length === 1)
  await system.client.decide('hostile-refused', {
    callId: 'call_0',
    approved: false,
    reason: hostile('reason'),
  })
  for (const task of ['hostile-ended', 'hostile-refused']) await system.ended(task)
  await until('the projector knows', async () =>
    (await system.client.query('approvals')).calls.some(({ task_id }) => task_id === 'hostile-waits'),
  )
}

/** In a folder with a hostile skill. */
const place = (): CliPlace => ({ cwd: folder, env: plain.env })
const beaver = async (...args: readonly string[]): Promise<Ran> => (await keptCommands()).run(args, place())

it.for<[command: string, shows: string]>([
  ['show hostile-ended --all', 'answer'],
  ['show hostile-waits', 'argument'],
  ['show hostile-refused', 'reason'],
  ['timeline hostile-ended', 'agent'],
  ['timeline hostile-refused', 'reason'],
  ['events hostile-ended', 'ended'],
  ['events hostile-waits', 'source'],
  ['watch hostile-ended', 'answer'],
  ['watch hostile-refused --quiet', 'answer'],
  ['tasks', 'title'],
  ['top', 'title'],
  ['search gnp.exe', 'gnp.exe'],
  ['sessions', 'title'],
  ['session ses', 'answer'],
  ['session waits', 'waits'],
  ['memory', 'About the work'],
  ['approve', 'argument'],
  ['status', 'waits'],
  ['skills show odd', 'body'],
  ['skills list', 'odd'],
  ['skills check skills/odd', 'odd'],
  ['plan SequentialWorkflow -f args.json', 'n'],
  ['plan SequentialWorkflow -f args.json --mermaid', 'n'],
  ['tools list', 'read_file'],
  ['check --no-projection', 'rule'],
  ['export', 'ended'],
  ['team', 'team'],
])('beaver %s, also with --json, prints nothing that a terminal obeys', async ([command, shows]) => {
  const words = command.split(' ')
  for (const args of [words, [...words, '--json']]) {
    const { out, err } = await beaver(...args)
    if (args === words) expect(out + err).toContain(shows)
    expect(out + err).not.toMatch(obeyed)
  }
})

it('an error message about what somebody typed or wrote, and a whole run, print nothing that a terminal obeys', async () => {
  for (const args of [
    ['show', hostile('no task')],
    ['cancel', hostile('no task'), '--reason', hostile('why'), '--json'],
    ['approve', 'hostile-waits', hostile('no call')],
    ['run', hostile('run'), '--no-input'],
    ['submit', hostile('submit'), '--workspace', hostile('/no')],
    [hostile('command')],
  ]) {
    const { out, err } = await beaver(...args)
    expect(out + err).not.toBe('')
    expect(out + err).not.toMatch(obeyed)
  }
})

it('--raw gives a pipe the text as it is', async () => {
  expect((await runBeaver(['--raw', 'show', 'hostile-ended'], place())).out).toContain(hostile('answer'))
})
