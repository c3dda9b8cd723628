// `beaver keys` as it is typed, on a journal of two homes.
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type CommandHost, placeIn, type Ran } from '../support/cli.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { keptCommands } from '../support/kept-system.ts'
import { testSystem, type TestSystem } from '../support/system.ts'

let host: CommandHost
let server: TestServer
let system: TestSystem
let other: string
beforeAll(async () => {
  host = await keptCommands()
  server = await testServer()
  system = await testSystem(server)
  other = await mkdtemp(join(tmpdir(), 'beaver-other-'))
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await rm(other, { recursive: true, force: true })
})

const keys = (args: readonly string[], home = join(system.workspace, '.beaver')): Promise<Ran> =>
  host.run(['keys', ...args], placeIn(server, system, { BEAVER_HOME: home }))
const listed = async (): Promise<{ key_id: string; role: string; status: string }[]> =>
  (
    JSON.parse((await keys(['--json'])).out) as {
      keys: { key_id: string; role: string; status: string }[]
    }
  ).keys

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
  expect(await keys(['trust', asking?.key_id ?? ''], other)).toMatchObject({
    exit: 3,
    err: expect.stringContaining('Only the operator') as string,
  })
  expect(await keys(['trust', asking?.key_id.slice(0, 10) ?? ''])).toMatchObject({
    exit: 0,
    out: expect.stringContaining('trusted') as string,
  })

  const second = await system.daemon({ BEAVER_HOME: other })
  expect(await keys(['revoke', asking?.key_id ?? '', '--reason', 'sold'])).toMatchObject({
    exit: 0,
    out: expect.stringContaining('revoked') as string,
  })
  await second.exited
  expect(second.stderr).toContain('revoked the key')
}, 180_000)
