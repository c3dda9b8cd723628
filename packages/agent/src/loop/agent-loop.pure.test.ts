import { switchOff } from '@beaver/core'
import { calls, memoryHost, says, toolSpec, until } from '@beaver/testing'
import { afterEach, describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { begin, probe, results, resumed, toolMessages, turns } from '../../test/loop-kit.ts'
import { defineTool, type Tool, type ToolContext } from '../tools/tool.ts'

const pure = (
  name: string,
  run: (n: number, context: ToolContext) => unknown,
): Tool & { readonly calls: number[] } => {
  const made: number[] = []
  const input = z.strictObject({ n: z.number() })
  const tool = defineTool({
    name,
    description: name,
    input,
    pure: true,
    run: ({ n }, context) => (made.push(n), run(n, context)),
  })
  return { ...tool, calls: made }
}
const double = () => pure('double', (n) => 2 * n)

afterEach(() => switchOff(undefined))

describe('a call of a pure tool', () => {
  it('has its result in one entry with the answer that made it, and the model reads it', async () => {
    const { end, host, provider } = begin({
      replies: [calls(['double', { n: 4 }]), says('8')],
      tools: [double()],
    })
    expect((await end).status).toBe('completed')
    expect(host.entries.map((entry) => entry.map(({ type }) => type))).toEqual([
      ['run_started', 'system_prompt_snapshotted', 'user_message_added'],
      ['assistant_message_added', 'tool_call_started', 'tool_result_recorded'],
      ['assistant_message_added', 'run_completed'],
    ])
    expect(toolMessages(provider)).toEqual([['c1', '8']])
  })

  it('is made after it is recorded where a bench has switched the optimisation off', async () => {
    switchOff('pure_tools_ahead')
    const { end, host, provider } = begin({
      replies: [calls(['double', { n: 4 }]), says('8')],
      tools: [double()],
    })
    expect((await end).status).toBe('completed')
    expect(host.entries.map((entry) => entry.map(({ type }) => type)).slice(1, 3)).toEqual([
      ['assistant_message_added', 'tool_call_started'],
      ['tool_result_recorded'],
    ])
    expect(toolMessages(provider)).toEqual([['c1', '8']])
  })

  it('is used after it is durable: until then the model is not asked again', async () => {
    const tool = double()
    const host = memoryHost()
    host.hold('assistant_message_added')
    const { end, provider } = begin({
      replies: [calls(['double', { n: 4 }]), says('8')],
      tools: [tool],
      host,
    })
    await until('the entry waits', () => host.waiting.length === 1)
    await turns()
    expect([tool.calls, provider.requests.length]).toEqual([[4], 1])
    host.settle()
    await until('the end waits', () => host.waiting.length === 1)
    host.settle()
    expect((await end).status).toBe('completed')
  })

  it('beside others: the others begin when the entry is durable, and results stand in the order of the calls', async () => {
    const slow = probe('slow', () => 'slow')
    const host = memoryHost()
    host.hold('assistant_message_added')
    const replies = [calls(['double', { n: 1 }], ['slow', {}], ['double', { n: 2 }]), says('done')]
    const { end, provider } = begin({ replies, tools: [slow, double()], host })
    await until('the entry waits', () => host.waiting.length === 1)
    await turns()
    expect(slow.calls).toEqual([])
    expect(host.waiting[0]).toEqual([
      'assistant_message_added',
      'tool_call_started',
      'tool_call_started',
      'tool_call_started',
      'tool_result_recorded',
      'tool_result_recorded',
    ])
    for (let i = 0; i < 3; i++) {
      host.settle()
      if (i < 2) await until('the next waits', () => host.waiting.length === 1)
    }
    await end
    expect(slow.calls).toEqual([0])
    expect(toolMessages(provider)).toEqual([
      ['c1', '2'],
      ['c2', 'slow'],
      ['c3', '4'],
    ])
  })

  it('that takes longer than the callback is recorded as begun; its result follows, and it is made once', async () => {
    const waits = Promise.withResolvers<number>()
    const tool = pure('later', () => waits.promise)
    const { end, host } = begin({ replies: [calls(['later', { n: 4 }]), says('8')], tools: [tool] })
    await until('it has begun', () => host.types.includes('tool_call_started'))
    await turns()
    expect(host.types).not.toContain('tool_result_recorded')
    waits.resolve(8)
    await end
    expect([tool.calls, results(host)]).toMatchObject([[4], [{ call_id: 'c1', success: true, content: '8' }]])
  })

  it('whose result was not there before a crash is made again', async () => {
    const never = pure('double', () => new Promise(() => {}))
    const crashed = begin({ replies: [calls(['double', { n: 4 }])], tools: [never] })
    await until('it has begun', () => crashed.host.types.includes('tool_call_started'))
    const { end, host } = resumed(crashed.host.entries, { replies: [says('8')], tools: [double()] })
    expect((await end).status).toBe('completed')
    expect(results(host)).toMatchObject([{ success: true, content: '8' }])
  })

  test.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('boom')
      },
      'tool_crash',
    ],
    ['rejects', () => Promise.reject(new Error('boom')), 'tool_crash'],
    ['returns what is no data', () => 10n, 'invalid_result'],
  ])('that %s has failed, in the same entry', async (_, run, error) => {
    const { end, host } = begin({
      replies: [calls(['bad', { n: 1 }]), says('I see')],
      tools: [pure('bad', run)],
    })
    expect((await end).status).toBe('completed')
    expect(host.entries[1]?.at(-1)).toMatchObject({
      type: 'tool_result_recorded',
      data: { success: false, error },
    })
  })

  it('with arguments that do not fit has failed, in the same entry, and did not run', async () => {
    const tool = double()
    const { end, host } = begin({ replies: [calls(['double', { n: 'four' }]), says('I see')], tools: [tool] })
    await end
    expect(host.entries[1]?.at(-1)).toMatchObject({
      type: 'tool_result_recorded',
      data: { error: 'invalid_arguments' },
    })
    expect(tool.calls).toEqual([])
  })

  it('that a person decides about is not made before', async () => {
    const tool = double()
    const rules = [{ tool: 'double', pattern: '*', decision: 'ask' as const }]
    const { end, host } = begin({
      replies: [calls(['double', { n: 4 }]), says('8')],
      tools: [tool],
      permissions: rules,
    })
    await until('the decision is waited for', () => host.undecided.length === 1)
    await turns()
    expect(tool.calls).toEqual([])
    host.decide('c1', { approved: true })
    await end
    expect(tool.calls).toEqual([4])
  })

  it('that a rule denies is never made', async () => {
    const tool = double()
    const rules = [{ tool: 'double', pattern: '*', decision: 'deny' as const }]
    const { end, host } = begin({
      replies: [calls(['double', { n: 4 }]), says('no')],
      tools: [tool],
      permissions: rules,
    })
    await end
    expect([tool.calls, results(host)[0]?.error]).toEqual([[], 'permission_denied'])
  })

  it('has nothing of its host: what asks for it fails, by name', async () => {
    const tool = pure('remembers', (_, { memory }) => memory({} as never))
    const { end, host } = begin({ replies: [calls(['remembers', { n: 1 }]), says('I see')], tools: [tool] })
    await end
    expect(results(host)[0]).toMatchObject({
      error: 'not_pure',
      content: expect.stringContaining('remembers says that it is pure, but it asked for the memory'),
    })
  })

  it('of an answer that came when the run was cancelled is not made', async () => {
    const tool = double()
    const loop = begin({
      replies: [
        () => {
          loop.cancel('enough')
          return calls(['double', { n: 4 }])
        },
      ],
      tools: [tool],
    })
    expect((await loop.end).status).toBe('cancelled')
    expect(tool.calls).toEqual([])
  })
})

it('a tool node of a pure tool is its start, its call and its result in one entry', async () => {
  const { end, host } = begin({
    replies: [],
    tools: [double()],
    spec: toolSpec({ part: { tool: 'double', arguments: { n: 4 } } }),
  })
  expect(await end).toMatchObject({ status: 'completed', facts: { outputText: '8' } })
  expect(host.entries.map((entry) => entry.length)).toEqual([4, 1])
})
