// `beaver daemon`, `beaver projector` and `beaver gateway` as containers run them (deploy/docker): each is a
// process with a home of its own and the login of its role at a server with the users of `beaver nats-config`.
// All share the folder with the keys of the journal.
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type CliProcess, commandHost, runBeaver, startBeaver } from '../support/cli.ts'
import { type FakeProvider, fakeProvider, say } from '../support/fake-provider.ts'
import { type SecuredServer, securedServer } from '../support/secured-nats.ts'

const host = commandHost()
let folder: string
let provider: FakeProvider
let server: SecuredServer
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-process-'))
  mkdirSync(join(folder, 'work'))
  provider = await fakeProvider()
  provider.answerBy(({ text }) => say(`answer to ${text}`))
  writeFileSync(
    join(folder, 'beaver.config.json'),
    JSON.stringify({ model: { base_url: provider.url, name: 'fake' }, gateway: { port: 0 } }),
  )
  writeFileSync(join(folder, 'key'), 'sk-of-a-file\n')
  const users = await host.run(['nats-config', '--keys', join(folder, 'nats-keys')], { cwd: folder })
  server = await securedServer(() => users.out)
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const env = (home: string, keys = 'keys'): Record<string, string> => ({
  NATS_URL: `nats://${server.host}`,
  BEAVER_HOME: join(folder, home),
  BEAVER_KEYS: join(folder, keys),
  BEAVER_NATS_KEYS: join(folder, 'nats-keys'),
  BEAVER_CONFIG: join(folder, 'beaver.config.json'),
  BEAVER_WORKER_THREADS: '1',
  OPENAI_API_KEY_FILE: join(folder, 'key'),
})
const place = (home: string, keys?: string) => ({ cwd: join(folder, 'work'), env: env(home, keys) })

async function started(name: string, sign: string, keys?: string): Promise<CliProcess> {
  const running = startBeaver(
    [name, '--home', join(folder, `home-of-${name}-${keys ?? 'all'}`)],
    place('unused', keys),
  )
  let isOver = false
  void running.ended.then(() => (isOver = true))
  const ready = (): boolean => `${running.out}${running.err}`.includes(sign)
  await until(`${name} is ready`, () => ready() || isOver)
  if (!ready()) throw new Error(`${name} ended:\n${running.err}`)
  return running
}

it('each process works alone with the login of its role, and ends on SIGTERM', async () => {
  await using daemon = await started('daemon', '"event":"process_ready"')
  await using projector = await started('projector', '"event":"process_ready"')
  await using gateway = await started('gateway', 'Beaver answers at')
  const ran = await host.run(['run', 'hello'], place('client'))
  expect(ran).toMatchObject({ exit: 0, out: expect.stringContaining('answer to hello') as string })
  expect(provider.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer sk-of-a-file'])
  expect(await host.run(['audit', 'verify'], place('client'))).toMatchObject({ exit: 0 })
  expect(existsSync(join(folder, 'unused'))).toBe(false)
  for (const running of [gateway, projector, daemon]) {
    running.kill('SIGTERM')
    expect(await running.ended).toMatchObject({ exit: 0 })
  }
})

it('a pod works with the key of its role and the id of the operator, and writes nothing beside them', async () => {
  const pin = 'operators/BEAVER_default'
  const inPod = (role: string): string[] => [...(role === 'gateway' ? [] : [`${role}.key`]), pin]
  const roles = ['daemon', 'projector', 'gateway']
  for (const role of roles) {
    mkdirSync(join(folder, `pod-${role}`, 'operators'), { recursive: true })
    for (const name of inPod(role))
      copyFileSync(join(folder, 'keys', name), join(folder, `pod-${role}`, name))
  }
  const ready = '"event":"process_ready"'
  await using _daemon = await started('daemon', ready, 'pod-daemon')
  await using _projector = await started('projector', ready, 'pod-projector')
  await using _gateway = await started('gateway', 'Beaver answers at', 'pod-gateway')
  const ran = await host.run(['run', 'hello again'], place('client'))
  expect(ran).toMatchObject({ exit: 0, out: expect.stringContaining('answer to hello again') as string })
  expect(await host.run(['audit', 'verify'], place('client'))).toMatchObject({ exit: 0 })
  for (const role of roles) {
    const written = readdirSync(join(folder, `pod-${role}`), { recursive: true }).map(String)
    expect([role, written.toSorted()]).toEqual([role, [...inPod(role), 'operators'].toSorted()])
  }
})

it('a process that lacks its server says so, and ends with the code of a failed start', async () => {
  const { NATS_URL: _, ...without } = env('none')
  const ended = await runBeaver(['projector'], { cwd: join(folder, 'work'), env: without })
  expect(ended).toMatchObject({ exit: 3, out: '' })
  expect(ended.err).toContain('The projector needs a NATS server. Set NATS_URL')
})
