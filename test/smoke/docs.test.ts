// That the first pages are right: the commands of the README and the steps of the tutorial run as they stand
// there, and print what stands there. test/house/docs.test.ts checks the words of all pages; the programs and
// the examples have tests of the suite `system`.
import { basename, dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Ran } from '../support/cli.ts'
import { makeTutorial, page, simulatedModel, type SmokeScene, smokeScene } from '../support/smoke-scene.ts'
import { only } from '../support/system.ts'

let scene: SmokeScene
beforeAll(async () => {
  await simulatedModel()
  scene = await smokeScene()
})

/** The fenced blocks of a page, in their order. */
const blocksOf = (text: string): string[] =>
  [...text.matchAll(/^(`{3,})\w*\n([^]*?\n)\1$/gm)].map(([, , content = '']) => content)
/** The commands of Beaver in a block, without what the shell does with them. */
const commandsIn = (block: string): string[] =>
  [...block.matchAll(/^(?:\.\/bin\/)?beaver (.+?)(?: +[#|] .*)?$/gm)].map(([, words = '']) => words)
const argsOf = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? '',
  )

const readme = commandsIn(
  blocksOf(await page('README.md')).find((block) => block.includes('./bin/beaver tasks')) ?? '',
)

describe('the README', () => {
  const tasks = { show: '', approve: '', answer: '' }
  beforeAll(async () => {
    const { client, reached } = scene.system
    tasks.show = (await client.run({ task: 'Look at me.' })).task_id
    tasks.approve = (await client.submit({ task: 'write by-readme' })).task_id
    tasks.answer = (await client.submit({ task: 'ask_user {"question": "Which one?"}' })).task_id
    await reached(tasks.approve, 'it asks', (events) => only(events, 'approval_requested').length === 1)
    await reached(tasks.answer, 'it asks', (events) => only(events, 'question_asked').length === 1)
    for (const id of Object.values(tasks)) await scene.known(id)
  })

  it('names the commands that people need first', () => {
    const names = readme.map((command) => command.split(' ')[0])
    expect(names).toEqual([
      'run',
      'tasks',
      'show',
      'timeline',
      'approve',
      'answer',
      'retry',
      'usage',
      'models',
      'status',
      'doctor',
    ])
  })

  it.each(readme)('beaver %s', async (command) => {
    const [name = ''] = command.split(' ')
    const mine = name === 'approve' || name === 'answer' ? tasks[name] : tasks.show
    const run = name === 'status' || name === 'doctor' ? scene.look : scene.beaver
    const { exit, out, err } = await run(argsOf(command.replace(/task_\w+/, mine)), scene.tutorial)
    expect([exit, err, out !== '']).toEqual([
      0,
      name === 'models' ? expect.stringContaining('simulated') : '',
      true,
    ])
  })
})

describe('the tutorial', () => {
  const run = (command: string, folder = scene.tutorial): Promise<Ran> =>
    scene.beaver(argsOf(command), folder)
  /** A command of a page that begins like this, as it stands there, and what the page says that it prints. */
  async function step(name: string, beginning: string): Promise<{ command: string; printed: string[] }> {
    const blocks = blocksOf(await page(`docs/tutorial/${name}.md`))
    const at = blocks.findIndex((block) => commandsIn(block).some((command) => command.startsWith(beginning)))
    expect(at, `${name} has a command "beaver ${beginning}"`).toBeGreaterThan(-1)
    const rest = blocks.slice(at + 1)
    const next = rest.findIndex((block) => commandsIn(block).length > 0)
    const command = commandsIn(blocks[at] ?? '').find((each) => each.startsWith(beginning)) ?? ''
    return { command, printed: next === -1 ? rest : rest.slice(0, next) }
  }

  it('1: a team of agents reports on a folder with the figures of the page', async () => {
    const folder = join(dirname(scene.tutorial), 'first', basename(scene.tutorial))
    await makeTutorial(folder, ['1-first-task'])
    const { command, printed } = await step('1-first-task', 'run --up --skill folder-report')
    const { exit, out } = await run(command, folder)
    expect(exit).toBe(0)
    expect(out).toContain(printed.find((block) => block.startsWith('| Type ')))
  })

  it('2: the skill is valid, and two agents answer with it whether it is named or chosen', async () => {
    const check = await step('2-first-skill', 'skills check')
    expect(await run(check.command)).toEqual({ exit: 0, out: check.printed[0], err: '' })
    const named = await step('2-first-skill', 'run --up --skill')
    const answer = named.printed.find((block) => block.startsWith('Task: ')) ?? ''
    expect((await run(named.command)).out).toContain(answer)
    const chosen = await step('2-first-skill', 'run --up -q')
    expect((await run(chosen.command)).out.split('\n').slice(1)).toEqual(answer.split('\n').slice(1))
  })

  it('3: the folder is trusted, and its tool is listed, counts and refuses what is no date', async () => {
    const trust = await step('3-first-tool', 'trust')
    expect(await run(trust.command)).toEqual({
      exit: 0,
      out: trust.printed[0]?.replaceAll('~/hello-beaver', scene.tutorial),
      err: '',
    })
    const list = await step('3-first-tool', 'tools list')
    const listed =
      (await run(list.command)).out.split('\n').find((line) => line.includes('days_between')) ?? ''
    expect(`${listed}\n`).toBe(list.printed[0])
    const counts = await step('3-first-tool', 'run --up -q \'Call `days_between` with {"from": "2026')
    expect((await run(counts.command)).out).toBe(counts.printed[0])
    const refuses = await step('3-first-tool', 'run --up -q \'Call `days_between` with {"from": "yesterday')
    expect((await run(refuses.command)).out).toBe(refuses.printed[0])
  })
})
