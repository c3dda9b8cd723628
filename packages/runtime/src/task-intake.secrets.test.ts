import { submitRequest } from '@beaver/contracts'
import { silentLogger } from '@beaver/core'
import { protectSecrets } from '@beaver/core/secrets'
import { countingIds, memoryBlobStore, memoryJournal, virtualClock } from '@beaver/testing'
import { findWorkflow } from '@beaver/workflows'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { acceptanceLines } from './accept-task.ts'
import { type IntakePorts, submitTask } from './task-intake.ts'
import { loadTask } from './load-task.ts'
import { workspaceFolders } from './workspace-folders.ts'

const value = 'c4n4ry-of-the-int4ke'

function intake() {
  const workspace = mkdtempSync(join(tmpdir(), 'beaver-intake-'))
  onTestFinished(() => rmSync(workspace, { recursive: true }))
  const ports: IntakePorts = {
    journal: memoryJournal(),
    blobs: memoryBlobStore(),
    clock: virtualClock(),
    ids: countingIds(),
    source: '/beaver/daemons/d',
    tenant: 'local',
    workspaceDefault: workspace,
    folders: workspaceFolders(virtualClock(), { roots: ['/'], owned: false, home: '/nowhere' }),
    skillNames: [],
    profileNames: [],
    modelNames: [],
    findWorkflow,
    workflowNames: [],
    lines: acceptanceLines(virtualClock()),
    logger: silentLogger,
  }
  return { ports, submit: (request: object) => submitTask(submitRequest.parse(request), ports) }
}

it('a request with a secret is recorded with a mark, and is the same request when it is repeated', async ({
  onTestFinished,
}) => {
  onTestFinished(protectSecrets([{ name: 'CANARY', value }]))
  const { ports, submit } = intake()
  const asked = { task: `Use ${value}.`, task_id: 'one', title: `With ${value}` }
  const { task_id: task, session_id: session } = await submit(asked)
  const { state } = await loadTask({ tenant: 'local', session, task } as never, ports)
  expect(state.submitted?.request).toMatchObject({
    text: 'Use [secret:CANARY].',
    title: 'With [secret:CANARY]',
  })
  expect(await submit(asked)).toEqual({ task_id: task, session_id: session })
})

it('a request that was recorded before its secret was known is still the same request', async ({
  onTestFinished,
}) => {
  const { submit } = intake()
  const asked = { task: `Use ${value}.`, task_id: 'one' }
  const first = await submit(asked)
  onTestFinished(protectSecrets([{ name: 'CANARY', value }]))
  expect(await submit(asked)).toEqual(first)
})

it.each(['task_id', 'session_id'])(
  'a %s that is a secret is refused, because it names a log',
  async (name) => {
    const refused = intake().submit({ task: 'x', [name]: 'AKIAIOSFODNN7EXAMPLE' })
    await expect(refused).rejects.toMatchObject({ code: 'invalid_arguments', problems: [{ path: name }] })
  },
)
