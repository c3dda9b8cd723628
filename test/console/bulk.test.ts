// Many tasks at once in the console: counting, cancelling and retrying those of a filter.
import type { Gateway } from '@beaver/gateway'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { consoleFolder, type Person, person } from '../support/browser.ts'
import { say } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'

let scene: ProtocolScene
let gateway: Gateway
beforeAll(async () => {
  scene = await keptScene()
  gateway = await scene.start({}, { consoleFolder })
})
afterAll(() => gateway.stop())

const as = (
  name: keyof ProtocolScene['tokens'],
  over: Partial<Parameters<typeof person>[0]> = {},
): Promise<Person> => person({ url: gateway.info.url, token: scene.tokens[name], ...over })

/** Submits tasks of Ann, and waits until the read model has them in this state. */
async function tasks(text: string, many: number, status: 'open' | 'failed'): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < many; at++) {
    const session_id = `${text.replaceAll(' ', '-')}-${at}`
    ids.push((await scene.system.client.submit({ task: text, user_id: 'ann', session_id })).task_id)
  }
  await until(`the read model has ${many} tasks`, async () => {
    const { tasks: known } = await scene.system.client.query('tasks', { task_ids: ids, status, limit: 200 })
    return known.length === many
  })
  return ids
}

it('a person counts the tasks of a filter, cancels them, and those that came later go on', async () => {
  const ids = await tasks('wait webcancel', 3, 'open')
  await using ann = await as('ann')
  await ann.page.goto('/console/?text=webcancel')
  await ann.page.getByRole('button', { name: 'Cancel these …' }).click()
  const dialog = ann.page.getByRole('dialog', { name: 'Cancel these tasks' })
  await dialog.getByText('All 3 tasks that fit are open and will be cancelled.').waitFor()
  expect(await dialog.getByRole('listitem').count()).toBe(3)
  expect(await dialog.locator('dd').allInnerTexts()).toEqual(['webcancel'])
  const [later = ''] = await tasks('wait webcancel', 1, 'open')
  await dialog.getByRole('textbox').fill('Not needed any more.')
  await dialog.getByRole('button', { name: 'Cancel the tasks' }).click()
  await dialog.getByText('3 tasks are asked to stop.').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await ann.page
    .getByRole('row', { name: /cancelled.*webcancel/ })
    .nth(2)
    .waitFor()
  for (const id of ids)
    expect((await scene.system.ended(id)).find(({ type }) => type === 'task_cancel_requested')?.data).toEqual(
      expect.objectContaining({ reason: 'Not needed any more.', user_id: 'ann' }),
    )
  const events = await scene.system.events(later)
  expect(events.filter(({ type }) => type === 'task_cancel_requested')).toEqual([])
  expect(ann.faults).toEqual([])
  scene.answer('webcancel', say('done'))
})

it('a gateway that fails is never "done", and the rest can be done afterwards', async () => {
  const ids = await tasks('wait webfails', 2, 'open')
  await using ann = await as('ann')
  await ann.page.goto('/console/?text=webfails')
  await ann.page.getByRole('button', { name: 'Cancel these …' }).click()
  await ann.page.getByText('All 2 tasks that fit').waitFor()
  await ann.page.route('**/api/v1/tasks/bulk', (route) => route.abort())
  await ann.page.getByRole('button', { name: 'Cancel the tasks' }).click()
  const alert = ann.page.getByRole('dialog').getByRole('alert')
  await alert.waitFor()
  expect(await alert.innerText()).toMatch(
    /^It did not go on: .*0 tasks are asked to stop\. About 2 tasks are left/,
  )
  await ann.page.unroute('**/api/v1/tasks/bulk')
  await ann.page.getByRole('button', { name: 'Go on' }).click()
  await ann.page.getByText('2 tasks are asked to stop.').waitFor()
  for (const id of ids) await scene.system.ended(id)
  expect(ann.faults).toEqual([])
  scene.answer('webfails', say('done'))
})

it('what failed is retried once, and a count that changed is said', async () => {
  const ids = await tasks('fail', 3, 'failed')
  await using ann = await as('ann')
  await ann.page.goto('/console/?session=fail-1&status=failed')
  await ann.page.getByRole('button', { name: 'Retry these …' }).click()
  await ann.page.getByText('The one task that fits has not completed and will be retried.').waitFor()
  expect(await ann.page.getByRole('button', { name: 'Cancel these …' }).count()).toBe(0)
  // Somebody else is faster.
  const { task_id: retry } = await scene.system.client.retry(ids[1] ?? '')
  await until('the read model has the retry', async () => {
    const { tasks: known } = await scene.system.client.query('tasks', { task_ids: [retry] })
    return known.length === 1
  })
  await ann.page.getByRole('button', { name: 'Retry the tasks' }).click()
  await ann.page.getByText('0 tasks are retried. That is 1 task fewer than counted').waitFor()
  expect(ann.faults).toEqual([])
})

it('only who may do it sees the buttons, and only for a filter', async () => {
  await using reader = await as('reader')
  await reader.page.goto('/console/?text=webcancel')
  await reader.page
    .getByText(/\d+ tasks?$/)
    .first()
    .waitFor()
  expect(await reader.page.getByRole('button', { name: /these …/ }).count()).toBe(0)
  await using ann = await as('ann')
  await ann.page.goto('/console/')
  await ann.page
    .getByText(/\d+ tasks?$/)
    .first()
    .waitFor()
  expect(await ann.page.getByRole('button', { name: /these …/ }).count()).toBe(0)
  await ann.page.getByRole('button', { name: 'Failed' }).click()
  await ann.page.getByRole('button', { name: 'Retry these …' }).waitFor()
  expect([reader.faults, ann.faults]).toEqual([[], []])
})

it.each(['light', 'dark'] as const)('has no findings of axe in the theme %s', async (theme) => {
  await using ann = await as('ann', { theme })
  await ann.page.goto('/console/?session=fail-0')
  await ann.page.getByRole('button', { name: 'Retry these …' }).click()
  await ann.page.getByText('The one task that fits has not completed').waitFor()
  expect(await ann.axe()).toEqual([])
  expect(ann.faults).toEqual([])
})
