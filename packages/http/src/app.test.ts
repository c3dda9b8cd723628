// The app before any task runs: the hosts that it accepts, the folder that a request names, and the service
// that it starts and ends. test/system/http-service.test.ts checks the same with a running service.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BeaverClient } from '@beaver/client'
import { BeaverError } from '@beaver/core'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { tokenAccess, tokenHash } from './access.ts'
import { type AppOptions, createApp, type HttpApp } from './app.ts'
import type { HostedService } from './host.ts'

const folder = mkdtempSync(join(tmpdir(), 'beaver-app-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The folders of the tasks that an app submits. Each submission is refused. */
let asked: unknown[] = []
const refuse = ({ workspace }: { readonly workspace?: string | undefined }): Promise<never> => {
  asked.push(workspace)
  return Promise.reject(new BeaverError('no_daemon', 'Nobody answers.'))
}
const client = { submit: refuse, run: refuse } as unknown as BeaverClient

const kept = [{ name: 'ann', sha256: tokenHash('ann'), roles: ['admin'] as const }]
const appOf = (more: Partial<AppOptions> = {}): HttpApp =>
  createApp({
    client,
    connected: () => true,
    access: tokenAccess(() => kept),
    hosts: () => ['app.test'],
    ...more,
  } as AppOptions)

describe('the host of a request', () => {
  const ping = async (url: string, headers = {}): Promise<number> =>
    (await appOf().fetch(new Request(`${url}/api/ping`, { headers }))).status

  it('is the host of its URL if it has no header Host', async () => {
    expect(await ping('http://app.test')).toBe(200)
    expect(await ping('http://APP.test:80')).toBe(200)
    expect(await ping('http://app.test:8080')).toBe(403)
    expect(await ping('http://evil.test')).toBe(403)
  })

  it('is its header Host if it has one, also an empty one', async () => {
    expect(await ping('http://evil.test', { host: 'app.test' })).toBe(200)
    expect(await ping('http://app.test', { host: 'evil.test' })).toBe(403)
    expect(await ping('http://app.test', { host: '' })).toBe(403)
  })
})

describe('the page of a request', () => {
  const ask = async (
    { host, origin }: { readonly host: string; readonly origin: string },
    more: Partial<AppOptions> = {},
  ): Promise<number> =>
    (
      await appOf({ hosts: () => ['127.0.0.1:20000', 'proxy.example'], ...more }).fetch(
        new Request('http://127.0.0.1:20000/api/v1/nothing', { method: 'POST', headers: { host, origin } }),
      )
    ).status

  it.each([
    ['127.0.0.1:20000', 'http://127.0.0.1:20000'],
    ['proxy.example', 'https://proxy.example'],
    ['Proxy.Example', 'https://proxy.example'],
  ])('may be one that the app at %s has served: %s', async (host, origin) => {
    expect(await ask({ host, origin })).toBe(404)
  })

  it.each([
    ['of another host', '127.0.0.1:20000', 'http://evil.example'],
    ['of another port', '127.0.0.1:20000', 'http://127.0.0.1:20001'],
    ['of another name of the app', '127.0.0.1:20000', 'https://proxy.example'],
    ['without an origin of its own', '127.0.0.1:20000', 'null'],
    ['of an extension', 'proxy.example', 'chrome-extension://proxy.example'],
    ['with more than an origin', 'proxy.example', 'https://proxy.example/x'],
    ['with a user name', 'proxy.example', 'https://me@proxy.example'],
    ['of a name that was pointed at this machine', 'evil.example', 'http://evil.example'],
    ['of such a name with the port', 'evil.example:20000', 'http://evil.example:20000'],
  ])('must not be one %s', async (_, host, origin) => {
    expect(await ask({ host, origin })).toBe(403)
  })

  it('may be one of the configured origins', async () => {
    const asked = { host: '127.0.0.1:20000', origin: 'https://pages.example' }
    expect(await ask(asked)).toBe(403)
    expect(await ask(asked, { origins: ['https://pages.example'] })).toBe(404)
  })
})

describe('the folder of a request', () => {
  const paths = ['/api/chat', '/api/v1/team/run'] as const
  /** The folder that the task gets, or how the request is refused. */
  async function meant(
    path: (typeof paths)[number],
    workspace_dir: string,
    more: Partial<AppOptions>,
  ): Promise<unknown> {
    asked = []
    const body =
      path === '/api/chat'
        ? { message: 'x', workspace_dir }
        : { message: 'x', strategy: 'broadcast', members: ['a', 'b'], workspace_dir }
    const headers = { authorization: 'Bearer ann', 'content-type': 'application/json' }
    const answer = await appOf(more).fetch(
      new Request(`http://app.test${path}`, { method: 'POST', headers, body: JSON.stringify(body) }),
    )
    return asked[0] ?? ((await answer.json()) as { detail?: string }).detail
  }

  it.each(paths)('of %s is relative to the root, and does not leave it', async (path) => {
    const at = (dir: string, workspaceRoot = '/srv/work'): Promise<unknown> =>
      meant(path, dir, { workspaceRoot })
    expect(await at('./workspace')).toBe('/srv/work/workspace')
    expect(await at('.')).toBe('/srv/work')
    expect(await at('a/../..b')).toBe('/srv/work/..b')
    expect(await at('/elsewhere')).toBe('/elsewhere')
    expect(await at('./workspace', '/')).toBe('/workspace')
    for (const outside of ['..', 'a/../..', '../work2'])
      expect(await at(outside)).toContain('body.workspace_dir leads out of the folder')
  })

  it.each(paths)('of %s must be absolute if nobody knows a root', async (path) => {
    expect(await meant(path, './workspace', {})).toContain('body.workspace_dir must be absolute')
  })
})

describe('a service that the app was given', () => {
  /** It has no NATS server to start with. */
  class Unreachable implements HostedService {
    state = 'idle'
    readonly workspace = folder
    readonly client = client
    start = (): Promise<void> => Promise.reject(new BeaverError('unreachable', 'Nobody answers.'))
    close = async (): Promise<void> => void (this.state = 'closed')
    shutdown: HostedService['shutdown'] = () => this.close()
  }
  const given = (): Unreachable => new Unreachable()
  const around = (host: HostedService, takeOver?: boolean): HttpApp =>
    createApp({
      host,
      ...(takeOver === undefined ? {} : { takeOver }),
      access: tokenAccess(() => []),
      hosts: () => ['app.test'],
    })

  it.each([[undefined], [false]])(
    'is neither started nor shut down (WEB-09), with takeOver %s',
    async (takeOver) => {
      const service = given()
      const app = around(service, takeOver)
      await app.start()
      expect(service.state).toBe('idle')
      await app.close()
      expect(service.state).toBe('idle')
      await service.close()
    },
  )

  it('is shut down with five seconds for its tasks, which are cancelled then, if the app takes it over (WEB-07)', async () => {
    const service = given()
    const shutdown = vi.spyOn(service, 'shutdown')
    await around(service, true).close()
    expect(shutdown.mock.calls).toEqual([[{ graceMs: 5_000, force: true }]])
    expect(service.state).toBe('closed')
  })

  it('is closed at once if the app takes it over and its start fails (WEB-08)', async () => {
    const service = given()
    await expect(around(service, true).start()).rejects.toMatchObject({ code: 'unreachable' })
    expect(service.state).toBe('closed')
  })
})
