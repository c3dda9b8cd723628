// The listener over real HTTP. What processes tell is in test/system/metrics.test.ts.
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '@beaver/core'
import { until } from '@beaver/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runningStatus } from '../home/status-file.ts'
import { startStatusListener, type StatusListener, type TellsStatus } from './status-listener.ts'

let home: string
let open: StatusListener[] = []
beforeEach(() => (home = mkdtempSync(join(tmpdir(), 'beaver-status-'))))
afterEach(async () => {
  for (const each of open) await each.stop()
  open = []
  rmSync(home, { recursive: true })
})

async function listening(listen: string, tells: Partial<TellsStatus> = {}): Promise<StatusListener> {
  const listener = await startStatusListener(
    'daemon',
    { home, status: { listen } },
    {
      notReady: () => null,
      metrics: async () => 'm 1\n',
      metricsType: 'text/plain; version=0.0.4',
      logger: silentLogger,
      ...tells,
    },
  )
  if (listener === null) throw new Error('It does not listen.')
  open.push(listener)
  return listener
}

async function free(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { port, close: () => new Promise((resolve) => server.close(() => resolve())) }
}

async function listeningSomewhere(tells: Partial<TellsStatus> = {}): Promise<string> {
  const { port, close } = await free()
  await close()
  return (await listening(`127.0.0.1:${port}`, tells)).url ?? ''
}

/** `fetch` sets no `Host`. */
const asked = (url: string, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    request(url, { headers: { host } }, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
      .on('error', reject)
      .end()
  })

describe('where it listens', () => {
  it('is nowhere if the configuration says off', async () => {
    const of = { notReady: () => null, metrics: async () => '', metricsType: '', logger: silentLogger }
    expect(await startStatusListener('daemon', { home, status: { listen: 'off' } }, of)).toBeNull()
    expect(readdirSync(home)).toEqual([])
  })

  it('is in a file of the home that only its owner reads, until it stops', async () => {
    const url = await listeningSomewhere()
    expect(runningStatus(home)).toMatchObject([{ process: 'daemon', pid: process.pid, url }])
    const file = join(home, 'run', `status-daemon-${process.pid}.json`)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await open.pop()?.stop()
    expect(runningStatus(home)).toEqual([])
  })

  it('is a free port, if the usual one is taken', async () => {
    const first = await listening('on')
    const second = await listening('on')
    expect(second.url).not.toBe(first.url)
    expect((await fetch(`${second.url}/healthz`)).status).toBe(200)
  })

  it('is the named port, as soon as another process gives it back', async () => {
    const taken = await free()
    const listener = await listening(`127.0.0.1:${taken.port}`)
    expect(listener.url).toBeNull()
    await taken.close()
    await until('it listens', () => listener.url !== null)
    expect(listener.url).toBe(`http://127.0.0.1:${taken.port}`)
  })

  it('is not told by files of dead processes and of strangers', async () => {
    await listeningSomewhere()
    const dead = { process: 'daemon', pid: 2 ** 22 - 1, process_start: 'x', url: 'http://127.0.0.1:1' }
    writeFileSync(join(home, 'run', 'status-daemon-4194303.json'), JSON.stringify(dead))
    writeFileSync(join(home, 'run', 'status-daemon-7.json'), '{"process":"toString","pid":1,"url":"x"}')
    expect(runningStatus(home)).toHaveLength(1)
    await listeningSomewhere()
    expect(readdirSync(join(home, 'run'))).toEqual([`status-daemon-${process.pid}.json`])
  })
})

describe('what it answers', () => {
  it('metrics, health and readiness', async () => {
    let why: string | null = null
    const url = await listeningSomewhere({ notReady: () => why })
    const metrics = await fetch(`${url}/metrics?name=x`)
    expect([metrics.status, metrics.headers.get('content-type'), await metrics.text()]).toEqual([
      200,
      'text/plain; version=0.0.4',
      'm 1\n',
    ])
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    why = 'The journal does not answer.'
    const refused = await fetch(`${url}/readyz`)
    expect([refused.status, await refused.text()]).toEqual([503, 'The journal does not answer.\n'])
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(url)).status).toBe(404)
  })

  it('GET alone, and never with the right to be read by a page', async () => {
    const url = await listeningSomewhere()
    for (const method of ['POST', 'DELETE', 'OPTIONS'])
      expect((await fetch(`${url}/metrics`, { method })).status).toBe(405)
    const answer = await fetch(`${url}/metrics`, { headers: { origin: 'https://page.example' } })
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  })

  it('on loopback only under names of this machine', async () => {
    const url = await listeningSomewhere()
    for (const name of ['localhost', '127.0.0.1:9', '[::1]:9'])
      expect(await asked(`${url}/metrics`, name)).toBe(200)
    for (const name of ['page.example', '127.0.0.1.page.example', 'localhost.page.example:20101'])
      expect(await asked(`${url}/metrics`, name)).toBe(421)
  })

  it('an error if the metrics cannot be had, without the reason', async () => {
    const url = await listeningSomewhere({ metrics: () => Promise.reject(new Error('a secret')) })
    const answer = await fetch(`${url}/metrics`)
    expect([answer.status, await answer.text()]).toEqual([500, 'The metrics could not be read.\n'])
  })

  it('at most ten requests for metrics at a time', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const url = await listeningSomewhere({ metrics: () => promise })
    const all = Array.from({ length: 11 }, () => fetch(`${url}/metrics`).then(({ status }) => status))
    expect(await Promise.race(all)).toBe(503)
    resolve('m 1\n')
    expect((await Promise.all(all)).toSorted((a, b) => a - b)).toEqual([...Array<number>(10).fill(200), 503])
  })
})
