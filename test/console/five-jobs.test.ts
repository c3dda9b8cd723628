// Jobs of somebody who is new here, with what such a person stumbled over: why a part of a team failed, that a
// retry kept the rest, and what a list says of tasks that are not in it.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Gateway } from '@beaver/gateway'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { consoleFolder, type Person, person } from '../support/browser.ts'
import { say, use } from '../support/fake-provider.ts'
import { protocolScene, type ProtocolScene } from '../support/protocol-scene.ts'

/** Two agents read a file each; a third one has what they said. */
const shops = {
  description: 'Reports on two shops.',
  interfaceInputs: {},
  interfaceOutputs: { report: { dataFlowType: 'STRING', value: '{{ nodes.report.output }}' } },
  nodes: [
    ...['lisbon', 'faro'].map((id) => ({
      ...{ id, kind: 'agent', instruction: `read ${id}.md`, allowedToolNames: ['read_file'] },
      requiredEvidence: [{ kind: 'tool_succeeded', tool: 'read_file' }],
    })),
    { id: 'report', kind: 'agent', instruction: 'sum: {{ nodes.lisbon.output }} {{ nodes.faro.output }}' },
  ],
}

let scene: ProtocolScene
let gateway: Gateway
beforeAll(async () => {
  scene = await protocolScene({
    async prepare(workspace) {
      await writeFile(join(workspace, 'workflows', 'shops.json'), JSON.stringify(shops))
      await writeFile(join(workspace, 'lisbon.md'), '87 orders')
    },
    answer({ text, results }) {
      const [, path] = /^read (\w+\.md)$/m.exec(text) ?? []
      return path === undefined
        ? undefined
        : results.length === 0
          ? use(['read_file', { path }])
          : say('Read.')
    },
  })
  gateway = await scene.start({}, { consoleFolder })
})
afterAll(async () => {
  await gateway.stop()
  await scene[Symbol.asyncDispose]()
})

const admin = (over: Partial<Parameters<typeof person>[0]> = {}): Promise<Person> =>
  person({ url: gateway.info.url, token: scene.tokens.admin, ...over })

it('says why a part failed without a click, and shows what its retry kept', async () => {
  const { task_id } = await scene.system.client.submit({
    workflow: { name: 'workflow:shops', arguments: {} },
    title: 'Shops',
  })
  await scene.system.ended(task_id)
  await using ann = await admin()
  const { page } = ann
  // The list of failed tasks does not have it, and says where it is.
  await page.goto('/console/?status=failed')
  await page.getByRole('link', { name: 'Show the incomplete tasks' }).click()
  await page.getByRole('row', { name: /Shops/ }).click()

  const why = page.locator('.card.failed')
  await why.getByText('There is nothing at "faro.md"', { exact: false }).waitFor()
  await why.getByRole('button', { name: 'The node faro' }).click()
  await page.getByRole('treeitem', { name: /faro/, selected: true }).waitFor()
  await why.getByText('There is nothing at "faro.md"', { exact: false }).waitFor()

  await writeFile(join(scene.system.workspace, 'faro.md'), '61 orders')
  await page.getByRole('button', { name: 'Retry' }).click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.locator('dd').allInnerTexts()).toEqual(['lisbon', 'faro, report, (outputs)'])
  await dialog.getByRole('button', { name: 'Retry' }).click()
  await page.getByText('kept 1 of 4 nodes').waitFor()
  await page.getByRole('treeitem', { name: /lisbon.*kept, not run again/ }).waitFor()
  await page.getByRole('treeitem', { name: /faro.*completed/ }).waitFor()
  expect(await page.getByRole('treeitem', { name: /kept, not run again/ }).count()).toBe(1)
  await page.getByRole('tab', { name: 'Graph' }).click()
  await page.getByRole('button', { name: /^lisbon kept/ }).waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect([colorScheme, await ann.axe()]).toEqual([colorScheme, []])
  }
  await page.getByRole('link', { name: 'Retry of an earlier task' }).click()
  await page.getByText('Why it is incomplete').waitFor()
  expect(ann.faults).toEqual([])
})

it('a list shows the chosen state, the cost and its filters in every window', async () => {
  const { task_id } = await scene.system.client.submit({ task: 'look', title: 'Looked' })
  await scene.system.ended(task_id)
  await using ann = await admin({ width: 380 })
  const { page } = ann
  await page.goto('/console/?status=completed&tokens=1')
  await page.getByRole('row', { name: /Looked/ }).waitFor()
  await page.getByRole('button', { name: 'Uses at least: 1 token' }).waitFor()
  const cost = page
    .getByRole('row', { name: /Looked/ })
    .locator('[role=gridcell]')
    .nth(5)
  expect(await cost.isVisible()).toBe(true)
  // The title of a column ends where its cells end, also beside the bar of a list that is too long.
  await page.setViewportSize({ width: 1_280, height: 180 })
  const right = async (locator: ReturnType<typeof page.getByRole>): Promise<number> => {
    const box = await locator.boundingBox()
    return (box?.x ?? Number.NaN) + (box?.width ?? 0)
  }
  expect(await right(page.getByRole('columnheader', { name: 'Cost' }))).toBeCloseTo(await right(cost), 0)
  await page.setViewportSize({ width: 1_280, height: 800 })
  // The word of the chosen state can be read while the pointer is on it.
  const chosen = page.getByRole('button', { name: 'Completed', pressed: true })
  await chosen.hover()
  expect(await ann.axe()).toEqual([])
  // New tasks that were counted for one filter are not new for another one.
  await page.getByRole('button', { name: 'All', exact: true }).click()
  await page.getByRole('row', { name: /incomplete.*Shops/ }).waitFor()
  await scene.system.client.submit({ task: 'look', title: 'Came later' })
  await page.getByRole('button', { name: 'One new task. Show' }).waitFor()
  await page.getByRole('button', { name: 'Failed', exact: true }).click()
  await page.getByText('No task fits these filters.').waitFor()
  expect(await page.getByRole('button', { name: /new task/ }).count()).toBe(0)
  expect(ann.faults).toEqual([])
})
