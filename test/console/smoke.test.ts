// The console in a browser: signing in by the link, looking at tasks, watching one, and deciding. One scenario
// for each page; the other files of this folder have the rest.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
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
  await ann.page.getByRole('treeitem', { name: /Root agent.*thinking/ }).waitFor()
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

it('a call is allowed with other arguments, by keyboard, and a person who is late is told', async () => {
  const { task_id } = await scene.system.client.submit({ task: 'write console_edit' })
  await using ann = await admin()
  await using bob = await admin()
  const named = /write_file: console_edit\.txt/
  for (const { page } of [ann, bob]) {
    await page.goto('/console/inbox')
    await page.getByRole('row', { name: named }).click()
    await page.getByRole('heading', { name: /wants to call write_file/ }).waitFor()
  }
  await ann.page.keyboard.press('e')
  await ann.page.getByRole('textbox', { name: 'content' }).fill('what the person "wrote"\nin two lines')
  // Bob is about to deny the call, when Ann allows it.
  await bob.page.keyboard.press('d')
  await ann.page.keyboard.press('Control+Enter')
  await ann.page.getByText('You allowed write_file with the arguments that you wrote.').waitFor()
  await scene.system.ended(task_id)
  await bob.page
    .getByRole('status')
    .filter({ hasText: /allowed write_file at/ })
    .waitFor()
  await ann.page.getByRole('row', { name: named }).waitFor({ state: 'detached' })
  expect(await readFile(join(scene.system.workspace, 'console_edit.txt'), 'utf8')).toBe(
    'what the person "wrote"\nin two lines',
  )
  expect([ann.faults, bob.faults]).toEqual([[], []])
})

it('new tasks are counted and shown when the person wants to see them', async () => {
  await using ann = await admin()
  await ann.page.goto('/console/')
  await ann.page.getByRole('grid').waitFor()
  await scene.system.client.submit({ task: 'pieces', title: 'Came later' })
  await ann.page.getByRole('button', { name: /new tasks?\. Show/ }).click()
  await ann.page.getByRole('row', { name: /Came later/ }).waitFor()
  await ann.page.getByRole('row', { name: /completed.*Came later/ }).waitFor()
  expect(ann.faults).toEqual([])
})

it('a reader sees no button that would be refused', async () => {
  const { task_id } = await scene.system.client.submit({ task: 'write console_read' })
  await using reader = await admin({ token: scene.tokens.reader })
  await reader.page.goto('/console/inbox')
  await reader.page.getByRole('row', { name: /console_read/ }).click()
  await reader.page.getByText('Your token may not decide').waitFor()
  expect(await reader.page.getByRole('button', { name: /Allow|Deny/ }).count()).toBe(0)
  await reader.page.goto(`/console/tasks/${task_id}`)
  await reader.page.getByRole('treeitem').first().waitFor()
  expect(await reader.page.getByRole('button', { name: /Cancel|Steer|Retry/ }).count()).toBe(0)
  expect(reader.faults).toEqual([])
  await scene.system.client.cancel(task_id, 'The test is over.')
})

it.each(['light', 'dark'] as const)('has no findings of axe in the theme %s', async (theme) => {
  await using ann = await admin({ theme })
  const { task_id } = await scene.system.client.submit({ task: 'look' })
  await scene.system.ended(task_id)
  for (const [path, role] of [
    ['/console/', 'grid'],
    ['/console/sessions', 'grid'],
    ['/console/inbox', 'heading'],
    [`/console/tasks/${task_id}`, 'tree'],
    [`/console/tasks/${task_id}?view=timeline`, 'tablist'],
    [`/console/tasks/${task_id}?view=events&event=1`, 'grid'],
  ] as const) {
    await ann.page.goto(path)
    await ann.page.getByRole(role).first().waitFor()
    expect([path, await ann.axe()]).toEqual([path, []])
  }
  expect(ann.faults).toEqual([])
})
