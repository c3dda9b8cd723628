import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { permissionOf, ToolFailure } from '@beaver/agent/tool-kit'
import { toolContext } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { checkedUrl, httpGet } from './http-get.ts'
import { type FetchedPage, webFetch } from './web-fetch.ts'

let server: Server
let origin: string
let host: string
const routes: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {}
const seen: IncomingMessage[] = []

beforeAll(async () => {
  server = createServer((request, response) => {
    seen.push(request)
    const route = routes[(request.url ?? '').split('?')[0] ?? '']
    if (route === undefined) response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here')
    else route(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  origin = `http://${host}`
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const sends =
  (type: string | null, body: string | Buffer, headers: Record<string, string> = {}) =>
  (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(200, { ...(type === null ? {} : { 'content-type': type }), ...headers }).end(body)
const redirects =
  (to: string, status = 302) =>
  (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(status, { location: to }).end()

interface Options {
  readonly args?: object
  readonly bytesMax?: number
  readonly timeoutMs?: number
  readonly privateHosts?: readonly string[]
  readonly signal?: AbortSignal
}
async function fetched(
  path: string,
  {
    args = {},
    bytesMax = 100_000,
    timeoutMs = 60_000,
    privateHosts = [host],
    signal = new AbortController().signal,
  }: Options = {},
) {
  const tool = webFetch({ privateHosts, bytesMax, timeoutMs })
  return JSON.parse(
    await tool.invoke({ url: path.startsWith('/') ? origin + path : path, ...args }, toolContext({ signal })),
  ) as FetchedPage
}
async function failure(path: string, options?: Options): Promise<ToolFailure> {
  const thrown: unknown = await fetched(path, options).then(
    (page) => page,
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(ToolFailure)
  return thrown as ToolFailure
}

describe('a page', () => {
  it('of HTML is its text, with whole links and without scripts', async () => {
    const html =
      '<!doctype html><title>News &amp; more</title><style>p{}</style><body><script>evil()</script><h1>Big</h1><p>Hello <b>you</b> <a href="../b?c=1">there</a></p><img src=x><ul><li>one<li>two</ul>'
    routes['/a/page'] = sends('text/html; charset=utf-8', html)
    expect(await fetched('/a/page')).toEqual({
      url: `${origin}/a/page`,
      status: 200,
      content_type: 'text/html; charset=utf-8',
      title: 'News & more',
      text: `Big\n\nHello you there [${origin}/b?c=1]\n\n * one\n * two`,
      bytes: html.length,
      cut: false,
    })
  })

  test.each([
    ['application/json', '{"a": [1]}'],
    ['application/problem+json; charset=utf-8', '{"a":1}'],
    ['text/csv', 'a,b\r\n1,2\r\n'],
    ['application/xml', '<a>1</a>'],
  ])('of %s is as it is', async (type, body) => {
    routes['/text'] = sends(type, body)
    expect(await fetched('/text')).toMatchObject({ text: body, content_type: type, title: null, cut: false })
  })

  it('without a type is told by its bytes', async () => {
    routes['/bare'] = sends(null, 'plain words')
    routes['/html'] = sends(null, '\n<html><body><p>a<p>b')
    routes['/binary'] = sends(null, Buffer.from([1, 2, 0, 3]))
    expect((await fetched('/bare')).text).toBe('plain words')
    expect((await fetched('/html')).text).toBe('a\n\nb')
    expect(await fetched('/binary')).toMatchObject({ text: null, bytes: 4 })
  })

  it('that is not text is told with its size, and not read', async () => {
    routes['/pdf'] = (_, response) =>
      void response
        .writeHead(200, { 'content-type': 'application/pdf', 'content-length': '123456789' })
        .write('%PDF')
    expect(await fetched('/pdf')).toMatchObject({
      content_type: 'application/pdf',
      text: null,
      bytes: 123_456_789,
    })
  })

  test.each<[string, string, Buffer]>([
    ['by its type', 'text/html; charset=gbk', Buffer.from([0xc4, 0xe3, 0xba, 0xc3])],
    [
      'by what it says itself',
      'text/html',
      Buffer.concat([Buffer.from('<meta charset="gb2312"><body>'), Buffer.from([0xc4, 0xe3, 0xba, 0xc3])]),
    ],
    ['by its byte order mark', 'text/plain; charset=latin1', Buffer.from('\uFEFF你好', 'utf16le')],
    ['and UTF-8 else', 'text/plain; charset=no-such-thing', Buffer.from('你好')],
  ])('is read in its encoding, %s', async (_, type, body) => {
    routes['/encoded'] = sends(type, body)
    expect((await fetched('/encoded')).text).toBe('你好')
  })

  test.each([
    ['gzip', gzipSync('packed')],
    ['br', brotliCompressSync('packed')],
  ])('packed with %s is unpacked', async (encoding, body) => {
    routes['/packed'] = sends('text/plain', body, { 'content-encoding': encoding })
    expect(await fetched('/packed')).toMatchObject({ text: 'packed', bytes: 6 })
  })

  it('is asked for without anything that tells who we are', async () => {
    seen.length = 0
    routes['/x'] = sends('text/plain', '')
    await fetched('/x?q=1#part')
    expect(seen.map(({ method, url, headers }) => [method, url, Object.keys(headers).toSorted()])).toEqual([
      ['GET', '/x?q=1', ['accept', 'accept-encoding', 'connection', 'host', 'user-agent']],
    ])
  })
})

describe('bounds', () => {
  it('of characters cut the text, and say so', async () => {
    routes['/long'] = sends('text/plain', '😀'.repeat(100))
    expect(await fetched('/long', { args: { max_chars: 101 } })).toMatchObject({
      text: '😀'.repeat(50),
      cut: true,
    })
    routes['/longer'] = sends('text/html', `<p>${'word '.repeat(1_000)}`)
    const page = await fetched('/longer', { args: { max_chars: 100 } })
    expect([page.text?.length, page.cut]).toEqual([100, true])
  })

  it('of bytes hold for a page without end', async () => {
    routes['/endless'] = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const more = (): void => {
        while (response.write('x'.repeat(10_000)));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    }
    expect(await fetched('/endless', { bytesMax: 50_000, args: { max_chars: 1_000 } })).toMatchObject({
      bytes: 50_000,
      cut: true,
    })
  })

  it('of bytes hold for what is small only while it is packed', async () => {
    routes['/bomb'] = sends('text/plain', gzipSync(Buffer.alloc(200_000_000)), { 'content-encoding': 'gzip' })
    const before = process.memoryUsage().rss
    expect(await fetched('/bomb', { bytesMax: 300_000, args: { max_chars: 100 } })).toMatchObject({
      bytes: 300_000,
      cut: true,
    })
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000)
  })

  it('of bytes hold for packed data that never unpacks to anything', async () => {
    // An empty stored block, for ever.
    const nothing = Buffer.concat(Array.from({ length: 2_000 }, () => Buffer.from([0, 0, 0, 0xff, 0xff])))
    routes['/void'] = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
      response.write(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]))
      const more = (): void => {
        while (response.write(nothing));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    }
    expect((await failure('/void', { bytesMax: 50_000 })).code).toBe('bad_answer')
  })

  test.each<[string, (request: IncomingMessage, response: ServerResponse) => void]>([
    ['says nothing', () => undefined],
    [
      'stops in the middle',
      (_, response) => void response.writeHead(200, { 'content-type': 'text/plain' }).write('begin'),
    ],
    ['is made so that reading it takes minutes', sends('text/html', '<b>'.repeat(600_000))],
  ])('of time hold for a page that %s', async (_, route) => {
    routes['/slow'] = route
    expect((await failure('/slow', { timeoutMs: 700, bytesMax: 2_000_000 })).code).toBe('tool_timeout')
  })

  it('end with the run', async () => {
    routes['/slow'] = () => undefined
    const stop = new AbortController()
    const running = fetched('/slow', { signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
  })
})

describe('redirects', () => {
  it('are followed, and the final URL told', async () => {
    routes['/1'] = redirects('/2?x=1', 301)
    routes['/2'] = redirects(`${origin}/3`, 307)
    routes['/3'] = sends('text/plain', 'there')
    expect(await fetched('/1')).toMatchObject({ url: `${origin}/3`, text: 'there' })
  })

  test.each([
    ['to an address that is private', 'http://127.0.0.2:1/x', 'address_refused'],
    ['to a name for one', 'http://localhost:1/x', 'address_refused'],
    ['to where a cloud keeps its secrets', 'http://169.254.169.254/latest/meta-data', 'address_refused'],
    ['to a file', 'file:///etc/passwd', 'redirect_refused'],
    ['with a password', 'http://user:secret@example.com/', 'redirect_refused'],
    ['to what is no URL', 'http://[', 'redirect_refused'],
    ['in a circle', '/circle', 'redirect_refused'],
  ])('%s are refused', async (_, to, code) => {
    routes['/circle'] = redirects(to)
    const thrown = await failure('/circle')
    expect(thrown.code).toBe(code)
    expect(thrown.message).not.toContain('secret@')
  })

  it('from https to http are refused, the other way they are not', () => {
    expect(() => checkedUrl('http://example.com/', new URL('https://example.com/'))).toThrow(
      expect.objectContaining({ code: 'redirect_refused' }) as Error,
    )
    expect(() => checkedUrl('//example.com/', new URL('https://example.com/'))).not.toThrow()
    expect(checkedUrl('https://example.com/', new URL('http://example.com/')).href).toBe(
      'https://example.com/',
    )
  })
})

describe('what is refused before anything is asked for', () => {
  test.each([
    ['not a url', 'invalid_url'],
    ['ftp://example.com/x', 'invalid_url'],
    ['file:///etc/passwd', 'invalid_url'],
    ['javascript:alert(1)', 'invalid_url'],
    ['http://user@example.com/', 'invalid_url'],
    ['http://:pw@example.com/', 'invalid_url'],
    ['http://127.0.0.1/', 'address_refused'],
    ['http://localhost:1/', 'address_refused'],
    ['http://[::ffff:127.0.0.1]/', 'address_refused'],
    ['http://169.254.169.254/', 'address_refused'],
    ['http://no-such-host.invalid/', 'host_not_found'],
  ])('%s: %s', async (url, code) => {
    expect((await failure(url)).code).toBe(code)
  })

  it('private addresses, unless the host is allowed', async () => {
    seen.length = 0
    expect((await failure('/x', { privateHosts: ['127.0.0.1:1'] })).code).toBe('address_refused')
    expect(seen).toEqual([])
  })
})

it('the connection goes to the address that was checked, whatever the name resolves to', async () => {
  routes['/rebound'] = sends('text/plain', 'from here')
  const { port } = server.address() as AddressInfo
  const answer = await httpGet(`http://rebinding.invalid:${port}/rebound`, {
    addressesOf: async () => [{ address: '127.0.0.1', family: 4 }],
    accept: '*/*',
    bytesMax: 100,
    signal: new AbortController().signal,
  })
  expect(answer.body?.toString()).toBe('from here')
  expect(seen.at(-1)?.headers.host).toBe(`rebinding.invalid:${port}`)
})

describe('a failed call', () => {
  it('is a page that was not served', async () => {
    const thrown = await failure('/absent')
    expect([thrown.code, thrown.message]).toEqual([
      'http_error',
      `${origin}/absent answered 404 Not Found. It says: nothing here`,
    ])
  })

  test.each<[string, string, (request: IncomingMessage, response: ServerResponse) => void]>([
    ['nobody listens', 'connection_failed', (request) => request.socket.destroy()],
    [
      'the answer breaks off',
      'connection_failed',
      (request, response) => (
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' }).write('x'),
        void setImmediate(() => request.socket.destroy())
      ),
    ],
    ['the answer is no HTTP', 'bad_answer', (request) => request.socket.end('SSH-2.0-OpenSSH\r\n\r\n')],
    ['it is packed otherwise', 'bad_answer', sends('text/plain', 'x', { 'content-encoding': 'compress' })],
    [
      'it is not packed as it says',
      'bad_answer',
      sends('text/plain', 'not gzip at all', { 'content-encoding': 'gzip' }),
    ],
    [
      'its head is too large',
      'bad_answer',
      (request) => request.socket.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`),
    ],
  ])('is when %s: %s', async (_, code, route) => {
    routes['/broken'] = route
    expect((await failure('/broken')).code).toBe(code)
  })
})

it('is seen by rules as the URL in its one spelling', () => {
  const tool = webFetch({ privateHosts: [], bytesMax: 1, timeoutMs: 1 })
  expect(permissionOf(tool, { url: 'HTTP://Example.COM:80/a/../b' }, [])).toEqual({
    decision: 'allow',
    subject: 'http://example.com/b',
    rule: null,
  })
  expect(
    permissionOf(tool, { url: 'https://example.com./b' }, [
      { tool: 'web_fetch', pattern: 'https://example.com/*', decision: 'deny' },
    ]).decision,
  ).toBe('deny')
})
