// `beaver quarantine`, `status` and `doctor` beside a journal into which a stranger wrote.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { until } from '@beaver/testing'
import { expect, it, vi } from 'vitest'
import { compileCache } from './support/compile-cache.ts'
import { strangeLog } from './support/garbage.ts'
import { testServer } from './support/nats.ts'
import { projectorProcess } from './support/projector.ts'
import { testSystem } from './support/system.ts'

vi.setConfig({ testTimeout: 240_000 })

const entry = fileURLToPath(new URL('../apps/cli/src/main.ts', import.meta.url))

it('lists the messages, shows one without its control characters, and tells status and doctor', async () => {
  await using server = await testServer({ sync: 'default' })
  await using system = await testSystem(server)
  const { namespace } = system.subjects
  await using _projector = await projectorProcess({ url: server.url, namespace })
  const beaver = (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
    new Promise((resolve) => {
      const env = { PATH: process.env['PATH'] ?? '', ...compileCache, NATS_URL: server.url, BEAVER_NAMESPACE: namespace }
      execFile(process.execPath, [entry, ...args], { cwd: system.workspace, env }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
      )
    })
  expect((await beaver('quarantine')).stdout).toBe('No message is in quarantine.\n')
  const { seq } = (await system.nc.request(system.subjects.accepted(strangeLog()), `first\u001b]52;c;aGk=\u0007second ${'x'.repeat(5_000)}`)).json<{
    seq: number
  }>()
  await until('the projector has seen it', async () => (await system.client.query('status')).quarantined === 1)

  const list = await beaver('quarantine')
  expect(list.stdout).toMatch(/5,0\d\d .*the log of stranger\d+ .*it is not JSON/)
  expect(list.stdout).toContain('1 message in quarantine.')
  const shown = await beaver('quarantine', String(seq))
  expect(shown.stdout).toMatch(/firstsecond xxx/)
  expect(shown.stdout).not.toContain('\u001b')
  expect(shown.stdout.length).toBeLessThan(3_000)
  expect(JSON.parse((await beaver('quarantine', String(seq), '--json')).stdout)).toMatchObject({ sequence: seq, bytes: 5_024 })
  expect(await beaver('quarantine', '99')).toMatchObject({ code: 1, stderr: expect.stringContaining('is not in quarantine') as string })
  expect((await beaver('quarantine', 'x')).code).toBe(2)
  expect((await beaver('status')).stdout).toContain('1 message in quarantine')
  expect((await beaver('status', '--json')).stdout).toContain('Somebody who is no daemon can write to the journal.')
  expect(await system.client.query('audit')).toMatchObject({ intact: false, heads: [] })
})
