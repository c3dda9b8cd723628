// `beaver gateway` as a process, beside a system that ends.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeSystemFile, writeSystemFile } from '@beaver/platform'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBeaver } from '../support/cli.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { keptCommands } from '../support/kept-system.ts'

let server: TestServer
let folder: string
beforeAll(async () => {
  server = await testServer()
  folder = mkdtempSync(join(tmpdir(), 'beaver-cli-gateway-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await server[Symbol.asyncDispose]()
})

it('answers until the system has ended, and then says what to do', async () => {
  const home = join(folder, 'home')
  writeSystemFile(home, {
    nats_url: server.url,
    embedded: false,
    namespace: 'default',
    tenant: 'local',
    started_at: '',
    children: {},
  })
  await using gateway = startBeaver(['gateway', '--port', '0', '--json'], {
    cwd: folder,
    env: { BEAVER_HOME: home },
  })
  await until('it listens', () => gateway.out.includes('\n'))
  const { url } = JSON.parse(gateway.out) as { url: string }
  expect(await (await fetch(`${url}/api/ping`)).json()).toMatchObject({ running: true })
  removeSystemFile(home)
  const { exit, err } = await gateway.ended
  expect([exit, err]).toEqual([
    3,
    expect.stringContaining(`The system of ${home} has ended, and this gateway with it. Start both again.`),
  ])
})

it.each(['', ' ann', 'a\nb'])(
  'a token is not made for the user %j, for whom it could do nothing',
  async (user) => {
    const args = ['token', 'create', 'x', '--role', 'read', '--user', user]
    const { exit, out, err } = await (
      await keptCommands()
    ).run(args, { cwd: folder, env: { BEAVER_HOME: join(folder, 'tokens') } })
    expect([exit, out, err]).toEqual([2, '', expect.stringContaining('--user must not')])
  },
)
