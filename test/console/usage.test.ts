// The pages of usage and of failures in a browser: tasks that failed in two ways, and tasks of a model with a
// price and of one without.
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Gateway } from '@beaver/gateway'
import { consoleFolder, type Person, person } from '../support/browser.ts'
import type { FakeReply } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'

const user = 'figures'
let scene: ProtocolScene
let gateway: Gateway
const failed: string[] = []

const answerOf = (model: string): FakeReply => ({
  body: JSON.stringify({
    id: 'r',
    object: 'chat.completion',
    model,
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Done.' } }],
    usage: { prompt_tokens: 40_000, completion_tokens: 2_000, total_tokens: 42_000 },
  }),
})

beforeAll(async () => {
  scene = await keptScene()
  gateway = await scene.start({}, { consoleFolder })
  const { client } = scene.system
  scene.answer('figures_priced', answerOf('gpt-5-mini'))
  scene.answer('figures_unpriced', answerOf('fake-model'))
  await client.run({ task: 'wait figures_priced', user_id: user })
  await client.run({ task: 'wait figures_unpriced', user_id: user })
  for (const request of [{ task: 'fail' }, { task: 'fail' }, { task: 'no JSON', profile: 'counter' }])
    failed.push((await client.run({ ...request, user_id: user })).task_id)
  await until(
    'the read model has all',
    async () => (await client.query('failures', { user_id: user })).tasks === failed.length,
  )
}, 60_000)
afterAll(() => gateway.stop())

const admin = (over: Partial<Parameters<typeof person>[0]> = {}): Promise<Person> =>
  person({ url: gateway.info.url, token: scene.tokens.admin, ...over })

it('usage has the cost of each model, and a cost that nobody knows is unknown, never 0', async () => {
  await using ann = await admin()
  const { page } = ann
  await page.goto(`/console/system/usage?user=${user}`)
  await page.getByRole('img', { name: /31 days .* tokens\. The table has all numbers/ }).waitFor()
  const plot = await page.locator('.plot .bars').boundingBox()
  const today = await page.locator('.plot .height').last().boundingBox()
  const bottomOf = (box: typeof plot): number => (box?.y ?? 0) + (box?.height ?? 0)
  expect(Math.abs(bottomOf(today) - bottomOf(plot))).toBeLessThan(3)
  expect(today?.height).toBeGreaterThan(50)
  await page.getByRole('button', { name: 'Model', exact: true }).click()
  const priced = page.getByRole('row', { name: /^gpt-5-mini/ })
  expect(await priced.innerText()).toMatch(/\$0\.0/)
  const unpriced = page.getByRole('row', { name: /^fake-model/ })
  expect(await unpriced.innerText()).toContain('unknown')
  expect(await unpriced.innerText()).not.toContain('$')
  expect(await page.getByText('The cost is not known for').innerText()).toContain('fake-model')
  expect(await page.locator('.totals').innerText()).toContain('≥ $')
  await page.getByText('The numbers of the days').click()
  await page.getByRole('row', { name: /^\d{4}-\d\d-\d\d ≥ \$0\.0/ }).waitFor()
  await page.getByRole('button', { name: 'Cost', exact: true }).click()
  await page.getByRole('img', { name: /The most is on .*: ≥ \$0/ }).waitFor()
  await page.getByRole('button', { name: '7 days' }).click()
  await page.getByRole('img', { name: /^7 days / }).waitFor()
  const address = new URL(page.url())
  expect(Object.fromEntries(address.searchParams)).toEqual({ user, by: 'model', show: 'cost', since: '7d' })
  await priced.getByRole('link', { name: 'gpt-5-mini' }).click()
  await page.getByRole('row', { name: /wait figures_priced/ }).waitFor()
  expect(await page.getByRole('row', { name: /figures_unpriced/ }).count()).toBe(0)
  expect(ann.faults).toEqual([])
})

it('failures are in two groups, and each leads to its tasks', async () => {
  await using ann = await admin()
  const { page } = ann
  await page.goto(`/console/system/failures?user=${user}`)
  const groups = page.getByRole('listitem').filter({ has: page.getByText(/Show (the task|these tasks)/) })
  await page.getByText('3 tasks failed in 2 ways.').waitFor()
  expect(await groups.count()).toBe(2)
  await page.getByRole('button', { name: '24 hours' }).click()
  await page.waitForURL(/since=24h/)
  await page.getByText('3 tasks failed in 2 ways.').waitFor()
  await groups.first().getByText('The newest message').click()
  await groups.first().getByText('no such model').first().waitFor()
  await groups
    .first()
    .getByRole('link', { name: failed[1] ?? '' })
    .waitFor()
  await groups.first().getByRole('link', { name: 'Show these tasks' }).click()
  await page.getByText('2 tasks', { exact: true }).waitFor()
  const tasks = page.getByRole('row', { name: /fail/ })
  await tasks.nth(1).waitFor()
  expect(await tasks.count()).toBe(2)
  await page.goBack()
  await groups.nth(1).getByText('The newest message').click()
  await groups
    .nth(1)
    .getByRole('link', { name: failed[2] ?? '' })
    .click()
  await page.getByRole('tree').waitFor()
  expect(ann.faults).toEqual([])
})

it('somebody else sees neither the usage nor the failures of the user', async () => {
  await using bob = await admin({ token: scene.tokens.bob })
  await bob.page.goto(`/console/system/failures?user=${user}`)
  await bob.page.getByRole('alert').waitFor()
  expect(await bob.page.getByRole('listitem').count()).toBe(0)
  await bob.page.goto('/console/system/failures?since=9999d')
  await bob.page.getByText(/No task failed|failed in/).waitFor()
  for (const id of failed) expect(await bob.page.content()).not.toContain(id)
})

it.each([
  ['light', 1_280],
  ['dark', 1_280],
  ['light', 380],
] as const)('has no findings of axe in the theme %s, %i pixels wide', async (theme, width) => {
  await using ann = await admin({ theme, width })
  for (const [path, text] of [
    [`/console/system/usage?user=${user}&by=model&show=cost`, 'The cost is not known for'],
    [`/console/system/failures?user=${user}`, '3 tasks failed'],
    ['/console/system/failures?user=nobody', 'No task failed'],
    ['/console/system/usage?since=soon', 'The filter since takes'],
  ] as const) {
    await ann.page.goto(path)
    await ann.page.getByText(text).first().waitFor()
    expect([path, await ann.axe()]).toEqual([path, []])
    const isWider = await ann.page.evaluate<boolean>(
      'document.documentElement.scrollWidth > document.documentElement.clientWidth',
    )
    expect([path, isWider]).toEqual([path, false])
  }
  expect(ann.faults).toEqual([])
})
