// `beaver keys` as it is typed, on a journal of two homes.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { compileCache } from './support/compile-cache.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { testSystem, type TestSystem } from './support/system.ts'

const entry = new URL('../apps/cli/src/main.ts', import.meta.url).pathname
let server: TestServer
let system: TestSystem
let other: string
beforeAll(async () => {
  server = await testServer({ sync: 'default' })
  system = await testSystem(server)
  other = await mkdtemp(join(tmpdir(), 'beaver-other-'))
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await rm(other, { recursive: true, force: true })
})

interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

function keys(args: readonly string[], home = join(system.workspace, '.beaver')): Promise<Said> {
  const env = { PATH: process.env['PATH'] ?? '', ...compileCache, NATS_URL: server.url, BEAVER_NAMESPACE: system.subjects.namespace, BEAVER_HOME: home }
  return new Promise((resolve) =>
    execFile(process.execPath, [entry, 'keys', ...args], { cwd: system.workspace, env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    ),
  )
}
const listed = async (): Promise<{ key_id: string; role: string; status: string }[]> =>
  (await keys(['--json'])).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { key_id: string; role: string; status: string })

it('lists the keys of one home without a question, trusts the daemon of another home, and revokes it', async () => {
  await system.daemon()
  expect((await listed()).map(({ role, status }) => [role, status])).toEqual([
    ['operator', 'trusted'],
    ['daemon', 'trusted'],
  ])
  expect((await stat(join(system.workspace, '.beaver', 'keys', 'operator.key'))).mode & 0o777).toBe(0o600)

  await expect(system.daemon({ BEAVER_HOME: other })).rejects.toThrow(/key_untrusted|does not trust the key/)
  const asking = (await listed()).find(({ status }) => status === 'asks')
  expect((await keys(['list'])).out).toContain(`beaver keys trust ${asking?.key_id}`)
  expect(await keys(['trust', asking?.key_id ?? ''], other)).toMatchObject({ code: 3, err: expect.stringContaining('Only the operator') as string })
  expect(await keys(['trust', asking?.key_id.slice(0, 10) ?? ''])).toMatchObject({ code: 0, out: expect.stringContaining('trusted') as string })

  const second = await system.daemon({ BEAVER_HOME: other })
  expect(await keys(['revoke', asking?.key_id ?? '', '--reason', 'sold'])).toMatchObject({ code: 0, out: expect.stringContaining('revoked') as string })
  await second.exited
  expect(second.stderr).toContain('revoked the key')
}, 180_000)
