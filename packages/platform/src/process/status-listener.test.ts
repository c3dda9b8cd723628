// The listener over real HTTP. What processes tell is in test/system/metrics.test.ts.
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect, createServer, type AddressInfo } from 'node:net'
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

type Bounds = Parameters<typeof startStatusListener>[3]

async function listening(
  listen: string,
  tells: Partial<TellsStatus> = {},
  bounds: Bounds = {},
): Promise<StatusListener> {
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
    bounds,
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

async function listeningSomewhere(tells: Partial<TellsStatus> = {}, bounds: Bounds = {}): Promise<string> {
  const { port, close } = await free()
  await close()
  return (await listening(`127.0.0.1:${port}`, tells, bounds)).url ?? ''
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

/** Sends bytes on a connection of their own. @returns what came back until the listener closed it */
async function sent(url: string, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let answer = ''
  socket.setEncoding('latin1').on('data', (text: string) => (answer += text))
  socket.on('error', () => {}) // A listener that closes at once may reset the connection.
  for (const piece of pieces) socket.write(piece)
  await new Promise((resolve) => socket.once('close', resolve))
  return answer
}

const answers = (url: string): Promise<true> =>
  until('it answers', () =>
    fetch(url).then(
      ({ status }) => status === 200,
      () => false,
    ),
  )

const rest = 'Host: localhost\r\n'
/** Each piece is a try to hold or to break the listener. An answer of HTTP, or none, is fine. */
const garbage: readonly (readonly [name: string, pieces: readonly (string | Buffer)[], answer: RegExp])[] = [
  ['bytes', [Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 7) % 256))], /^HTTP\/1\.1 400 /],
  ['a line without an end', ['x'.repeat(100_000)], /^HTTP\/1\.1 400 /],
  ['TLS', [Buffer.from('16030100c8010000c40303', 'hex')], /^HTTP\/1\.1 400 /],
  ['huge headers', [`GET /metrics HTTP/1.1\r\n${rest}X: ${'y'.repeat(100_000)}\r\n\r\n`], /^HTTP\/1\.1 431 /],
  ['many headers', [`GET /metrics HTTP/1.1\r\n${rest}${'A: b\r\n'.repeat(10_000)}\r\n`], /^HTTP\/1\.1 431 /],
  ['a long path', [`GET /${'a'.repeat(100_000)} HTTP/1.1\r\n${rest}\r\n`], /^HTTP\/1\.1 4/],
  ['half of its headers', ['GET /metrics HTTP/1.1\r\nHost: lo'], /^(HTTP\/1\.1 408 |$)/],
  ['nothing', [''], /^(HTTP\/1\.1 408 |$)/],
  [
    'two lengths',
    [`GET /metrics HTTP/1.1\r\n${rest}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`],
    /^HTTP\/1\.1 400 /,
  ],
  [
    'a body that never ends',
    [`POST /metrics HTTP/1.1\r\n${rest}Content-Length: 900000\r\n\r\n`, 'x'],
    /^HTTP\/1\.1 405 /,
  ],
  [
    'chunks that never end',
    [`PUT / HTTP/1.1\r\n${rest}Transfer-Encoding: chunked\r\n\r\n`, '1\r\na\r\n'],
    /^HTTP\/1\.1 405 /,
  ],
  [
    'a body of GET that never ends',
    [`GET /metrics HTTP/1.1\r\n${rest}Content-Length: 9\r\n\r\n`],
    /^HTTP\/1\.1 200 /,
  ],
  ['CONNECT', [`CONNECT other:80 HTTP/1.1\r\n${rest}\r\n`], /^$/],
  [
    'an upgrade',
    [`GET /metrics HTTP/1.1\r\n${rest}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`],
    /^HTTP\/1\.1 200 /,
  ],
  ['a method that nobody knows', [`BREW /metrics HTTP/1.1\r\n${rest}\r\n`], /^HTTP\/1\.1 400 /],
  ['no Host', ['GET /metrics HTTP/1.1\r\n\r\n'], /^HTTP\/1\.1 400 /],
  ['HTTP/2', ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], /^(HTTP\/1\.1 [45]|$)/],
]

describe('garbage', () => {
  it.each(garbage)('%s: the connection ends, and the next request is answered', async (_, pieces, answer) => {
    const url = await listeningSomewhere({}, { requestMsMax: 100 })
    // On a busy machine, any request may be later than its time.
    expect(await sent(url, ...pieces)).toMatch(new RegExp(`^HTTP/1\\.1 408 |${answer.source}`))
    await answers(`${url}/metrics`)
  })

  it('connections that say nothing keep nobody out for longer than their time', async () => {
    const url = await listeningSomewhere({}, { requestMsMax: 100 })
    const all = await Promise.all(Array.from({ length: 200 }, () => sent(url, '')))
    expect(all.filter((text) => !/^(HTTP\/1\.1 408 |$)/.test(text))).toEqual([])
    await answers(`${url}/healthz`)
  })

  it('a reader that takes nothing is cut off, so that others get in', async () => {
    const metrics = async () => 'm 1\n'.repeat(4_000_000)
    const url = await listeningSomewhere({ metrics }, { requestMsMax: 100, connectionsMax: 2 })
    const { hostname, port } = new URL(url)
    const readers = await Promise.all(
      Array.from({ length: 2 }, async () => {
        const socket = connect({ host: hostname, port: Number(port) })
        socket.on('error', () => {})
        socket.write(`GET /metrics HTTP/1.1\r\n${rest}\r\n`)
        await once(socket, 'readable')
        return socket
      }),
    )
    await answers(`${url}/healthz`)
    for (const socket of readers) socket.destroy()
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
