// Starting a task in the console, and looking at what its agents have: skills, tools, workflows.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Gateway } from '@beaver/gateway'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { consoleFolder, type Person, person } from '../support/browser.ts'
import { keptScene, type ProtocolScene, protocolScene } from '../support/protocol-scene.ts'

let scene: ProtocolScene
let gateway: Gateway
beforeAll(async () => {
  scene = await keptScene()
  gateway = await scene.start({}, { consoleFolder })
})
afterAll(() => gateway.stop())

const somebody = (over: Partial<Parameters<typeof person>[0]> = {}): Promise<Person> =>
  person({ url: gateway.info.url, token: scene.tokens.admin, ...over })

const start = { name: 'Start', exact: true }

/** How many tasks have this title, when the read model has all that were submitted so far. */
async function countOf(title: string): Promise<number> {
  const { task_id } = await scene.system.client.submit({ task: 'look', title })
  let found: readonly { task_id: string }[] = []
  await until('the read model has the newest task', async () => {
    const answer = await fetch(`${gateway.info.url}/api/v1/tasks?text=${encodeURIComponent(title)}`, {
      headers: { authorization: `Bearer ${scene.tokens.admin}` },
    })
    found = ((await answer.json()) as { tasks: { task_id: string }[] }).tasks
    return found.some((task) => task.task_id === task_id)
  })
  return found.length - 1
}

it('starts a workflow: what is wrong is said at its field, and its graph is drawn before it runs', async () => {
  await using ann = await somebody()
  const { page } = ann
  await page.goto('/console/start')
  await page.getByLabel('Who works on it').selectOption('workflow:two')
  await page.getByLabel('text', { exact: true }).fill('The beavers built a dam.')
  await page.getByRole('button', start).click()
  const tone = page.getByLabel('tone')
  await page.getByText('This field needs a value.').waitFor()
  expect(await tone.getAttribute('aria-invalid')).toBe('true')
  expect(await page.locator('textarea:focus').getAttribute('id')).toBe('arguments tone')
  await tone.fill('warm')
  await page.getByRole('button', { name: 'Draw its graph' }).click()
  const plan = page.getByRole('region', { name: 'Plan' })
  await plan.getByRole('button', { name: /summary/ }).click()
  await plan.getByText('Sum up: {{ inputs.text }}').waitFor()
  expect(page.url()).toContain('/console/start')
  await page.getByRole('button', start).click()
  await page.getByRole('heading', { name: 'Start a task' }).waitFor({ state: 'detached' })
  await page.getByRole('treeitem', { name: /summary.*completed/ }).waitFor()
  expect(page.url()).toMatch(/\/console\/tasks\/key_/)
  expect(ann.faults).toEqual([])
})

it('says at its field what the gateway refuses, also if the field was closed', async () => {
  await using ann = await somebody()
  const { page } = ann
  await page.goto('/console/start?workflow=GraphWorkflow')
  await page.getByLabel('task', { exact: true }).fill('Compare')
  const agents = page.getByLabel('agents', { exact: true })
  await page.getByRole('button', { name: 'Begin with an example' }).first().click()
  expect(JSON.parse(await agents.inputValue())).toMatchObject([{ name: 'agent 1' }, { name: 'agent 2' }])
  const edges = page.getByLabel('edges', { exact: true })
  await edges.fill('[["agent 1", "nobody"]]')
  await page.getByLabel('output_agent', { exact: true }).fill('agent 2')
  await page.getByRole('button', start).click()
  await page.getByRole('alert').filter({ hasText: 'nobody' }).waitFor()
  expect(await edges.getAttribute('aria-invalid')).toBe('true')
  await page.goto('/console/start')
  await page.getByLabel('What is to be done').fill('look')
  const more = page.locator('summary', { hasText: 'Title, folder' })
  await more.click()
  await page.getByLabel('Folder', { exact: true }).fill('/no/such/folder')
  await more.click()
  await page.getByRole('button', start).click()
  await page.getByRole('alert').filter({ hasText: 'does not exist' }).waitFor()
  expect(await page.getByLabel('Folder', { exact: true }).getAttribute('aria-invalid')).toBe('true')
  expect(ann.faults).toEqual([])
})

it('starts one task for a double click, and for a second try after a lost answer', async () => {
  await using ann = await somebody()
  const { page } = ann
  const fill = async (title: string): Promise<void> => {
    await page.goto('/console/start')
    await page.getByLabel('What is to be done').fill('look')
    await page.locator('summary', { hasText: 'Title, folder' }).click()
    await page.getByLabel('Title').fill(title)
  }
  await fill('Clicked twice')
  await page.getByRole('button', start).dblclick()
  await page
    .getByRole('treeitem', { name: /completed/ })
    .first()
    .waitFor()
  await fill('Answer lost')
  await page.route(
    '**/api/v1/tasks',
    async (route) => {
      await route.fetch()
      await route.abort()
    },
    { times: 1 },
  )
  await page.getByRole('button', start).click()
  await page.getByText('the same form starts one task').waitFor()
  await page.getByRole('button', start).click()
  await page
    .getByRole('treeitem', { name: /completed/ })
    .first()
    .waitFor()
  expect([await countOf('Clicked twice'), await countOf('Answer lost')]).toEqual([1, 1])
  expect(ann.faults).toEqual([])
})

it('starts a task again with the same input', async () => {
  const title = 'Started before'
  const { task_id } = await scene.system.client.submit({ task: 'look', title, profile: 'clerk' })
  await scene.system.ended(task_id)
  await using ann = await somebody()
  const { page } = ann
  await page.goto(`/console/tasks/${task_id}`)
  await page.getByRole('link', { name: 'Start again' }).click()
  expect(await page.getByLabel('What is to be done').inputValue()).toBe('look')
  expect(await page.getByLabel('Title').inputValue()).toBe(title)
  await page.getByLabel('What is to be done').fill('pieces')
  await page.getByRole('button', start).click()
  await page.getByText('Word by word.').waitFor()
  expect(await page.getByLabel('Profile').count()).toBe(0)
  expect(ann.faults).toEqual([])
})

it('an agent is shown an image that a person chooses', async () => {
  await using ann = await somebody()
  const { page } = ann
  await page.goto('/console/start')
  await page.getByLabel('What is to be done').fill('look')
  await page.locator('summary', { hasText: 'images' }).click()
  const choose = page.getByLabel('Images of this machine')
  await choose.setInputFiles({ name: 'no.png', mimeType: 'image/png', buffer: Buffer.from('no image') })
  await page.getByRole('button', start).click()
  await page.getByRole('alert').waitFor()
  expect(await choose.getAttribute('aria-invalid')).toBe('true')
  await page.getByRole('button', { name: 'Leave out no.png' }).click()
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  await choose.setInputFiles({
    name: 'dot.png',
    mimeType: 'image/png',
    buffer: Buffer.from(pixel, 'base64'),
  })
  await page.getByText('dot.png').waitFor()
  await page.getByRole('button', start).click()
  await page.getByRole('treeitem').first().waitFor()
  const taskId = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1) ?? '')
  const submitted = (await scene.system.ended(taskId))[0]
  expect(submitted?.data).toMatchObject({ request: { images: [{ name: 'dot.png' }] } })
  expect(ann.faults).toEqual([])
})

it('a reader has no way to start a task', async () => {
  await using reader = await somebody({ token: scene.tokens.reader })
  const { page } = reader
  await page.goto('/console/library?kind=profile&name=clerk')
  await page.getByRole('link', { name: 'Its tasks' }).waitFor()
  expect(await page.getByRole('link', { name: /Start/ }).count()).toBe(0)
  await page.goto('/console/start')
  await page.getByText('Your token may not start tasks.').waitFor()
  expect(await page.getByRole('button', start).count()).toBe(0)
  expect(reader.faults).toEqual([])
})

/** A skill may come from a stranger. */
const hostile = '<img src=x onerror=alert(1)> [a link](javascript:alert(1)) ![p](https://evil.test/a.png)'
const skill = (name: string, more: string): string =>
  `---\nname: ${name}\n${more}\n---\n# Read it\n\nThen **write**.\n\n${hostile}\n`

it('shows what is loaded: a finding, the text of a skill, the graph of a workflow', async () => {
  await using own = await protocolScene({
    config: { skills: ['skills'] },
    async prepare(workspace) {
      for (const [name, more] of [
        ['report', `description: "Writes a report. <img src=x onerror=alert(1)>"\nallowed-tools: read_file`],
        ['broken', 'license: none'],
      ] as const) {
        await mkdir(join(workspace, 'skills', name), { recursive: true })
        await writeFile(join(workspace, 'skills', name, 'SKILL.md'), skill(name, more))
      }
    },
  })
  const ofOwn = await own.start({}, { consoleFolder })
  await using ann = await person({ url: ofOwn.info.url, token: own.tokens.reader })
  const { page } = ann
  await page.goto('/console/library')
  await page.getByText('Not used: Its front matter has no description').waitFor()
  await page.getByText('skills/broken/SKILL.md').waitFor()
  await page
    .getByRole('row', { name: /report.*Writes a report/ })
    .first()
    .click()
  await page.locator('.markdown strong', { hasText: 'write' }).waitFor()
  expect(page.url()).toContain('name=report')
  expect(await page.locator('main :is(img, script, iframe, a[href^=javascript])').count()).toBe(0)
  await page.getByRole('button', { name: 'A finding' }).click()
  await page.getByText('skills/broken/SKILL.md').waitFor()
  await page.getByRole('button', { name: 'Workflows' }).click()
  await page.getByRole('row', { name: /workflow:two/ }).click()
  await page
    .getByRole('region', { name: 'Plan' })
    .getByRole('button', { name: /summary/ })
    .waitFor()
  await page.goto('/console/library?kind=workflow&name=GraphWorkflow')
  await page.getByText('Its graph depends on its arguments.').waitFor()
  await page.getByRole('button', { name: 'MCP servers' }).click()
  await page.getByText('The daemon has loaded no MCP servers.').waitFor()
  await page.goto('/console/library?kind=tool&name=nothing')
  await page.getByText('nothing here that is named nothing').waitFor()
  expect(ann.faults).toEqual([])
  await ofOwn.stop()
})

it('adds a workflow to a profile, for an admin alone', async () => {
  await using own = await protocolScene({})
  const ofOwn = await own.start({}, { consoleFolder })
  const look = async (token: string): Promise<Person> => {
    const somebodyElse = await person({ url: ofOwn.info.url, token })
    await somebodyElse.page.goto('/console/library?kind=profile&name=counter')
    await somebodyElse.page.getByRole('region', { name: 'Facts' }).waitFor()
    return somebodyElse
  }
  await using reader = await look(own.tokens.reader)
  expect(await reader.page.getByLabel('Add a workflow').count()).toBe(0)
  await using ann = await look(own.tokens.admin)
  await ann.page.getByLabel('Add a workflow').selectOption('workflow:two')
  await ann.page.getByRole('button', { name: 'Add', exact: true }).click()
  await ann.page.getByText('The next run can call workflow:two.').waitFor()
  expect(await readFile(join(own.system.workspace, 'counter.json'), 'utf8')).toContain('workflow:two')
  await ann.page.getByRole('option', { name: 'workflow:two' }).waitFor({ state: 'detached' })
  expect([ann.faults, reader.faults]).toEqual([[], []])
  await ofOwn.stop()
})

it.each([
  ['light', 1_280],
  ['dark', 380],
] as const)('has no findings of axe in the theme %s, and fits into %i pixels', async (theme, width) => {
  await using ann = await somebody({ theme, width })
  const { page } = ann
  const looksRight = async (what: string): Promise<void> => {
    const overflow = await page
      .locator('html, main, .page, .details')
      .evaluateAll((all) =>
        (all as unknown as { scrollWidth: number; clientWidth: number; className: string }[])
          .filter((each) => each.scrollWidth > each.clientWidth)
          .map((each) => each.className),
      )
    expect([what, await ann.axe(), overflow]).toEqual([what, [], []])
  }
  await page.goto('/console/start?workflow=MixtureOfAgents')
  await page.getByRole('button', start).click()
  await page.getByText('This field needs a value.').first().waitFor()
  await looksRight('wrong fields')
  await page.goto('/console/start')
  await page.locator('summary', { hasText: 'Title, folder' }).click()
  await looksRight('an empty form')
  for (const [address, shows] of [
    ['kind=workflow&name=MixtureOfAgents', 'Plan'],
    ['kind=tool&name=write_file', 'Schema'],
    ['kind=profile&name=counter', 'Facts'],
    ['kind=skill&name=folder-report', 'Text'],
  ] as const) {
    await page.goto(`/console/library?${address}`)
    await page.getByRole('region', { name: shows }).waitFor()
    await looksRight(address)
  }
  expect(ann.faults).toEqual([])
})
