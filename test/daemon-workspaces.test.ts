// What a client may name as the workspace of a task, at a daemon of a shared NATS server: a folder in the roots, and never a system folder.
import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { say } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { testSystem } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

it('refuses every folder outside the roots by name, and keeps the real folder of one inside', async () => {
  await using system = await testSystem(server)
  const other = await realpath(await mkdtemp(join(tmpdir(), 'beaver-other-')))
  system.provider.answerBy(() => say('done'))
  await system.daemon({ BEAVER_WORKSPACE_ROOTS: system.workspace })
  await mkdir(join(system.workspace, 'inner'))
  await symlink(join(system.workspace, 'inner'), join(system.workspace, 'in'))
  await symlink('/etc', join(system.workspace, 'out'))
  try {
    for (const workspace of [
      '/',
      '/etc',
      '/proc/self',
      '/tmp',
      other,
      join(system.workspace, 'out'),
      join(system.workspace, '.beaver'),
      join(system.workspace, '..'),
    ])
      await expect(system.client.submit({ task: 'x', workspace })).rejects.toMatchObject({
        code: expect.stringMatching(/^workspace_(refused|missing)$/) as string,
      })
    const { task_id } = await system.client.submit({ task: 'x', workspace: join(system.workspace, 'in') })
    const [accepted] = await system.ended(task_id)
    expect(accepted?.data).toMatchObject({ request: { workspace: join(await realpath(system.workspace), 'inner') } })
  } finally {
    await rm(other, { recursive: true })
  }
})
