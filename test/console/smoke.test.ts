// The console in a browser: signing in by the link, looking at tasks, watching one, and deciding. One scenario
// for each page; the other files of this folder have the rest.
import { TokenStore } from '@beaver/http'
import { type Gateway, tokensFile } from '@beaver/gateway'
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

const admin = (over: Partial<Parameters<typeof person>[0]> = {}): Promise<Person> =>
  person({ url: gateway.info.url, token: scene.tokens.admin, ...over })

it('the link of "beaver console" signs in once, and a second use says why not', async () => {
  const { code } = await new TokenStore(tokensFile(scene.home)).createCode({
    roles: ['read'],
    now: new Date(),
  })
  await using ann = await person({ url: gateway.info.url })
  await ann.page.goto(`/console/#login=${code}`)
  await ann.page.getByRole('link', { name: 'Tasks' }).waitFor()
  expect(ann.page.url()).not.toContain(code)
  await using bob = await person({ url: gateway.info.url })
  await bob.page.goto(`/console/#login=${code}`)
  expect(await bob.page.getByRole('alert').innerText()).toContain('code')
  expect([ann.faults, bob.faults]).toEqual([[], []])
})

it('shows a task from its start to its end, without a reload', async () => {
  await using ann = await admin()
  await ann.page.goto('/console/')
  const { task_id } = await scene.system.client.submit({ task: 'wait console', title: 'Watched' })
  await ann.page.goto(`/console/tasks/${task_id}`)
  await ann.page.getByRole('treeitem', { name: /Root agent.*running/ }).waitFor()
  scene.answer('console', say('**Done** <img src=x onerror=alert(1)>'))
  await ann.page.getByRole('treeitem', { name: /Root agent.*completed/ }).waitFor()
  expect(await ann.page.locator('.markdown strong').innerText()).toBe('Done')
  expect(await ann.page.locator('.markdown img').count()).toBe(0)
  await ann.page.getByRole('tab', { name: 'Events' }).click()
  await ann.page.getByRole('row', { name: /was submitted/ }).click()
  await ann.page.getByRole('heading', { name: 'Event 1' }).waitFor()
  expect(ann.page.url()).toContain('event=1')
  expect(ann.faults).toEqual([])
})

it.each(['light', 'dark'] as const)('has no findings of axe in the theme %s', async (theme) => {
  await using ann = await admin({ theme })
  for (const path of ['/console/', '/console/sessions']) {
    await ann.page.goto(path)
    await ann.page.getByRole('grid').waitFor()
    expect(await ann.axe()).toEqual([])
  }
})
