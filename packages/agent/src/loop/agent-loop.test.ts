import { calls, held, memoryHost, rootSpec, says, until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { begin, lastMessages, probe, results, toolMessages, turns } from '../../test/loop-kit.ts'
import { ProviderError } from '../provider/chat-provider.ts'

describe('a run', () => {
  it('of one answer is four entries of state and one end', async () => {
    const { end, host, provider } = begin({ replies: [says('42')] })
    expect(await end).toMatchObject({
      status: 'completed',
      facts: { outputText: '42' },
      failure: null,
      usage: { input_tokens: 10, output_tokens: 5, calls: 1 },
      provider: 'scripted',
      model: 'scripted-model',
    })
    expect(host.entries.map((entry) => entry.map((event) => event.type))).toEqual([
      ['run_started', 'system_prompt_snapshotted', 'user_message_added'],
      ['assistant_message_added', 'run_completed'],
    ])
    expect(provider.requests[0]?.messages.map((message) => message.role)).toEqual(['system', 'user'])
  })

  it('of two tools calls them, records them, and gives the results back in the order of the calls', async () => {
    const slow = held<string>()
    const first = { ...probe('first', () => slow.promise), effects: 'reads' as const }
    const second = { ...probe('second', () => 'two'), effects: 'reads' as const }
    const loop = begin({
      replies: [calls(['first', {}], ['second', {}]), says('done')],
      tools: [first, second],
    })
    await until('the second tool has its result', () => results(loop.host).length === 1)
    expect(results(loop.host)[0]?.tool_name).toBe('second')
    slow.settle('one')
    expect((await loop.end).facts.tools.map((fact) => fact.tool)).toEqual(['second', 'first'])
    expect(toolMessages(loop.provider)).toEqual([
      ['c1', 'one'],
      ['c2', 'two'],
    ])
    expect(loop.host.types).toEqual([
      ...['run_started', 'system_prompt_snapshotted', 'user_message_added'],
      ...['assistant_message_added', 'tool_call_started', 'tool_call_started'],
      ...['tool_result_recorded', 'tool_result_recorded'],
      ...['assistant_message_added', 'run_completed'],
    ])
  })

  it('tells its host how it ends with the events that end it, and only with those', async () => {
    const { end, host } = begin({ replies: [calls(['add', { a: 1, b: 2 }]), says('3')] })
    await end
    expect(host.ends).toMatchObject([
      { status: 'completed', facts: { outputText: '3' }, usage: { calls: 2 } },
    ])
  })

  it('continues from the history of its session, after the system prompt and before its own message', async () => {
    const history = [
      { role: 'user' as const, content: 'before' },
      { role: 'assistant' as const, content: 'answered' },
    ]
    const { end, provider } = begin({
      replies: [calls(['add', { a: 1, b: 1 }]), says('2')],
      spec: rootSpec({ history }),
    })
    await end
    expect(
      lastMessages(provider).map((message) => [
        message.role,
        message.role === 'system' ? '' : message.content,
      ]),
    ).toEqual([
      ['system', ''],
      ['user', 'before'],
      ['assistant', 'answered'],
      ['user', 'do it'],
      ['assistant', null],
      ['tool', '2'],
    ])
  })

  it('whose task is lost in the middle rejects, and does nothing more', async () => {
    const tool = probe('tool', () => 'x')
    const host = memoryHost()
    const loop = begin({ replies: [calls(['tool', {}]), says('never')], tools: [tool], host })
    host.hold('assistant_message_added')
    await until('the answer waits to be durable', () => host.waiting.length === 1)
    host.refuse(new Error('fenced'))
    await expect(loop.end).rejects.toThrow('fenced')
    expect([tool.calls.length, loop.provider.requests.length]).toEqual([0, 1])
  })
})

describe('durable before effect (L1)', () => {
  it('the provider is not asked before the message it is asked with is durable', async () => {
    const host = memoryHost()
    host.hold()
    const { end, provider } = begin({ replies: [says('x')], host })
    await until('the start waits', () => host.waiting.length === 1)
    await turns()
    expect(provider.requests).toHaveLength(0)
    host.settle()
    await until('the provider is asked', () => provider.requests.length === 1)
    await until('the answer waits', () => host.waiting.length === 1)
    host.settle()
    expect((await end).status).toBe('completed')
  })

  it('no tool starts before the answer that calls it, and its own start, are durable', async () => {
    const tool = { ...probe('tool', () => 'x'), effects: 'reads' as const }
    const host = memoryHost()
    const loop = begin({
      replies: [calls(['tool', { n: 1 }], ['tool', { n: 2 }]), says('x')],
      tools: [tool],
      host,
    })
    host.hold('assistant_message_added')
    await until('the answer waits', () => host.waiting.length === 1)
    expect(host.waiting[0]).toEqual(['assistant_message_added', 'tool_call_started', 'tool_call_started'])
    await turns()
    expect(tool.calls).toEqual([])
    host.settle()
    await until('both results wait', () => host.waiting.length === 2)
    // They run side by side, so either may begin first.
    expect(new Set(tool.calls)).toEqual(new Set([1, 2]))
    host.settle()
    await turns()
    expect(loop.provider.requests).toHaveLength(1) // the second result is not durable yet
    host.settle()
    await until('the provider is asked again', () => loop.provider.requests.length === 2)
    await until('the end waits', () => host.waiting.length === 1)
    let ended = false
    void loop.end.then(() => (ended = true))
    await turns()
    expect(ended).toBe(false)
    host.settle()
    await loop.end
  })

  it('a failed try is durable before the pause and the next one', async () => {
    const host = memoryHost()
    const loop = begin({
      replies: [new ProviderError('rate_limited', 'slow down', { status: 429 }), says('x')],
      host,
    })
    host.hold('provider_call_failed')
    await until('the failure waits', () => host.waiting.length === 1)
    expect(host.waiting[0]).toEqual(['provider_call_failed'])
    loop.clock.advance(60_000)
    await turns()
    expect(loop.provider.requests).toHaveLength(1)
  })
})
