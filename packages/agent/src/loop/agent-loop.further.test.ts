import { calls, rootSpec, says, until, workerSpec } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { add, begin, probe, results } from '../../test/loop-kit.ts'

const external = (n: number) =>
  Array.from({ length: n }, (_, i) => ({
    ...probe(`mcp_tool_${i}`, () => `result ${i}`),
    inHost: true as const,
  }))

describe('a root with 200 external tools', () => {
  const tools = [add, ...external(200)]
  const replies = [
    calls(['find_tools', { query: 'mcp_tool_150' }]),
    calls(['use_tool', { name: 'mcp_tool_150', arguments: { n: 1 } }]),
    calls(['use_tool', { name: 'mcp_tool_999', arguments: {} }]),
    says('done'),
  ]

  it('finds one and calls it; the journal has the call of the tool itself', async () => {
    const { end, host } = begin({ replies, tools })
    expect((await end).status).toBe('completed')
    expect(results(host)).toMatchObject([
      { tool_name: 'find_tools', success: true },
      { tool_name: 'mcp_tool_150', success: true, content: 'result 150' },
      { tool_name: 'use_tool', success: false, error: 'unknown_tool' },
    ])
  })

  it('sends the same tools in each request, fewer than 128, and each request begins with the one before', async () => {
    const { end, provider } = begin({ replies, tools, spec: rootSpec({ part: { text: 'Do it.' } }) })
    await end
    const sent = provider.requests.map(({ tools: each, messages }) => ({
      tools: JSON.stringify(each),
      messages: JSON.stringify(messages).slice(0, -1),
    }))
    expect(new Set(sent.map((each) => each.tools)).size).toBe(1)
    expect(provider.requests[0]?.tools.length).toBeLessThan(20)
    for (const [i, { messages }] of sent.slice(1).entries())
      expect(messages.startsWith(sent[i]?.messages ?? '?')).toBe(true)
    expect(sent.at(-1)?.messages).toContain('use_tool')
  })

  it('may be denied a further tool by a rule about that tool', async () => {
    const { end, host } = begin({ replies, tools, permissions: [{ tool: 'mcp_tool_150', decision: 'deny' }] })
    await end
    expect(results(host)[1]).toMatchObject({ tool_name: 'mcp_tool_150', success: false })
  })
})

it('a member of a team with shared state has its tool in each request, however many tools there are', async () => {
  const tools = Array.from({ length: 41 }, (_, i) => probe(`tool_${i}`, () => 'x'))
  const { end, provider } = begin({
    replies: [says('done')],
    tools,
    spec: workerSpec({ part: { sharedState: true } }),
  })
  await end
  expect(provider.requests[0]?.tools.map(({ name }) => name)).toContain('team_shared_state')
})

it('what find_tools finds is as short as a tool that is sent', async () => {
  const tools = external(50).map((tool) => ({
    ...tool,
    parameters: {
      type: 'object',
      title: 'inside',
      properties: { secretly: { type: 'string', brief: null } },
    },
  }))
  const { end, host } = begin({
    replies: [calls(['find_tools', { query: 'mcp_tool_7' }]), says('done')],
    tools,
  })
  await end
  expect(results(host)[0]?.content).toContain('mcp_tool_7')
  expect(results(host)[0]?.content).not.toMatch(/inside|secretly/)
})

it('a worker that is allowed few of many tools gets them directly', async () => {
  const { end, provider } = begin({
    replies: [says('done')],
    tools: external(200),
    spec: workerSpec({ part: { allowedToolNames: ['mcp_tool_7'] } }),
  })
  await end
  expect(provider.requests[0]?.tools.map(({ name }) => name)).toEqual(['mcp_tool_7'])
})

describe('a run whose tools a stranger described', () => {
  const strangers = (n: number) => external(n).map((tool) => ({ ...tool, describedBy: 'the server' }))
  const untrusted = async (given: Parameters<typeof begin>[0]) =>
    (await begin(given).end).taint?.untrusted ?? []

  it('has read them with its first request', async () => {
    expect(await untrusted({ replies: [says('done')], tools: [add, ...strangers(2)] })).toEqual([
      'the server',
    ])
    expect(await untrusted({ replies: [says('done')], tools: [add, ...external(2)] })).toEqual([])
  })

  it('may call the tools of the one that described them, and is asked about those of others', async () => {
    const of = (name: string, describedBy?: string) => ({
      ...probe(name, () => 'x'),
      inHost: true as const,
      sink: 'send' as const,
      ...(describedBy === undefined ? {} : { describedBy }),
    })
    const asks = async (...tools: ReturnType<typeof of>[]): Promise<boolean> => {
      const loop = begin({ replies: [calls([tools[0]?.name ?? '', { n: 1 }]), says('done')], tools })
      let ended = false
      void loop.end.finally(() => (ended = true))
      await until('the loop ends or asks', () => ended || loop.host.undecided.length > 0)
      loop.cancel()
      return !ended
    }
    expect(await asks(of('a_one', 'the server a'), of('a_two', 'the server a'))).toBe(false)
    expect(await asks(of('a_one', 'the server a'), of('b_one', 'the server b'))).toBe(true)
    expect(await asks(of('own'), of('b_one', 'the server b'))).toBe(true)
  })

  it('has read those that are not sent only when find_tools shows them', async () => {
    const tools = [add, ...strangers(200)]
    expect(await untrusted({ replies: [says('done')], tools })).toEqual([])
    const finds = [calls(['find_tools', { query: 'mcp_tool_150' }]), says('done')]
    expect(await untrusted({ replies: finds, tools })).toEqual(['the server'])
  })
})
