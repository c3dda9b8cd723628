// The console without a mouse: each step of a day's work, and what every page must have: a focus that one sees, no
// findings of axe in both themes, and no page that scrolls to the side on a telephone.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Gateway } from '@beaver/gateway'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { consoleFolder, type Person, person } from '../support/browser.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'

let scene: ProtocolScene
let gateway: Gateway
/** A task with a team, and one of one agent that ended. */
let team: string
let single: string
beforeAll(async () => {
  scene = await keptScene()
  gateway = await scene.start({}, { consoleFolder })
  const agents = ['ada', 'bob', 'cleo'].map((name) => ({ name, instruction: `Say hello as ${name}.` }))
  const { client, ended } = scene.system
  team = (
    await client.submit({
      title: 'Keyboard team',
      workflow: { name: 'SequentialWorkflow', arguments: { task: 'say hello', agents } },
    })
  ).task_id
  single = (await client.submit({ task: 'look', title: 'Keyboard single' })).task_id
  await ended(team)
  await ended(single)
})
afterAll(() => gateway.stop())

const admin = (over: Partial<Parameters<typeof person>[0]> = {}): Promise<Person> =>
  person({ url: gateway.info.url, token: scene.tokens.admin, ...over })

/** The pages, each with a role that is there when it is ready. A new page is one line here. */
const pages: readonly (readonly [path: string, role: Parameters<Page['getByRole']>[0]])[] = [
  ['/', 'grid'],
  ['/?text=nothing+has+these+words', 'link'],
  ['/inbox', 'heading'],
  ['/sessions', 'grid'],
  ['/sessions/<single>', 'list'],
  ['/tasks/<team>', 'tree'],
  ['/tasks/<team>?view=graph', 'tablist'],
  ['/tasks/<team>?view=timeline', 'tablist'],
  ['/tasks/<single>/events/1', 'grid'],
  ['/start', 'combobox'],
  ['/library', 'grid'],
  ['/library?kind=tool&name=write_file', 'region'],
  ['/memory', 'heading'],
  ['/system', 'heading'],
  ['/system/usage', 'table'],
  ['/system/failures', 'heading'],
  ['/no-such-page', 'link'],
]

/** From now on the page notes what gets the focus and does not show it. @returns reads what was noted */
async function watchFocus(page: Page): Promise<() => Promise<{ stops: number; hidden: string[] }>> {
  await page.evaluate(`
    window.focusSeen = { stops: 0, hidden: [] }
    addEventListener('focusin', ({ target }) => {
      const [own, ...drawn] = [target, ...target.querySelectorAll(':scope > rect')].map((each) => getComputedStyle(each))
      const isSeen =
        (own.outlineStyle !== 'none' && Number.parseFloat(own.outlineWidth) > 0) ||
        drawn.some(({ strokeWidth }) => Number.parseFloat(strokeWidth) >= 2)
      window.focusSeen.stops++
      if (!isSeen) window.focusSeen.hidden.push(target.outerHTML.slice(0, 200))
    })`)
  return () => page.evaluate('window.focusSeen')
}

/** By how much the page and its main part are wider than the window. */
const tooWide = (page: Page): Promise<number[]> =>
  page.evaluate(
    `[document.documentElement, document.querySelector('main')].map((each) => each.scrollWidth - each.clientWidth)`,
  )

it('a day of work by keyboard: sign in, find a task, read it, decide with a change, and ask for the keys', async () => {
  const { task_id } = await scene.system.client.submit({
    task: 'write keyboard_edit',
    title: 'Keyboard write',
  })
  await using ann = await person({ url: gateway.info.url })
  const { page } = ann
  const press = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key)
  }
  const type = (text: string): Promise<void> => page.keyboard.type(text)
  const option = (name: RegExp) => page.getByRole('option', { name, selected: true })

  await page.goto('/console/')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await press('Tab')
  await type(scene.tokens.admin)
  await press('Enter')
  await page.getByRole('grid').waitFor()

  // A part of the title finds the task; Enter opens it.
  await press('Control+k')
  await type('keyboard team')
  await option(/Task.*Keyboard team/).waitFor()
  await press('Enter')
  await page.getByRole('tree').waitFor()
  expect(page.url()).toContain(`/console/tasks/${team}`)

  // The tree, and then the graph, whose arrow keys go along the edges.
  await page.getByRole('treeitem').first().focus()
  await press('ArrowDown', 'ArrowDown')
  await page.getByRole('treeitem', { selected: true, name: /ada/ }).waitFor()
  await page.getByRole('tab', { name: 'Graph' }).focus()
  await press('Enter')
  const node = (name: RegExp) => page.getByRole('button', { name, pressed: true })
  await node(/ada/).focus()
  const focused = await watchFocus(page)
  await press('ArrowRight')
  await node(/bob/).waitFor()
  expect(await focused()).toEqual({ stops: 1, hidden: [] })
  await page.goBack()
  await page.getByRole('grid').waitFor()

  // The inbox: the help says its keys, and they do nothing while the help is open.
  await press('g', 'i')
  const row = page.getByRole('row', { name: /keyboard_edit\.txt/ })
  await row.waitFor()
  for (let rows = 0; rows < 20 && (await row.getAttribute('aria-selected')) !== 'true'; rows++)
    await press('j')
  await page.getByRole('heading', { name: /wants to call write_file/ }).waitFor()
  await press('?')
  const help = page.getByRole('dialog', { name: 'Keys' })
  await help.getByText('Allows the call', { exact: true }).waitFor()
  await press('a', 'Escape')
  await help.waitFor({ state: 'detached' })
  expect(await row.count()).toBe(1)

  await press('e')
  await page.getByRole('textbox', { name: 'path' }).waitFor()
  await press('Tab', 'Control+a')
  await type('by keyboard')
  await press('Control+Enter')
  await page.getByText('You allowed write_file with the arguments that you wrote.').waitFor()
  await scene.system.ended(task_id)
  expect(await readFile(join(scene.system.workspace, 'keyboard_edit.txt'), 'utf8')).toBe('by keyboard')
  expect(ann.faults).toEqual([])
})

it.each(pages)('the page %s is for everybody', async (path, role) => {
  await using ann = await admin()
  const { page } = ann
  await page.goto(`/console${path.replace('<team>', team).replace('<single>', single)}`)
  await page.getByRole(role).first().waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect([colorScheme, await ann.axe()]).toEqual([colorScheme, []])
  }
  // Each stop of the key Tab shows that it has the focus.
  const focused = await watchFocus(page)
  for (let stops = 0; stops < 25; stops++) await page.keyboard.press('Tab')
  const { stops, hidden } = await focused()
  expect(hidden).toEqual([])
  expect(stops).toBeGreaterThan(5)
  for (const width of [380, 768, 3_840]) {
    await page.setViewportSize({ width, height: width > 1_280 ? 2_160 : 800 })
    expect([width, ...(await tooWide(page))]).toEqual([width, 0, 0])
    // Also where there is no place for its word.
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
    for (const name of await links.allTextContents()) expect(name.trim()).not.toBe('')
  }
  expect(ann.faults).toEqual([])
})

it.each(['light', 'dark'] as const)(
  'axe finds nothing in what lies over a page in the theme %s',
  async (theme) => {
    await using ann = await admin({ theme, width: 380 })
    const { page } = ann
    await page.goto('/console/')
    await page.getByRole('grid').waitFor()
    for (const [keys, role] of [
      ['?', 'checkbox'],
      ['c', 'button'],
      ['Control+k', 'option'],
    ] as const) {
      await page.keyboard.press(keys)
      await page.getByRole('dialog').getByRole(role).first().waitFor()
      expect([keys, await ann.axe(), ...(await tooWide(page))]).toEqual([keys, [], 0, 0])
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
  },
)

it('the palette leads to what is said in a task, and an error is never "nothing found"', async () => {
  await using ann = await admin()
  const { page } = ann
  await page.goto('/console/sessions')
  await page.getByRole('button', { name: 'Go to, or do' }).click()
  const field = page.getByRole('combobox', { name: 'Go to, or do' })
  await field.fill('There are files')
  await page
    .getByRole('option', { name: /Said.*There are files/ })
    .first()
    .click()
  await page.getByRole('heading', { name: /^Event \d+$/ }).waitFor()
  await page.keyboard.press('Control+k')
  await field.fill(`no-such-${single}`)
  await page.getByText('0 found').waitFor()
  await page.route('**/api/v1/tasks?*', (route) => route.abort())
  await field.fill('keyboard single')
  await page.getByRole('alert').filter({ hasText: 'The tasks could not be read.' }).waitFor()
  expect(await page.getByText(/\d found/).count()).toBe(0)
})

it('an action of the palette acts on what was there when it was opened, and on nothing else', async () => {
  const { client, ended } = scene.system
  const { task_id } = await client.submit({ task: 'write keyboard_first', title: 'Keyboard first' })
  const other = await client.submit({ task: 'write keyboard_second', title: 'Keyboard second' })
  await using ann = await admin()
  const { page } = ann
  await page.goto('/console/inbox')
  await page.getByRole('row', { name: /keyboard_second/ }).waitFor()
  await page.getByRole('row', { name: /keyboard_first/ }).click()
  await page.getByText('keyboard_first.txt', { exact: true }).first().waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('allows the call')
  // A decision is never offered: the person has to go to its line.
  await page.getByRole('option', { name: /Shows all tasks/, selected: true }).waitFor()
  await page.keyboard.press('ArrowUp')
  await page.getByRole('option', { name: /Allows the call/, selected: true }).waitFor()
  // Somebody else denies the call meanwhile.
  const { calls } = await client.query('approvals', { task_id })
  await client.decide(task_id, { callId: calls[0]?.call_id ?? '', approved: false })
  await ended(task_id)
  await page.getByRole('row', { name: /keyboard_first/ }).waitFor({ state: 'detached' })
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect((await client.query('approvals', { task_id: other.task_id })).calls).toHaveLength(1)
  await client.cancel(other.task_id, 'The test is over.')
})

it('a key that is held decides nothing', async () => {
  const { client, ended } = scene.system
  const { task_id } = await client.submit({ task: 'write keyboard_held', title: 'Keyboard held' })
  await using ann = await admin()
  const { page } = ann
  const hold = async (button: string): Promise<void> => {
    await page.getByRole('button', { name: button, exact: true }).focus()
    // Each further press without a release is a repetition.
    for (let repeated = 0; repeated < 5; repeated++) await page.keyboard.down('Enter')
    await page.getByRole('dialog').waitFor()
    for (let repeated = 0; repeated < 5; repeated++) await page.keyboard.down('Enter')
    await page.keyboard.up('Enter')
    await page.getByRole('dialog').waitFor()
  }
  await page.goto('/console/inbox')
  await page.getByRole('row', { name: /keyboard_held/ }).click()
  await page.getByText('keyboard_held.txt', { exact: true }).first().waitFor()
  await hold('Go to, or do')
  await page.keyboard.press('Escape')
  await page.goto(`/console/tasks/${task_id}`)
  await hold('Cancel')
  expect((await client.query('approvals', { task_id })).calls).toMatchObject([{ state: 'waiting' }])
  await page.keyboard.press('Enter')
  await ended(task_id)
  expect(ann.faults).toEqual([])
})

it('each event has an address of its own, which opens it', async () => {
  await using ann = await admin()
  const { page } = ann
  await page.goto(`/console/tasks/${team}?view=events`)
  const link = page.getByRole('grid').getByRole('link', { name: '25', exact: true })
  const address = await link.getAttribute('href')
  for (const path of [address ?? '', `/console/tasks/${team}/events/25`]) {
    await page.goto(path)
    await page.getByRole('heading', { name: 'Event 25' }).waitFor()
    expect(page.url()).toContain('event=25')
  }
  await page.goto(`/console/tasks/${team}/events/none`)
  await page.getByRole('grid').waitFor()
  expect(ann.faults).toEqual([])
})

it('shows a task, a list and an entry as a command, with names of strangers as one word', async () => {
  await using ann = await admin()
  const { page } = ann
  for (const [path, command] of [
    [`/console/tasks/${single}`, `beaver show ${single}`],
    [`/console/tasks/${single}/events/2`, `beaver events ${single} --after 1 --limit 1 --json`],
    [`/console/sessions/${single}`, `beaver session ${single}`],
    ["/console/?text=it's+%24(id)", `beaver tasks --text 'it'\\''s $(id)'`],
  ] as const) {
    await page.goto(path)
    await page.getByRole('button', { name: 'Copy as command' }).waitFor()
    await page.keyboard.press('c')
    await page.getByRole('dialog').getByText(command, { exact: true }).waitFor()
  }
  expect(ann.faults).toEqual([])
})
