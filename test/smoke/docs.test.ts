// Runs the commands of the README as they stand there. test/house/docs.test.ts checks the words of all
// pages; the screens, the programs and the examples have tests of the suite `system`.
import { beforeAll, describe, expect, it } from 'vitest'
import { page, simulatedModel, type SmokeScene, smokeScene } from '../support/smoke-scene.ts'
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
      'top',
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

describe('the requests of docs/how-to/use-console.md', () => {
  let requests: readonly string[]
  beforeAll(async () => {
    const [, section = ''] = (await page('docs/how-to/use-console.md')).split(/^## (?=Try it$)/m)
    const [own = ''] = section.split(/^## /m)
    requests = blocksOf(own).map((block) => block.trim())
  })

  it.each([
    [0, 'approval_requested', 'waits until somebody allows what it would write'],
    [1, 'question_asked', 'asks a person'],
    [2, 'task_incomplete', 'fails in part'],
  ])('request %i has the event %s: it %s', async (index, type) => {
    const { client, reached } = scene.system
    const { task_id } = await client.submit({
      task: requests[index] ?? '',
      workspace: scene.tutorial,
      approvals: 'wait',
    })
    await reached(task_id, type, (events) => events.some((event) => event.type === type))
    const events = await scene.system.events(task_id)
    const nodes = events.flatMap((event) =>
      event.type === 'node_completed' || event.type === 'node_failed'
        ? [`${event.type} ${event.data.node_id}`]
        : [],
    )
    expect(nodes.toSorted()).toEqual(index === 2 ? ['node_completed clock', 'node_failed reader'] : [])
    if (index < 2) await client.cancel(task_id, 'The test has seen it.')
  })
})
