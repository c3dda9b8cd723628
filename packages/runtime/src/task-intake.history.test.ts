import { submitRequest } from '@beaver/contracts'
import { silentLogger } from '@beaver/core'
import { countingIds, memoryBlobStore, memoryJournal, virtualClock } from '@beaver/testing'
import { findWorkflow } from '@beaver/workflows'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { loadTask } from './load-task.ts'
import { acceptanceLines } from './accept-task.ts'
import { type IntakePorts, submitTask } from './task-intake.ts'
import { workspaceFolders } from './workspace-folders.ts'

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

it('a task may go on from an earlier task of its session', async () => {
  const { ports, submit } = intake()
  await submit({ task: 'one', task_id: 'one', session_id: 's' })
  const two = { task: 'two', task_id: 'two', session_id: 's', history_until: 'one' }
  await submit(two)
  const { state } = await loadTask({ tenant: 'local', session: 's', task: 'two' } as never, ports)
  expect(state.submitted?.request.history_until).toBe('one')
  expect(await submit(two)).toEqual({ task_id: 'two', session_id: 's' })
  await expect(submit({ ...two, history_until: undefined })).rejects.toMatchObject({ code: 'conflict' })
})

it.each([
  ['that is in another session', { session_id: 'other', history_until: 'one' }],
  ['in no session', { history_until: 'one' }],
  ['that is not there', { session_id: 's', history_until: 'none' }],
  ['that is itself', { task_id: 'two', session_id: 's', history_until: 'two' }],
])('a task may not go on from one %s', async (_, over) => {
  const { submit } = intake()
  await submit({ task: 'one', task_id: 'one', session_id: 's' })
  await expect(submit({ task: 'two', ...over })).rejects.toMatchObject({
    code: 'invalid_arguments',
    problems: [{ path: 'history_until' }],
  })
})

it('has its history and its instructions in its journal; without them it has none', async () => {
  const { ports, submit } = intake()
  const asked = async (request: object): Promise<unknown> => {
    const { task_id: task, session_id: session } = await submit(request)
    return (await loadTask({ tenant: 'local', session, task } as never, ports)).state.submitted?.request
  }
  const given = { instructions: 'Be brief.', history: [{ role: 'user', content: 'zero' }] }
  expect(await asked({ task: 'one', ...given })).toMatchObject(given)
  expect(Object.keys((await asked({ task: 'one', history: [] })) as object).toSorted()).toEqual([
    'skill',
    'source',
    'text',
    'workspace',
  ])
})
