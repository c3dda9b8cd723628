// Given a server over HTTP, when it behaves or does not, then what loops see of it.
import { rawHttpServer } from '@beaver/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { httpFixture } from '../../test/http-server.ts'
import { bench, call, until } from '../../test/kit.ts'
import { sessionServer } from '../../test/session-server.ts'
import type { McpHttpSpec } from './server-spec.ts'

const spec = (url: string, changes: Partial<McpHttpSpec> = {}): McpHttpSpec => ({
  url,
  headers: {},
  permission: 'allow',
  timeout_ms: 30_000,
  restarts_max: 5,
  ...changes,
})

describe('an HTTP server', () => {
  it.each(['stateless', 'reject'] as const)(
    'is connected with its headers, listed and called (2025: %s)',
    async (legacy) => {
      const test = bench({ onTestFinished })
      const server = await httpFixture({ legacy })
      const connections = await test.start(
        { web: spec(server.url, { headers: { 'x-key': 'key ${KEY}' } }) },
        { environment: { KEY: 'abc' } },
      )
      await connections.settled
      expect(connections.tools.map(({ name }) => name)).toEqual(['web_add', 'web_hang'])
      const sums = await Promise.all(
        Array.from({ length: 50 }, (_, i) => call(connections, 'web_add', { a: i, b: 1 })),
      )
      expect(sums.map(({ content }) => content)).toEqual(Array.from({ length: 50 }, (_, i) => String(i + 1)))
      expect(new Set(server.headers.map((headers) => headers['x-key']))).toEqual(new Set(['key abc']))
      await connections.close()
      await server.stop()
    },
  )

  it('that goes away fails the call, and is connected again when it is back', async () => {
    const test = bench({ onTestFinished })
    const server = await httpFixture()
    const connections = await test.start({ web: spec(server.url) })
    await connections.settled
    await server.stop()
    expect(await call(connections, 'web_add', { a: 1, b: 1 })).toMatchObject({
      success: false,
      error: 'mcp_server_down',
    })
    await until('it is down', () => connections.status[0]?.state === 'restarting')
    expect(connections.tools).toHaveLength(2)
    const back = await httpFixture({ port: server.port })
    await until('it is back', () => connections.status[0]?.state === 'connected')
    expect(await call(connections, 'web_add', { a: 1, b: 1 })).toMatchObject({ success: true, content: '2' })
    await connections.close()
    await back.stop()
  })

  it.each([
    [
      'refuses the key',
      { status: 401, type: 'text/plain', body: 'no' },
      { error: 'mcp_refused', content: expect.stringContaining('may lack a key') as string },
    ],
    [
      'breaks',
      { status: 500, type: 'text/html', body: '<h1>Oops</h1>' },
      { error: 'mcp_refused', content: expect.stringContaining('HTTP 500') as string },
    ],
    [
      'answers with a page',
      { status: 200, type: 'text/html', body: '<h1>Welcome</h1>' },
      { error: 'mcp_bad_answer' },
    ],
    [
      'answers with half of its JSON',
      { status: 200, type: 'application/json', body: '{"jsonrpc": "2.0", "id"' },
      { success: false },
    ],
    [
      'forgot the session',
      { status: 404, type: 'application/json', body: '{}' },
      { error: 'mcp_server_down' },
    ],
    [
      'sends 40 MB',
      { status: 200, type: 'application/json', body: `"${'x'.repeat(40_000_000)}"` },
      { content: expect.stringContaining('more than 32 MiB') as string },
    ],
  ])('that %s during a call is told as that', async (_, answer, result) => {
    const test = bench({ onTestFinished })
    const server = await httpFixture()
    const connections = await test.start({ web: spec(server.url) })
    await connections.settled
    server.answer = answer
    expect(await call(connections, 'web_add', { a: 1, b: 1 })).toMatchObject({ success: false, ...result })
    await connections.close()
    await server.stop()
  })

  it('that does not answer a call is left at its timeout', async () => {
    const test = bench({ onTestFinished })
    const server = await httpFixture()
    const connections = await test.start({ web: spec(server.url, { timeout_ms: 200 }) })
    expect(await call(connections, 'web_hang')).toMatchObject({ success: false, error: 'tool_timeout' })
    await until(
      'another is answered',
      async () => (await call(connections, 'web_add', { a: 1, b: 1 })).success,
    )
    await connections.close()
    await server.stop()
  })

  it('that is not there from the start says so, and is asked again', async () => {
    const test = bench({ onTestFinished })
    const gone = await httpFixture()
    await gone.stop()
    const connections = await test.start({ web: spec(gone.url) })
    await connections.settled
    expect(connections.status[0]).toMatchObject({
      state: 'restarting',
      lastError: expect.stringMatching(/fetch failed|ECONNREFUSED/) as string,
    })
    const back = await httpFixture({ port: gone.port })
    await until('it is connected', () => connections.status[0]?.state === 'connected')
    await connections.close()
    await back.stop()
  })
})

describe('a server that has forgotten the session', () => {
  const down = expect.stringContaining('was not carried out') as string

  it('gets the call once more in a new one, which all calls share, and counts as no restart', async () => {
    await using server = await sessionServer()
    await using connections = await bench({ onTestFinished }).start({ web: spec(server.url) })
    await connections.settled
    server.forget()
    server.asked.length = 0
    const results = await Promise.all(Array.from({ length: 10 }, () => call(connections, 'web_look')))
    expect(results).toEqual(
      results.map(() => ({ success: true, content: 'called look in session 2', error: null })),
    )
    const times = (what: string): number => server.asked.filter((each) => each === what).length
    expect([times('initialize'), times('tools/list'), times('tools/call')]).toEqual([1, 1, 10])
    expect(connections.status[0]).toMatchObject({ state: 'connected', restarts: 0 })
  })

  it('keeps a call that is under way in the old session, and the new session with it', async () => {
    await using server = await sessionServer()
    await using connections = await bench({ onTestFinished }).start({ web: spec(server.url) })
    await connections.settled
    const held = server.hold()
    const first = call(connections, 'web_look')
    await held.reached
    server.forget()
    expect(await call(connections, 'web_look')).toMatchObject({
      success: true,
      content: 'called look in session 2',
    })
    held.answer()
    expect(await first).toMatchObject({ success: true, content: 'called look in session 1' })
    expect(await call(connections, 'web_look')).toMatchObject({ content: 'called look in session 2' })
    expect(connections.status[0]).toMatchObject({ state: 'connected', restarts: 0 })
  })

  it('does not lose the new session to a call that breaks in the old one', async () => {
    await using server = await sessionServer()
    await using connections = await bench({ onTestFinished }).start({ web: spec(server.url) })
    await connections.settled
    const held = server.hold()
    const first = call(connections, 'web_look')
    await held.reached
    server.forget()
    expect(await call(connections, 'web_look')).toMatchObject({ success: true })
    held.cut()
    expect(await first).toMatchObject({ success: false })
    expect(await call(connections, 'web_look')).toMatchObject({ content: 'called look in session 2' })
    expect(connections.status[0]).toMatchObject({ restarts: 0 })
  })

  it('is not asked for a tool that it does not have any more', async () => {
    await using server = await sessionServer()
    await using connections = await bench({ onTestFinished }).start({ web: spec(server.url) })
    await connections.settled
    server.forget()
    server.tools = ['other']
    expect(await call(connections, 'web_look')).toMatchObject({ success: false, error: 'tool_not_available' })
    expect(server.asked.filter((each) => each === 'tools/call')).toEqual([])
    expect(connections.tools.map(({ name }) => name)).not.toContain('web_look')
  })

  it('and forgets the new one at once is down', async () => {
    await using server = await sessionServer()
    await using connections = await bench({ onTestFinished }).start({ web: spec(server.url) })
    await connections.settled
    server.forget()
    server.forgetful = 2
    expect(await call(connections, 'web_look')).toMatchObject({
      success: false,
      error: 'mcp_server_down',
      content: down,
    })
    expect(server.asked.filter((each) => each === 'tools/call')).toEqual([])
    await until('it is connected again', async () => (await call(connections, 'web_look')).success)
  })
})

it('a call tells the server its trace: in `_meta`, and in the headers of HTTP', async () => {
  const test = bench({ onTestFinished })
  await using server = await rawHttpServer({
    tools: [{ name: 'look', inputSchema: { type: 'object' } }],
  })
  const connections = await test.start({ web: spec(server.url) })
  await connections.settled
  const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=1' }
  const run = { workspace: '/w', taskId: 't', sessionId: 's', runId: 'r' }
  for (const of of [{ run: { ...run, trace } }, { run }])
    await connections.call(
      { name: 'web_look', callId: 'c', arguments: {}, ...of },
      new AbortController().signal,
    )
  const [traced, plain] = server.requests.filter(({ method }) => method === 'tools/call')
  expect(traced?.params['_meta']).toMatchObject(trace)
  expect(traced?.headers).toMatchObject(trace)
  expect(JSON.stringify([plain?.params, plain?.headers])).not.toContain('traceparent')
  await connections.close()
})
