// The page of a task in a browser: a graph of thousands of nodes, text while a model writes it, what a task waits
// for, and the way from a figure of the report to the call that it came from.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Gateway } from '@beaver/gateway'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { consoleFolder, type Person, person } from '../support/browser.ts'
import { say, use } from '../support/fake-provider.ts'
import { protocolScene, type ProtocolScene } from '../support/protocol-scene.ts'

/** So many nodes between the first one and the last one. */
const fanned = 2_100

/** A node, many that read it, and an agent that waits for all of them. */
const wide = {
  description: 'Fans out.',
  interfaceInputs: {},
  interfaceOutputs: { sum: { dataFlowType: 'STRING', value: '{{ nodes.sum.output }}' } },
  nodes: [
    { id: 'begin', kind: 'template', template: 'begun' },
    ...Array.from({ length: fanned }, (_, at) => ({
      ...{ id: `part ${at}`, kind: 'template', template: `{{ nodes.begin.output }} ${at}` },
    })),
    { id: 'sum', kind: 'agent', instruction: 'wait for the gate wide' },
  ],
  edges: Array.from({ length: fanned }, (_, at) => [`part ${at}`, 'sum']),
}

/** A piece of a streamed answer. */
const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', model: 'fake-model', choices: [{ index: 0, delta, finish_reason }] })}\n\n`

const counting = [
  use(['echo', { text: 'There are 17 baskets.' }]),
  use(['echo', { text: 'They have 1250 apples.' }]),
  say('The **17** baskets have 1,250 apples.'),
]

/** Rows of equal objects, in the text of a field. */
const shops = JSON.stringify({
  shops: JSON.stringify([1, 2, 3].map((at) => ({ shop: `No. ${at}`, apples: at * 100 }))),
})
const shopping = [use(['echo', { text: shops }]), say(shops)]

let scene: ProtocolScene
let gateway: Gateway
/** What the model that writes slowly sends. */
let pieces: ReadableStreamDefaultController<string>
beforeAll(async () => {
  scene = await protocolScene({
    prepare: (workspace) => writeFile(join(workspace, 'workflows', 'wide.json'), JSON.stringify(wide)),
    answer: ({ text, results }) =>
      text.startsWith('count the apples')
        ? (counting[results.length] ?? null)
        : text === 'ask the shops'
          ? (shopping[results.length] ?? null)
          : text === 'write slowly'
            ? {
                headers: { 'content-type': 'text/event-stream' },
                body: chunk({ content: 'The first part <b>and' }),
                rest: new ReadableStream<string>({ start: (controller) => void (pieces = controller) }),
              }
            : undefined,
  })
  gateway = await scene.start({}, { consoleFolder })
})
afterAll(async () => {
  await gateway.stop()
  await scene[Symbol.asyncDispose]()
})

const admin = (over: Partial<Parameters<typeof person>[0]> = {}): Promise<Person> =>
  person({ url: gateway.info.url, token: scene.tokens.admin, ...over })

/** A task of thousands of events that has ended. */
let wideTask: string

it('shows all nodes of a large team, the graph in groups that open, and what changes', async () => {
  const { task_id } = await scene.system.client.submit({
    workflow: { name: 'workflow:wide', arguments: {} },
    title: 'Wide',
  })
  wideTask = task_id
  await using ann = await admin()
  const { page } = ann
  await page.goto(`/console/tasks/${task_id}?view=graph`)
  const graph = page.getByRole('group', { name: /^Graph of/ })
  await graph.getByRole('button', { name: /^Step 2, 1–200 200 nodes, 200 completed/ }).waitFor()
  // The first node, 11 groups, the agent, which works, and what reads its answer.
  await graph.getByRole('button', { name: /^sum running/ }).waitFor()
  expect(await graph.getByRole('button').count()).toBe(14)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect([colorScheme, await ann.axe()]).toEqual([colorScheme, []])
  }
  // By keyboard: along the edges, over groups, and into one.
  await graph.getByRole('button', { name: /^begin/ }).press('Enter')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  await graph
    .getByRole('button', { name: /^part \d+ completed/, pressed: false })
    .first()
    .waitFor()
  expect(await graph.getByRole('button').count()).toBe(14 + 199)
  await page.keyboard.press('Enter')
  await page.getByRole('complementary').getByText('Depends on').waitFor()
  expect(page.url()).toMatch(/at=node%3A.*part/)
  scene.answer('wide', say('All of it.'))
  await graph.getByRole('button', { name: /^sum completed/ }).waitFor()
  // The tree has them all, and draws those that are in view.
  await page.getByRole('tab', { name: 'Tree' }).click()
  await page.getByRole('treeitem', { name: /^part \d+/, selected: true }).press('End')
  await page.getByRole('treeitem', { name: /^sum/ }).waitFor()
  expect(await page.getByRole('treeitem').count()).toBeLessThan(60)
  expect(ann.faults).toEqual([])
})

it('opens the list of events at the event of a link, and goes on in both directions', async () => {
  await using ann = await admin()
  const { page } = ann
  await page.goto(`/console/tasks/${wideTask}/events/1500`)
  const selected = (place: string) =>
    page.getByRole('row', { name: new RegExp(`^${place} `), selected: true }).waitFor()
  await selected('1,500')
  const list = page.locator('.rows .scroller')
  const places = async (): Promise<number[]> =>
    (await list.locator('[role=gridcell]:first-child').allInnerTexts())
      .map((text) => Number(text.replaceAll(',', '')))
      .toSorted((a, b) => a - b)
  // The list has scrolled to it, and not only read it.
  await until('the row is in the middle', async () => {
    const [row, around] = [
      await page.getByRole('row', { name: /^1,500 /, selected: true }).boundingBox(),
      await list.boundingBox(),
    ]
    if (row === null || around === null) return false
    return Math.abs(row.y + row.height / 2 - around.y - around.height / 2) < around.height / 4
  })
  const up = 'document.querySelector(".rows .scroller").scrollTop = 0'
  await until('events before those that were read are there', async () => {
    await page.evaluate(up)
    return ((await places())[0] ?? Infinity) < 900
  })
  const [first = 0, ...others] = await places()
  expect(others).toEqual(others.map((_, at) => first + at + 1))
  await page.getByRole('button', { name: 'Newest' }).click()
  await page.getByRole('row', { name: /task.*completed/i, selected: true }).waitFor()
  await page.getByRole('button', { name: 'First' }).click()
  await selected('1')
  expect(ann.faults).toEqual([])
})

it('reads each event of a task that works once', async () => {
  await using ann = await admin()
  const { page } = ann
  const asked: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('/timeline')) asked.push(request.url())
  })
  const { task_id } = await scene.system.client.submit({ task: 'wait for the gate once' })
  await page.goto(`/console/tasks/${task_id}?view=events`)
  await page.getByRole('row', { name: /was submitted/ }).waitFor()
  scene.answer('once', say('Done.'))
  const ended = await scene.system.ended(task_id)
  await page.getByRole('row', { name: new RegExp(`^${ended.at(-1)?.taskseq} `) }).waitFor()
  const after = asked.map((url) => Number(new URL(url).searchParams.get('after')))
  expect(after[0]).toBe(0)
  // A notice without a new event, such as after the page has connected, asks behind the last event.
  expect(after.slice(1).every((place) => place > 0)).toBe(true)
  expect(ann.faults).toEqual([])
})

it('shows a text while the model writes it, and no copy of it afterwards', async () => {
  await using ann = await admin()
  const { task_id } = await scene.system.client.submit({ task: 'write slowly', stream: true })
  await ann.page.goto(`/console/tasks/${task_id}`)
  const now = ann.page.getByRole('heading', { name: 'What agents write now' })
  await ann.page.getByRole('treeitem', { name: /Root agent.*thinking/ }).waitFor()
  // What the model wrote before the page heard of it is not shown.
  await until('the text is there', async () => {
    pieces.enqueue(chunk({ content: 'More <b>words</b>. ' }))
    return ann.page.getByText(/More <b>words<\/b>\. More/).isVisible()
  })
  await now.waitFor()
  pieces.enqueue(`${chunk({}, 'stop')}data: [DONE]\n\n`)
  pieces.close()
  await ann.page.locator('.markdown').waitFor()
  await now.waitFor({ state: 'detached' })
  expect(ann.faults).toEqual([])
})

it('a figure of the report leads to the call from whose result it came', async () => {
  const { task_id } = await scene.system.client.submit({
    task: 'count the apples',
    required_evidence: [{ kind: 'numbers_from_tools', tools: ['echo'] }],
  })
  const ended = await scene.system.ended(task_id)
  const results = ended.filter(({ type }) => type === 'tool_result_recorded')
  await using ann = await admin()
  await ann.page.goto(`/console/tasks/${task_id}`)
  await ann.page.locator('.markdown').getByRole('button', { name: '1,250' }).click()
  // The second result has it; the first one has another figure.
  await ann.page.getByRole('heading', { name: `Event ${results[1]?.taskseq}` }).waitFor()
  // The tool wrote it without a comma. It is marked, and there is a way back.
  await ann.page.getByText('1,250 is marked below').waitFor()
  expect(
    await ann.page.evaluate(`[...CSS.highlights.get('figure')].map((range) => range.toString())`),
  ).toEqual(['1250'])
  for (const colorScheme of ['light', 'dark'] as const) {
    await ann.page.emulateMedia({ colorScheme })
    expect([colorScheme, await ann.axe()]).toEqual([colorScheme, []])
  }
  await ann.page.getByRole('button', { name: 'Back to the report' }).click()
  await ann.page.locator('.markdown').waitFor()
  await ann.page.goto(`/console/tasks/${task_id}`)
  await ann.page
    .locator('.evidence')
    .getByRole('link', { name: `event ${results[0]?.taskseq}` })
    .click()
  await ann.page.getByRole('heading', { name: `Event ${results[0]?.taskseq}` }).waitFor()
  await ann.page.getByRole('button', { name: 'Go to the agent' }).click()
  await ann.page.getByRole('heading', { name: 'Calls' }).waitFor()
  expect(ann.faults).toEqual([])
})

it('shows JSON as fields and tables in a result, a call, and an event', async () => {
  const { task_id } = await scene.system.client.submit({ task: 'ask the shops' })
  const ended = await scene.system.ended(task_id)
  const result = ended.find(({ type }) => type === 'tool_result_recorded')
  await using ann = await admin()
  const { page } = ann
  await page.goto(`/console/tasks/${task_id}`)
  const rows = page.getByRole('complementary').getByRole('row')
  await rows.filter({ hasText: 'No. 3' }).getByRole('cell', { name: '300' }).waitFor()
  expect(await ann.axe()).toEqual([])
  await page.getByRole('treeitem', { name: /Root agent/ }).click()
  await page.locator('.calls').getByText('echo').click()
  // The arguments and the result.
  await page.locator('.calls').getByRole('cell', { name: '300' }).nth(1).waitFor()
  await page.goto(`/console/tasks/${task_id}/events/${result?.taskseq}`)
  await rows.filter({ hasText: 'No. 3' }).getByRole('cell', { name: '300' }).waitFor()
  expect(ann.faults).toEqual([])
})

it.each(['light', 'dark'] as const)(
  'a task that waits for a budget says so, and leads to the entry of the inbox (%s)',
  async (theme) => {
    await using ann = await admin({ theme })
    const { task_id } = await scene.system.client.submit({
      ...{ task: 'look', title: `Spent ${theme}`, budget: { model_calls: 1 } },
    })
    const { page } = ann
    await page.goto(`/console/tasks/${task_id}`)
    await page.getByRole('treeitem', { name: /Root agent.*waits for a budget/ }).click()
    await page.getByText('The budget of the task has no place for the next call').waitFor()
    // The filter has what the row calls it.
    const list = await ann.context.newPage()
    await list.goto('/console/')
    const row = list.getByRole('row', { name: new RegExp(`asks you.*Spent ${theme}`) })
    await row.waitFor()
    await list.getByRole('button', { name: 'Asks you' }).click()
    await list.waitForURL(/waiting_for_person/)
    await list.getByText(/^\d+ tasks?$/).waitFor()
    await row.waitFor()
    await list.close()
    expect(await ann.axe()).toEqual([])
    await page.getByRole('link', { name: 'Go to it in the inbox' }).click()
    await page.getByRole('heading', { name: 'A budget has no place' }).waitFor()
    await page.getByRole('row', { name: new RegExp(`Spent ${theme}`), selected: true }).waitFor()
    await page.getByRole('button', { name: 'Give more' }).click()
    await scene.system.ended(task_id)
    expect(ann.faults).toEqual([])
  },
)

it('a task that waits for the one before it in its session leads to it', async () => {
  const first = await scene.system.client.submit({ task: 'wait before', session_id: 'in-order' })
  const second = await scene.system.client.submit({ task: 'look', session_id: 'in-order' })
  await using ann = await admin()
  await ann.page.goto(`/console/tasks/${second.task_id}`)
  await ann.page.getByText('It begins when the task before it in its session has ended.').waitFor()
  await ann.page.getByRole('link', { name: 'Go to that task' }).click()
  await ann.page.getByRole('treeitem', { name: /Root agent/ }).waitFor()
  expect(ann.page.url()).toContain(first.task_id)
  await ann.page.goBack()
  scene.answer('before', say('Done.'))
  await ann.page.getByRole('treeitem', { name: /Root agent.*completed/ }).waitFor()
  expect(await ann.page.getByText('Why it waits').count()).toBe(0)
  expect(ann.faults).toEqual([])
})
