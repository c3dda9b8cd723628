// Given a server that is a real child, when it behaves or does not, then what loops see of it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { bench, call, fixture, runs, until } from '../../test/kit.ts'

const alone = (connections: {
  status: readonly { state: string; lastError: string | null; pid: number | null }[]
}) => {
  const [status] = connections.status
  if (status === undefined) throw new Error('no server')
  return status
}

describe.concurrent('a server that behaves', () => {
  it('offers its tools under its name, with their schemas, after a start that waited for nothing', async (test) => {
    const { start, program } = bench(test)
    const connections = await start({ fix: program('plain', { permission: 'ask' }) })
    expect(connections.tools).toEqual([])
    let changes = 0
    connections.onChange(() => changes++)
    await connections.settled
    expect(changes).toBeGreaterThan(0)
    const add = connections.tools.find((tool) => tool.name === 'fix_add')
    expect(add).toMatchObject({
      description: 'Adds two numbers.',
      idempotent: true,
      permission: 'ask',
      timeoutMs: 31_000,
      parameters: { type: 'object', required: ['a', 'b'] },
    })
    expect(connections.status).toMatchObject([
      { name: 'fix', state: 'connected', server: 'fixture 1.2.3', lastError: null, restarts: 0, changed: [] },
    ])
    expect(await call(connections, 'fix_add', { a: 2, b: 3 })).toEqual({
      success: true,
      content: '5',
      error: null,
    })
  })

  it('is started once, whoever calls how often at a time', async (test) => {
    const { start, program, lines } = bench(test)
    const connections = await start({ fix: program('plain') })
    const sums = await Promise.all(
      Array.from({ length: 50 }, (_, i) => call(connections, 'fix_add', { a: i, b: 1 })),
    )
    expect(sums.map(({ content }) => content)).toEqual(Array.from({ length: 50 }, (_, i) => String(i + 1)))
    expect(lines('starts')).toHaveLength(1)
  })

  it('tells a failed tool, wrong arguments and other content so that a model can read them', async (test) => {
    const { start, program } = bench(test)
    const connections = await start({ fix: program('plain') })
    expect(await call(connections, 'fix_fail')).toEqual({
      success: false,
      content: 'The disk is full.',
      error: 'mcp_tool_failed',
    })
    const wrong = await call(connections, 'fix_add', { a: 2 })
    expect(wrong).toMatchObject({ success: false, error: 'mcp_tool_failed' })
    expect(wrong.content).toContain('fix_add'.slice('fix_'.length))
    expect((await call(connections, 'fix_mixed')).content).toBe(
      'One.\n[image #1, image/gif, 13 bytes]\n[resource file:///a.txt, text/plain, 5 characters]\nhello\n{"total":3}',
    )
    const big = await call(connections, 'fix_big')
    expect(big.content.length).toBeLessThan(200_100)
    expect(big.content).toContain('[cut: 100000 more characters]')
  })

  it('gets PATH, HOME and what it was given, with names expanded, and nothing else', async (test) => {
    const { start, program, folder } = bench(test)
    const connections = await start(
      { fix: program('plain', { env: { FIXTURE_DIR: folder, TOKEN: 'Bearer $SECRET', PRICE: '$$5' } }) },
      { environment: { PATH: process.env['PATH'], HOME: '/nowhere', SECRET: 'abc', OTHER: 'not for it' } },
    )
    const environment = JSON.parse((await call(connections, 'fix_environment')).content) as Record<
      string,
      string
    >
    expect(environment).toMatchObject({ HOME: '/nowhere', TOKEN: 'Bearer abc', PRICE: '$5' })
    expect(environment).not.toHaveProperty('OTHER')
    expect(environment).not.toHaveProperty('SECRET')
  })

  it('offers only the tools that are wanted, and tells those it does not have', async (test) => {
    const { start, program } = bench(test)
    const connections = await start({ fix: program('plain', { tools: ['add', 'subtract'] }) })
    await connections.settled
    expect(connections.tools.map(({ name }) => name)).toEqual(['fix_add'])
    expect(connections.status[0]?.leftOut).toEqual([
      { tool: 'subtract', reason: 'is in the configuration, but the server does not list it' },
    ])
    expect(await call(connections, 'fix_fail')).toMatchObject({ success: false, error: 'tool_not_available' })
  })

  it('is gone when the connections are closed, with everything it started', async (test) => {
    const { start, program, lines } = bench(test)
    const connections = await start({ fix: program('with-child') })
    await connections.settled
    const pids = [...lines('starts'), ...lines('children')].map(Number)
    expect(pids.map(runs)).toEqual([true, true])
    await connections.close()
    await until('both are gone', () => !pids.some(runs))
  })

  it('is killed when it does not leave', async (test) => {
    const { start, program, lines } = bench(test)
    const connections = await start({ fix: program('stubborn') })
    await connections.settled
    await connections.close()
    await until('it is gone', () => !lines('starts').map(Number).some(runs))
  })
})

describe.concurrent('a daemon that ends without closing', () => {
  it.each(['killed', 'exit'])('leaves no server behind (%s)', async (how) => {
    const folder = mkdtempSync(join(tmpdir(), 'beaver-mcp-'))
    const host = spawn(
      process.execPath,
      [fileURLToPath(new URL('../../test/host.ts', import.meta.url)), fixture, folder, how],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const [bytes] = (await once(host.stdout, 'data')) as [Buffer]
    const pid = Number(bytes.toString())
    expect(runs(pid)).toBe(true)
    const gone = once(host, 'exit')
    if (how === 'killed') host.kill('SIGKILL')
    else host.kill('SIGUSR2')
    await gone
    await until('the server is gone', () => !runs(pid))
    rmSync(folder, { recursive: true, force: true })
  })
})

// One after the other: the programs of some have to answer within a bound.
describe('a server that fails', () => {
  it('by dying in the middle of a call: the call fails, the server is started again', async (test) => {
    const { start, program, lines, logged } = bench(test)
    const connections = await start({ fix: program('plain') })
    expect(await call(connections, 'fix_die')).toMatchObject({ success: false, error: 'mcp_server_down' })
    await until('it is down', () => alone(connections).state === 'restarting')
    expect(alone(connections).lastError).toBe(
      'it ended with exit code 3; its stderr ends with: fixture: out of cheese',
    )
    expect(connections.tools.map(({ name }) => name)).toContain('fix_add')
    expect(await call(connections, 'fix_add', { a: 1, b: 1 })).toMatchObject({
      success: false,
      error: 'mcp_server_down',
    })
    await until('it is up again', () => alone(connections).state === 'connected')
    expect(await call(connections, 'fix_add', { a: 1, b: 1 })).toMatchObject({ success: true, content: '2' })
    expect(lines('starts')).toHaveLength(2)
    expect(logged.map(({ message }) => message).join('\n')).toContain('out of cheese')
  })

  it('by hanging in one call: the call ends at its timeout, is cancelled at the server, and others go on', async (test) => {
    const { start, program, lines } = bench(test)
    const connections = await start({ fix: program('plain', { timeout_ms: 1_000 }) })
    const hanging = call(connections, 'fix_hang')
    await until(
      'another is answered',
      async () => (await call(connections, 'fix_add', { a: 1, b: 1 })).success,
    )
    expect(await hanging).toEqual({
      success: false,
      error: 'tool_timeout',
      content: 'The MCP server fix did not answer the call of hang within 1 s.',
    })
    await until('the server was told', () => lines('calls').includes('cancelled'))
    expect(alone(connections).state).toBe('connected')
  })

  it('by blocking altogether: it is started again', async (test) => {
    const { start, program, lines } = bench(test)
    const connections = await start({ fix: program('plain', { timeout_ms: 2_000 }) }, { listMsMax: 2_000 })
    expect(await call(connections, 'fix_block')).toMatchObject({ success: false, error: 'tool_timeout' })
    await until(
      'it is started again',
      () => lines('starts').length >= 2 && alone(connections).state === 'connected',
    )
    expect(runs(Number(lines('starts')[0]))).toBe(false)
    await until('it answers again', async () => (await call(connections, 'fix_add', { a: 1, b: 1 })).success)
  })

  it('by a call that is cancelled: it ends at once', async (test) => {
    const { start, program, lines } = bench(test)
    const connections = await start({ fix: program('plain') })
    const stop = new AbortController()
    const hanging = call(connections, 'fix_hang', {}, stop.signal)
    await until('it was called', () => lines('calls').includes('hang'))
    stop.abort()
    expect(await hanging).toMatchObject({ success: false, error: 'cancelled' })
    await until('the server was told', () => lines('calls').includes('cancelled'))
  })

  it('by not answering initialize: it is given up in time, and nothing waited for it', async (test) => {
    const { start, program, lines } = bench(test)
    const connections = await start(
      { slow: program('silent', { restarts_max: 0 }), fix: program('plain') },
      { startMsMax: 20_000 },
    )
    await until('the other is there', () => connections.tools.length > 0)
    await connections.settled
    expect(connections.status[0]).toMatchObject({
      state: 'failed',
      lastError: 'it did not answer within 20 s (given up after 1 time within 10 minutes)',
    })
    expect(await call(connections, 'slow_add')).toMatchObject({ success: false, error: 'mcp_server_down' })
    await until(
      'it is gone',
      () => runs(Number(lines('starts')[0])) === false || runs(Number(lines('starts')[1])) === false,
    )
  })

  it('by dying again and again: it is left alone after its restarts, and its tools are withdrawn', async (test) => {
    const { start, program, lines, folder, logged } = bench(test)
    const connections = await start({ fix: program('plain', { restarts_max: 2 }) })
    await connections.settled
    writeFileSync(join(folder, 'mode'), 'exit')
    await call(connections, 'fix_die')
    await until('it is given up', () => alone(connections).state === 'failed')
    expect(alone(connections).lastError).toBe(
      'it ended with exit code 7; its stderr ends with: fixture: the licence has expired (given up after 3 times within 10 minutes)',
    )
    expect(lines('starts')).toHaveLength(3)
    expect(logged.map(({ event, fields }) => [event, fields['child']])).toEqual([
      ['child_started', 'fix'],
      ['child_restarting', 'fix'],
      ['child_restarting', 'fix'],
      ['supervisor_escalated', 'fix'],
    ])
    expect(connections.tools).toEqual([])
    expect(await call(connections, 'fix_add', { a: 1, b: 1 })).toMatchObject({
      success: false,
      error: 'mcp_server_down',
    })
  })

  it('by ending when it is asked for its era: it is asked the old way at once', async (test) => {
    const { start, program, lines } = bench(test)
    const connections = await start({ fix: program('exits-when-asked', { restarts_max: 0 }) })
    await connections.settled
    expect(connections.status).toMatchObject([{ state: 'connected', server: 'old 0', tools: 0 }])
    expect(lines('starts')).toHaveLength(2)
  })

  it('by writing lines that are no MCP: they are passed over, up to a number', async (test) => {
    const { start, program } = bench(test)
    const connections = await start({
      chatty: program('garbage'),
      flood: program('flood', { restarts_max: 0 }),
    })
    await connections.settled
    expect(connections.status).toMatchObject([
      { state: 'connected' },
      {
        state: 'failed',
        lastError: expect.stringContaining('more than 1000 lines to stdout that are not MCP') as string,
      },
    ])
  })

  it('by a description of 10 MB: it is cut', async (test) => {
    const { start, program } = bench(test)
    const connections = await start({ fix: program('long') })
    await connections.settled
    const changing = connections.tools.find(({ name }) => name === 'fix_changing')
    expect(changing?.description.length).toBeLessThanOrEqual(1_024)
    expect(changing?.description).toContain('[cut: 9999016 more characters]')
  })

  it('by not being there: a sentence says so', async (test) => {
    const { start, program } = bench(test)
    const connections = await start({
      gone: program('plain', { command: 'no-such-program-here', restarts_max: 0 }),
      poor: program('plain', { env: { KEY: '${NO_SUCH_KEY}' } }),
    })
    await connections.settled
    expect(connections.status.map(({ lastError }) => lastError)).toEqual([
      'the program no-such-program-here was not found on PATH (given up after 1 time within 10 minutes)',
      'The environment variable NO_SUCH_KEY is not set. Set it, and start the daemon again.',
    ])
  })
})
