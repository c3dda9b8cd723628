// The page of the system in a browser: what it shows of one that works, how it follows, and what it says of
// parts that die. The scene is its own, because its parts are taken away.
import { join } from 'node:path'
import { TokenStore } from '@beaver/http'
import { type Gateway, startGateway, tokensFile } from '@beaver/gateway'
import { loadConfig } from '@beaver/platform'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { consoleFolder, type Person, person } from '../support/browser.ts'
import type { DaemonProcess } from '../support/daemon.ts'
import { say } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { testSystem, type TestSystem } from '../support/system.ts'

let server: TestServer
let system: TestSystem
let daemon: DaemonProcess
let projector: ProjectorProcess
let gateway: Gateway
const tokens = { admin: '', ann: '' }

beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, {
    budgets: [{ of: 'tenant', per: 'day', model_calls: 100 }],
    model: { requests_per_minute_max: 600 },
  })
  system.provider.answerBy(() => say('42'))
  daemon = await system.daemon()
  const { namespace } = system.subjects
  projector = await projectorProcess({ url: server.url, namespace })
  const home = join(system.workspace, '.beaver')
  const store = new TokenStore(tokensFile(home))
  const now = new Date()
  tokens.admin = await store.create('admin', { roles: ['admin'], now })
  tokens.ann = await store.create('ann', { roles: ['read'], userId: 'ann', now })
  const config = loadConfig({ home }, {}, system.workspace)
  gateway = await startGateway(
    { ...config, namespace, gateway: { ...config.gateway, port: 0, requests_per_second_max: 1_000 } },
    { url: server.url, login: {} },
    { consoleFolder },
  )
})
afterAll(async () => {
  await gateway.stop()
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const admin = (over: Partial<Parameters<typeof person>[0]> = {}): Promise<Person> =>
  person({ url: gateway.info.url, token: tokens.admin, ...over })
const shown = async ({ page }: Person): Promise<void> => {
  await page.goto('/console/system')
  await page.getByRole('heading', { name: 'Everything answers.' }).waitFor()
}

it.each(['light', 'dark'] as const)('has no findings of axe in the theme %s', async (theme) => {
  for (const width of [1_280, 380]) {
    await using ann = await admin({ theme, width })
    await shown(ann)
    expect([width, await ann.axe()]).toEqual([width, []])
    // Nothing is wider than the window.
    const wide = await ann.page.evaluate(
      `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('main'))`,
    )
    expect(wide).toBe(0)
    expect(ann.faults).toEqual([])
  }
})

it('is found in the navigation, shows each part, and follows without a reload', async () => {
  await using ann = await admin()
  await ann.page.goto('/console/')
  await ann.page.getByRole('link', { name: 'System', exact: true }).click()
  const { page } = ann
  const card = (region: string, name: string | RegExp) =>
    page.getByRole('region', { name: region }).getByRole('listitem').filter({ hasText: name })
  await card('Daemons', daemon.id).getByText('answers').waitFor()
  await card('Daemons', daemon.id)
    .getByText(/^0 of \d+ taken/)
    .waitFor()
  await card('Endpoints of models', 'model').getByText('600 requests a minute').waitFor()
  await card('Streams', /the journal/)
    .getByText(/message/)
    .waitFor()
  await card('Budgets that tasks share', /tenant/)
    .getByText('0 of 100')
    .waitFor()
  const { task_id } = await system.client.submit({ task: 'go' })
  await system.ended(task_id)
  await card('Budgets that tasks share', /tenant/)
    .getByText('1 of 100')
    .waitFor()
  await page.getByText(/^[\d.]+ a minute$/).waitFor()
  await page.getByRole('region', { name: 'Tasks' }).getByRole('link', { name: 'completed' }).click()
  await page
    .getByRole('row', { name: /completed/ })
    .last()
    .waitFor()
  expect(page.url()).toContain('status=completed')
  expect(ann.faults).toEqual([])
})

it('a person with a user is told that it is about all', async () => {
  await using ann = await admin({ token: tokens.ann })
  await ann.page.goto('/console/system')
  await ann.page.getByText('Your login sees the tasks of one user.').waitFor()
  expect(await ann.page.getByText(daemon.id).count()).toBe(0)
  expect(ann.faults).toEqual([])
})

it('says of a projector and a daemon that die what is wrong and what to do', async () => {
  await using ann = await admin()
  await shown(ann)
  const { page } = ann
  await projector[Symbol.asyncDispose]()
  await page.getByText(/The projector does not answer/).waitFor()
  await page.getByText('Only the projector knows the tasks').waitFor()
  daemon.kill('SIGKILL')
  await page.getByText('No daemon answers, so no task goes on.').waitFor()
  await page
    .getByRole('region', { name: 'Daemons' })
    .getByRole('listitem')
    .filter({ hasText: daemon.id })
    .getByText('went away')
    .waitFor()
  await page.getByRole('heading', { name: /things to look at/ }).waitFor()
  expect(await ann.axe()).toEqual([])
  expect(ann.faults).toEqual([])
})
