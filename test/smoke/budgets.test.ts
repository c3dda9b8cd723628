// Budgets on a whole system: a task stops before it exceeds its budget, waits until it is given more, or ends.
// The commands are those of docs/how-to/bound-spending.md.
import { until } from '@beaver/testing'
import { beforeAll, expect, it } from 'vitest'
import { type FakeReply, say, type SeenRequest, use } from '../support/fake-provider.ts'
import { testServer } from '../support/nats.ts'
import { page, type SmokeScene, smokeScene } from '../support/smoke-scene.ts'
import { only, testSystem } from '../support/system.ts'

let scene: SmokeScene
let text = ''
beforeAll(async () => {
  scene = await smokeScene()
  text = await page('docs/how-to/bound-spending.md')
})

/** The commands of the page that begin like this, each as its words. */
const commandsOf = (start: string): string[][] =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`beaver ${start}`))
    .map((line) =>
      [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word).slice(1),
    )

async function beaver(...args: readonly string[]): Promise<string> {
  const { exit, out, err } = await scene.beaver(args)
  expect([exit, err], `beaver ${args.join(' ')}\n${out}`).toEqual([0, ''])
  return out
}

/** An answer of which the provider says that it used tokens for 0.69 USD, at the price of an unknown model. */
function dear(reply: FakeReply): FakeReply {
  const body = JSON.parse(reply?.body ?? '') as object
  const usage = { prompt_tokens: 100_000, completion_tokens: 26_000, total_tokens: 126_000 }
  return { body: JSON.stringify({ ...body, usage }) }
}

/** The first call uses a tool, and the second one answers. */
const twoCalls = ({ results }: SeenRequest): FakeReply =>
  results.length === 0 ? dear(use(['list_dir', { path: '.' }])) : say('Compared.')

const waits = (taskId: string) =>
  scene.system.reached(taskId, 'it waits', (all) => only(all, 'budget_exceeded').length > 0)

it('a task stops before a call that exceeds its budget, and completes when it is given more', async () => {
  scene.script('Compare the apples', twoCalls)
  const taskId = (await beaver('submit', 'Compare the apples', '--budget', 'usd=0.70')).trim()
  const [exceeded] = only(await waits(taskId), 'budget_exceeded')
  expect(exceeded?.data).toMatchObject({
    ...{ budget: { of: 'task', per: 'run' }, measure: 'usd', limit: 0.7, used: 0.69 },
    spent_by: [{ agent_name: 'root', used: 0.69 }],
  })
  expect(scene.system.provider.about('Compare the apples')).toHaveLength(1)
  await until('show says it', async () =>
    (await beaver('show', taskId)).includes('Waits for  a budget: the budget of the task has no place'),
  )
  const raises = commandsOf('budget raise')
  expect(raises.map(([, what]) => what)).toEqual(['raise', 'raise', 'raise'])
  const [first = []] = raises
  expect(await beaver(...first.map((word) => (word === '<task>' ? taskId : word)))).toBe(
    `Raised: ${taskId} may use 5.00 USD more.\n`,
  )
  const events = await scene.system.ended(taskId)
  expect(only(events, 'budget_raised')[0]?.data).toMatchObject({ more: { usd: 5 }, budget: { of: 'task' } })
  expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'Compared.' } })
})

it('the other commands of the page raise what they name, and what is not bounded cannot be raised', async () => {
  const { task_id: taskId } = await scene.system.client.submit({
    task: 'wait for_more',
    budget: { model_calls: 5 },
  })
  await scene.system.reached(taskId, 'it runs', (all) => only(all, 'model_call_reserved').length > 0)
  const [, more = [], ofNode = []] = commandsOf('budget raise')
  const forTask = (words: readonly string[]) => words.map((word) => (word === '<task>' ? taskId : word))
  await beaver(...forTask(more))
  // This system has no budget of nodes.
  expect(await scene.beaver(forTask(ofNode))).toMatchObject({
    exit: 1,
    err: expect.stringContaining('There is no limit of usd in the budget of the node write') as string,
  })
  await scene.system.client.raise(taskId, { usd: 1 }, { requestId: 'once' })
  await scene.system.client.raise(taskId, { usd: 1 }, { requestId: 'once' })
  await expect(scene.system.client.raise(taskId, { usd: 2 }, { requestId: 'once' })).rejects.toMatchObject({
    code: 'conflict',
  })
  await expect(scene.system.client.raise(taskId, { usd: 0 })).rejects.toMatchObject({
    code: 'invalid_arguments',
  })
  await scene.system.client.cancel(taskId, 'Enough.')
  expect(only(await scene.system.ended(taskId), 'budget_raised').map(({ data }) => data.more)).toEqual([
    { tokens: 100_000, model_calls: 10 },
    { usd: 1 },
  ])
})

it('a task is run with a budget as the page says, and never with more than the configuration gives', async () => {
  const runs = commandsOf('run')
  expect(runs).toHaveLength(2)
  scene.script('Compare the offers', () => say('Compared.'))
  for (const run of runs) expect(await beaver(...run, '--quiet')).toContain('Compared.')
  expect(await scene.beaver(['submit', 'Compare all', '--budget', '20'])).toMatchObject({
    exit: 2,
    err: expect.stringContaining(
      'The task asks for 20.00 USD, but the configuration gives a task at most 10.00 USD.',
    ) as string,
  })
  expect(await scene.beaver(['submit', 'Compare all', '--budget', 'eur=1'])).toMatchObject({
    exit: 2,
    err: expect.stringContaining('"eur=1" names no measure: usd, tokens,') as string,
  })
})

it('a task ends at its budget if the configuration says so, and a retry may have another one', async () => {
  await using server = await testServer()
  await using system = await testSystem(server, {
    budgets: [{ of: 'task', usd: 0.7, exceeded: 'end' }],
  })
  system.provider.answerBy(twoCalls)
  await system.daemon()
  const failed = await system.client.run({ task: 'Compare the pears' })
  expect(failed).toMatchObject({
    status: 'failed',
    failure: {
      class: 'budget_exceeded',
      message: expect.stringContaining('used 0.69 of 0.70 USD') as string,
    },
  })
  await expect(system.client.retry(failed.task_id, { budget: { usd: 1 } })).rejects.toMatchObject({
    ...{ code: 'invalid_arguments', problems: [{ path: 'budget.usd' }] },
  })
  const { task_id } = await system.client.retry(failed.task_id, { budget: { usd: 0.65 } })
  const events = await system.ended(task_id)
  expect(only(events, 'task_submitted')[0]?.data.request.budget).toEqual({ usd: 0.65 })
  expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'Compared.' } })
})
