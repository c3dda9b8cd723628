// What a server with too many tools, too much text or too many notices costs.
import { describe, expect, it } from 'vitest'
import { bench, call, until } from '../../test/kit.ts'
import { serverBounds, totalBounds } from './bound-tools.ts'
import { mcpReportFile, readMcpReport } from './status-file.ts'

/** What the tools add to a request to a model. */
const bytesOf = (tools: readonly { name: string; description: string; parameters: unknown }[]): number =>
  Buffer.byteLength(
    JSON.stringify(tools.map(({ name, description, parameters }) => [name, description, parameters])),
  )

describe.concurrent('a server that lists too much', () => {
  it('gets no more than its part of a request to a model; the rest is left out, told and logged', async (test) => {
    const { start, raw, logged, folder } = bench(test)
    const reportFile = mcpReportFile(folder)
    const connections = await start({ big: raw({ RAW_TOOLS: '1000', RAW_CHARS: '8000' }) }, { reportFile })
    await connections.settled
    expect(connections.tools.length).toBeGreaterThan(10)
    expect(bytesOf(connections.tools)).toBeLessThan(serverBounds.bytesMax * 1.05)
    const [status] = connections.status
    expect(status?.leftOut).toHaveLength(1_000 - connections.tools.length)
    expect(status?.leftOut[0]?.reason).toContain(
      'beyond the bound of one server (200 tools and 256 KiB of text)',
    )
    expect(logged.filter(({ event }) => event === 'mcp_tools_left_out')).toHaveLength(1)
    expect(readMcpReport(reportFile)).toMatchObject({
      pid: process.pid,
      servers: [{ name: 'big', state: 'connected', left_out: status?.leftOut.length }],
    })
  })

  it('gets a bounded number of small tools, and the configuration selects which', async (test) => {
    const { start, raw } = bench(test)
    const connections = await start({
      many: raw({ RAW_TOOLS: '900' }),
      some: raw({ RAW_TOOLS: '900' }, { tools: ['t899', 't5'] }),
    })
    await connections.settled
    const of = (server: string): string[] =>
      connections.tools.map(({ name }) => name).filter((name) => name.startsWith(server))
    expect([of('many').length, of('some')]).toEqual([serverBounds.toolsMax, ['some_t5', 'some_t899']])
  })

  it('takes no more than the rest from the servers beside it', async (test) => {
    const { start, raw, logged } = bench(test)
    const servers = Object.fromEntries(
      ['a', 'b', 'c', 'd'].map((name) => [name, raw({ RAW_TOOLS: '300', RAW_CHARS: '900' })]),
    )
    const connections = await start(servers)
    await connections.settled
    expect(connections.tools.length).toBeLessThanOrEqual(totalBounds.toolsMax)
    expect(bytesOf(connections.tools)).toBeLessThan(totalBounds.bytesMax * 1.05)
    const told = connections.status.map(({ tools, leftOut }) => tools + leftOut.length)
    expect(told).toEqual([300, 300, 300, 300])
    expect(connections.status[3]?.leftOut.at(-1)?.reason).toContain('of all servers together')
    expect(
      logged.some(({ event, fields }) => event === 'mcp_tools_left_out' && fields['server'] === 'd'),
    ).toBe(true)
  })
})

describe.concurrent('a server that says again and again that its list has changed', () => {
  it('is asked once at once, and then no more for seconds', async (test) => {
    const { start, raw, lines } = bench(test)
    const connections = await start({ noisy: raw({ RAW_TOOLS: '3', RAW_FLOOD: '2000' }) })
    await connections.settled
    await until('it was asked again', () => lines('calls').length >= 2)
    // Each answer is followed by 2,000 notices. They were all read when the server answers a later call.
    for (let i = 0; i < 20; i++) expect(await call(connections, 'noisy_t0')).toMatchObject({ success: true })
    expect(lines('calls')).toHaveLength(2)
  })
})
