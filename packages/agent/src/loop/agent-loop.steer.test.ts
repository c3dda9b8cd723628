// A person steers a run: the run is given the text once, before its next request to the model.
import type { ChatMessage } from '@beaver/core'
import { calls, held, memoryHost, rootSpec, says, until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { begin, lastMessages, probe, sequential, teamResult } from '../../test/loop-kit.ts'
import type { ChatAnswer } from '../provider/chat-provider.ts'

const told = (message: ChatMessage | undefined): string =>
  message?.role === 'user' ? (/>\n([^]*)\n<\/instruction/.exec(message.content)?.[1] ?? '') : ''
const usage = { input_tokens: 1, output_tokens: 1, calls: 1 }
const answerOf = (content: string): ChatAnswer => ({
  content,
  toolCalls: [],
  finishReason: 'stop',
  usage,
  model: 'm',
  responseId: null,
})
const roles = (messages: readonly ChatMessage[]): string[] => messages.slice(2).map(({ role }) => role)

describe('a text that steers a run', () => {
  it('that comes while a tool runs is given after its result, as an instruction of the user in a frame', async () => {
    const result = held<string>()
    const tool = probe('tool', () => result.promise)
    const { host, end, provider } = begin({ replies: [calls(['tool', {}]), says('done')], tools: [tool] })
    await until('the tool runs', () => tool.calls.length === 1)
    host.steer('s1', 'Leave out the drafts.')
    result.settle('x')
    expect((await end).steersGiven).toEqual(['s1'])
    expect(roles(lastMessages(provider))).toEqual(['assistant', 'tool', 'user'])
    expect(lastMessages(provider).at(-1)?.content).toMatch(
      /^The user adds while you work:\n<instruction from="user" mark="([a-z]{8})">\nLeave out the drafts\.\n<\/instruction mark="\1">$/,
    )
    expect(host.types.slice(-4)).toEqual([
      'tool_result_recorded',
      'user_message_added',
      'assistant_message_added',
      'run_completed',
    ])
  })

  it('cannot close its frame', async () => {
    const host = memoryHost()
    host.steer('s1', 'x </instruction> y </instruction mark="')
    const { end, provider } = begin({ replies: [says('done')], host })
    await end
    const content = lastMessages(provider).at(-1)?.content ?? ''
    const mark = /mark="([a-z]{8})"/.exec(content)?.[1] ?? ''
    expect(content.split(mark)).toHaveLength(3)
  })

  it('that comes while the model gives its last answer makes the run think again', async () => {
    const answer = held<ChatAnswer>()
    const { host, end, provider } = begin({ replies: [answer.promise, says('without drafts')] })
    await until('the model is asked', () => provider.requests.length === 1)
    host.steer('s1', 'Leave out the drafts.')
    answer.settle(answerOf('with drafts'))
    expect((await end).facts.outputText).toBe('without drafts')
    expect(host.entries.map((entry) => entry.map(({ type }) => type)).slice(1)).toEqual([
      ['task_steer_requested'],
      ['assistant_message_added', 'user_message_added'],
      ['assistant_message_added', 'run_completed'],
    ])
    expect(roles(lastMessages(provider))).toEqual(['assistant', 'user'])
  })

  it('that is recorded just before the end of the run makes it think again', async () => {
    const host = memoryHost()
    const { end, provider } = begin({ replies: [says('with drafts'), says('without drafts')], host })
    host.hold('run_completed')
    await until('the end waits to be durable', () => host.waiting.length === 1)
    host.steer('s1', 'Leave out the drafts.')
    host.settle()
    for (let i = 0; i < 2; i++) {
      await until('the next append waits', () => host.waiting.length === 1)
      host.settle()
    }
    expect((await end).facts.outputText).toBe('without drafts')
    expect(host.types.filter((type) => type === 'run_completed')).toHaveLength(1)
    expect(provider.requests).toHaveLength(2)
  })

  it('that comes while a team works whose text is delivered makes the run go on with the result, and one request is made', async () => {
    const host = memoryHost({
      runTeam: async () => {
        host.steer('s1', 'Shorter.')
        return teamResult
      },
    })
    const { end, provider } = begin({
      replies: [calls(['SequentialWorkflow', { ...sequential, deliver: 'user' }]), says('short')],
      host,
    })
    expect((await end).facts.outputText).toBe('short')
    expect(provider.requests).toHaveLength(2)
    expect(told(lastMessages(provider).at(-1))).toBe('Shorter.')
  })

  it('is given once when the run is resumed: by the second process if the first had not given it, else by none', async () => {
    const result = held<string>()
    const tool = probe('tool', () => result.promise, true)
    const first = begin({ replies: [calls(['tool', {}]), says('done')], tools: [tool] })
    await until('the tool runs', () => tool.calls.length === 1)
    first.host.steer('s1', 'Leave out the drafts.')
    const before = memoryHost({ entries: first.host.entries })
    before.steer('s2', 'And the notes.')
    const steers = (): { requestId: string; text: string }[] => [
      { requestId: 's1', text: 'Leave out the drafts.' },
      ...(before.steers?.() ?? []),
    ]
    const again = begin({
      replies: [says('done')],
      tools: [probe('tool', () => 'x', true)],
      host: Object.assign(Object.create(before) as typeof before, { steers }),
      spec: rootSpec({ resume: before.events.filter(({ runId }) => runId !== undefined) }),
    })
    expect((await again.end).steersGiven).toEqual(['s1', 's2'])
    expect(lastMessages(again.provider).slice(-2).map(told)).toEqual([
      'Leave out the drafts.',
      'And the notes.',
    ])

    const given = again.host.events.filter(
      ({ type, runId }) => runId !== undefined && type !== 'run_completed',
    )
    const third = begin({
      replies: [says('done')],
      host: memoryHost({ entries: [given.slice(0, -1)] }),
      spec: rootSpec({ resume: given.slice(0, -1) }),
    })
    await third.end
    expect(third.host.types.filter((type) => type === 'user_message_added')).toHaveLength(3)
  })

  it('waits while a call waits for an approval', async () => {
    const permissions = [{ tool: 'tool', decision: 'ask' as const }]
    const { host, end, provider } = begin({
      replies: [calls(['tool', {}]), says('done')],
      tools: [probe('tool', () => 'x')],
      permissions,
    })
    await until('the call waits', () => host.undecided.length === 1)
    host.steer('s1', 'Leave out the drafts.')
    expect(provider.requests).toHaveLength(1)
    host.decide('c1', { approved: true })
    await end
    expect(roles(lastMessages(provider))).toEqual(['assistant', 'tool', 'user'])
  })

  it('does not keep a run from failing', async () => {
    const answer = held<ChatAnswer>()
    const { host, end, provider } = begin({ replies: [answer.promise, says('never')] })
    await until('the model is asked', () => provider.requests.length === 1)
    host.steer('s1', 'Leave out the drafts.')
    answer.settle(answerOf(''))
    expect((await end).status).toBe('failed')
  })
})
