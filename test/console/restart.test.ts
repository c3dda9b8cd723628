// Everything that a page needs is stopped and started again, while somebody looks.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { held, until } from '@beaver/testing'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { person } from '../support/browser.ts'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { gatewayProcess } from '../support/gateway.ts'
import { ownServer } from '../support/nats.ts'
import { projectorProcess } from '../support/projector.ts'
import { testSystem } from '../support/system.ts'

it('a page goes on after a restart of NATS, the daemon, the projector and the gateway', async () => {
  await using server = await ownServer()
  const rules = [{ tool: 'write_file', decision: 'ask' }]
  await using system = await testSystem(server, { permissions: { rules } })
  const gate = held<FakeReply>()
  system.provider.answerBy(({ text, results }) => {
    if (text === 'watched') return results.length === 0 ? use(['list_files', { path: '.' }]) : gate.promise
    return results.length === 0 ? use(['write_file', { path: 'a.txt', content: 'x' }]) : say('It is written.')
  })
  await using folder = await ownFolder()
  const home = join(system.workspace, '.beaver')
  const started = {
    daemon: () => system.daemon(),
    projector: () =>
      projectorProcess({ url: server.url, namespace: system.subjects.namespace, home: folder.path }),
    gateway: () =>
      gatewayProcess({
        cwd: folder.path,
        env: {
          NATS_URL: server.url,
          BEAVER_NAMESPACE: system.subjects.namespace,
          BEAVER_HOME: home,
          BEAVER_CONFIG: join(folder.path, 'gateway.json'),
        },
      }),
  }
  const configure = (port: number): Promise<void> =>
    writeFile(
      join(folder.path, 'gateway.json'),
      JSON.stringify({ gateway: { port, requests_per_second_max: 1_000 } }),
    )
  await configure(0)
  let daemon = await started.daemon()
  let projector = await started.projector()
  let gateway = await started.gateway()
  await using running = new AsyncDisposableStack()
  running.defer(() => projector[Symbol.asyncDispose]())
  running.defer(async () => {
    gateway.kill('SIGKILL')
    await gateway.exited
  })
  await configure(Number(new URL(gateway.url).port))
  const { task_id } = await system.client.submit({ task: 'watched' })
  const written = await system.client.submit({ task: 'write' })

  const { code } = await new TokenStore(tokensFile(home)).createCode({ roles: ['admin'], now: new Date() })
  await using ann = await person({ url: gateway.url })
  await ann.page.goto(`/console/#login=${code}`)
  await ann.page.getByRole('grid').waitFor()
  await ann.page.goto(`/console/tasks/${task_id}`)
  const root = (page: Page, state: RegExp) => page.getByRole('treeitem', { name: state }).waitFor()
  await root(ann.page, /Root agent.*thinking/)
  const [events, inbox] = [await ann.context.newPage(), await ann.context.newPage()]
  await events.goto(`/console/tasks/${task_id}?view=events`)
  await events.getByRole('row').nth(1).waitFor()
  await inbox.goto('/console/inbox')
  await inbox.getByRole('heading', { name: /wants to call write_file/ }).waitFor()
  await inbox.keyboard.press('e')
  const draft = 'what the person wrote'
  await inbox.getByRole('textbox', { name: 'content' }).fill(draft)

  // Without the projector alone, a question has no answer until it is back.
  await projector[Symbol.asyncDispose]()
  await ann.page.getByRole('tab', { name: 'Events' }).click()
  await ann.page.getByRole('alert').waitFor()
  projector = await started.projector()
  await ann.page.getByRole('row', { name: /was submitted/ }).waitFor()
  await ann.page.getByRole('tab', { name: 'Tree' }).click()
  await root(ann.page, /Root agent.*thinking/)

  const pages = [ann.page, events, inbox]
  const lost = (page: Page) => page.getByText('The connection was lost at')
  await server.down(async () => {
    gateway.kill('SIGTERM')
    await gateway.exited
    await projector[Symbol.asyncDispose]()
    daemon.kill('SIGTERM')
    await daemon.exited
    for (const page of pages) await lost(page).waitFor()
  })
  daemon = await started.daemon()
  projector = await started.projector()
  // Before the page can hear of anything, the run goes on and completes.
  gate.settle(say('**Done**'))
  const recorded = (await system.ended(task_id)).map(({ taskseq }) => String(taskseq))
  gateway = await started.gateway()
  for (const page of pages) await lost(page).waitFor({ state: 'detached' })

  // What was there is still there, with what the person has typed.
  expect(await inbox.getByRole('textbox', { name: 'content' }).inputValue()).toBe(draft)
  await root(ann.page, /Root agent.*completed/)
  expect(await ann.page.locator('.markdown strong').innerText()).toBe('Done')
  const shown = (): Promise<string[]> =>
    events.locator('.event-row [role=gridcell]:first-child').allInnerTexts()
  await until('the page shows the last event', async () => (await shown()).at(-1) === recorded.at(-1))
  expect(await shown()).toEqual(recorded)

  await inbox.keyboard.press('Control+Enter')
  await inbox.getByText('You allowed write_file with the arguments that you wrote.').waitFor()
  await system.ended(written.task_id)
  expect(await readFile(join(system.workspace, 'a.txt'), 'utf8')).toBe('what the person wrote')
  // The login of before is still good for a new page.
  await inbox.goto('/console/')
  await inbox.getByRole('row', { name: /completed.*write/ }).waitFor()
  expect(ann.faults).toEqual([])
})

async function ownFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'beaver-restart-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
