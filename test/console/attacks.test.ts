// What the console does with texts of strangers, and without its gateway.
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Gateway } from '@beaver/gateway'
import { consoleFolder, person } from '../support/browser.ts'
import { refuse, say } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'

let scene: ProtocolScene
let gateway: Gateway
beforeAll(async () => {
  scene = await keptScene()
  gateway = await scene.start({}, { consoleFolder })
})
afterAll(() => gateway.stop())

/** Each would run, load something or lead away if the page took it for more than text. */
const hostile = [
  '<script>document.title = "taken"</script>',
  '<img src=https://evil.test/a.png onerror="document.title=\'taken\'">',
  '![a picture](https://evil.test/b.png)',
  '[a link](javascript:document.title="taken")',
  '[data](data:text/html,<script>top.document.title="taken"</script>)',
  '<a href="javascript:alert(1)">html</a>',
  '<iframe src="https://evil.test"></iframe>',
  '<svg onload=alert(1)><use href="https://evil.test/c.svg#x"/></svg>',
  '<style>@import url(https://evil.test/d.css)</style>',
  '<form action="https://evil.test"><input name=a></form>',
  '<https://evil.test/auto>',
  'https://evil.test/bare',
  '\u202Egnp.exe\u202C \u200B\u0000',
  '```html\n<script>alert(1)</script>\n```',
  '| <b>a</b> |\n|---|\n| <img src=x onerror=alert(1)> |',
].join('\n\n')

it('shows texts of strangers as text: nothing of them runs, loads or leads away', async () => {
  const name = `hostile ${hostile.replaceAll(/\s+/g, ' ')}`.slice(0, 190)
  const { task_id } = await scene.system.client.submit({
    task: 'wait hostile',
    title: name,
    session_id: 'hostile <b>session</b>',
    user_id: '<img src=x onerror=alert(1)>',
  })
  scene.answer('hostile', say(hostile))
  await scene.system.ended(task_id)
  const failed = await scene.system.client.submit({ task: 'wait refused', title: 'hostile and failed' })
  scene.answer('refused', refuse(400, `hostile ${hostile}`))
  await scene.system.ended(failed.task_id)
  await using ann = await person({ url: gateway.info.url, token: scene.tokens.admin })
  const { page } = ann
  page.on('dialog', (dialog) => void dialog.dismiss())
  const dialogs: string[] = []
  page.on('dialog', (dialog) => dialogs.push(dialog.message()))
  for (const path of [
    '/console/?text=hostile',
    `/console/tasks/${task_id}`,
    `/console/tasks/${task_id}?view=events&event=1`,
    '/console/sessions',
    `/console/sessions/${encodeURIComponent('hostile <b>session</b>')}`,
    `/console/tasks/${failed.task_id}`,
    '/console/system/failures',
    `/console/system/failures?user=${encodeURIComponent('hostile <img src=x onerror=alert(1)>')}`,
    `/console/memory?user=${encodeURIComponent('hostile <img src=x onerror=alert(1)>')}`,
    `/console/start?skill=${encodeURIComponent('hostile <img src=x onerror=alert(1)>')}`,
    `/console/library?kind=tool&name=${encodeURIComponent('hostile <img src=x onerror=alert(1)>')}`,
  ]) {
    await page.goto(path)
    await page
      .locator('main')
      .getByText(path.includes('/start') ? 'Who works on it' : 'hostile')
      .first()
      .waitFor()
    const links = await page
      .locator('main a')
      .evaluateAll((all) => all.map((each) => String((each as unknown as { protocol: unknown }).protocol)))
    expect([path, links.filter((protocol) => !/^https?:$/.test(protocol))]).toEqual([path, []])
    expect([
      path,
      await page.locator('main :is(img, iframe, script, style, form[action], object)').count(),
    ]).toEqual([path, 0])
  }
  await page.goto(`/console/tasks/${task_id}`)
  await page.locator('.markdown').waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('hostile')
  await page
    .getByRole('option', { name: /Task.*<script>/ })
    .first()
    .waitFor()
  expect(await page.locator('dialog :is(img, iframe, script, style, a, b, svg)').count()).toBe(0)
  await page.keyboard.press('Escape')
  // What turns the direction of a line is shown as what it is.
  expect(await page.locator('.markdown').innerText()).toContain('\\u{202e}gnp.exe')
  expect([await page.title(), dialogs, ann.faults]).toEqual(['Beaver', [], []])
})

it('says that the connection is lost, and goes on by itself with what happened meanwhile', async () => {
  const port = Number(new URL(gateway.info.url).port)
  await using ann = await person({ url: gateway.info.url, token: scene.tokens.admin })
  await ann.page.goto('/console/')
  await ann.page.getByRole('grid').waitFor()
  await gateway.stop()
  await ann.page.getByText('The connection was lost at').waitFor()
  const { task_id } = await scene.system.client.submit({ task: 'pieces', title: 'Meanwhile' })
  await scene.system.ended(task_id)
  gateway = await until('the port is free', () => scene.start({ port }, { consoleFolder }).catch(() => null))
  await ann.page.getByRole('row', { name: /completed.*Meanwhile/ }).waitFor()
  await ann.page.getByText('The connection was lost at').waitFor({ state: 'detached' })
})
