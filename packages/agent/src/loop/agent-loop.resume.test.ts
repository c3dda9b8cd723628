import type { DomainEvent } from '@beaver/core'
import { foldTask } from '@beaver/core/fold'
import type { RecordedEvent } from '@beaver/core/journal'
import { policiesWith } from '@beaver/core/supervision'
import { calls, memoryHost, rootSpec, says, type ScriptedReply, until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import {
  add,
  advanceUntilSettled,
  begin,
  probe,
  results,
  sequential,
  teamResult,
  toolMessages,
} from '../../test/loop-kit.ts'
import { ProviderError } from '../provider/chat-provider.ts'
import type { LoopEnd, TeamRunResult } from './loop-spec.ts'

describe('taken up again (L2, L3)', () => {
  const script = (): ScriptedReply[] => [
    calls(['add', { a: 1, b: 2 }], ['add', { a: 3, b: 4 }]),
    { ...calls(['add', { a: 3, b: 7 }]), content: 'one more' },
    says('10'),
  ]

  it('after every prefix of its journal it ends the same, with the same conversation, and asks for no answer it has', async () => {
    const whole = begin({ replies: script() })
    const wholeEnd = await whole.end
    const { entries } = whole.host
    expect(entries.length).toBeGreaterThan(5)
    for (let kept = 0; kept <= entries.length; kept++) {
      const prefix = entries.slice(0, kept)
      const answered = prefix.flat().filter((event) => event.type === 'assistant_message_added').length
      const host = memoryHost({ entries: prefix })
      const again = begin({
        replies: script().slice(answered),
        host,
        spec: rootSpec({ resume: kept === 0 ? null : prefix.flat() }),
      })
      const end = await again.end
      expect([kept, again.provider.repliesLeft]).toEqual([kept, 0])
      expect(strip(end)).toEqual(strip(wholeEnd))
      expect(conversationOf(host.events)).toEqual(conversationOf(whole.host.events))
      expect(host.types.filter((type) => type === 'run_completed')).toHaveLength(1)
    }
  })

  it('an ended run is not run again: its end is read from the journal, and nothing is written', async () => {
    const whole = begin({ replies: [says('42')] })
    await whole.end
    const host = memoryHost({ entries: whole.host.entries })
    const again = begin({ replies: [], host, spec: rootSpec({ resume: whole.host.events }) })
    expect(await again.end).toMatchObject({ status: 'completed', facts: { outputText: '42' } })
    expect(host.entries).toHaveLength(whole.host.entries.length)
  })

  it('a call that had begun is run again only if its tool is idempotent; else it is in doubt', async () => {
    const once = { ...probe('once', () => 'side effect'), effects: 'reads' as const }
    const safe = { ...probe('safe', () => 'read', true), effects: 'reads' as const }
    const host = memoryHost()
    const first = begin({
      replies: [calls(['once', {}], ['safe', {}], ['nowhere', {}])],
      tools: [once, safe],
      host,
    })
    host.hold('assistant_message_added') // its process dies with the tools under way: no result is ever durable
    await until('the answer waits', () => host.waiting.length === 1)
    host.settle()
    await until('the tools ran', () => once.calls.length === 1 && safe.calls.length === 1)
    const crashed = memoryHost({ entries: host.entries })
    const again = begin({
      replies: [says('ok')],
      tools: [once, safe],
      host: crashed,
      spec: rootSpec({ resume: crashed.events }),
    })
    expect((await again.end).status).toBe('completed')
    expect([once.calls.length, safe.calls.length]).toEqual([1, 2])
    expect(new Map(results(crashed).map(({ tool_name, error }) => [tool_name, error]))).toEqual(
      new Map([
        ['nowhere', 'tool_not_available'],
        ['once', 'in_doubt'],
        ['safe', null],
      ]),
    )
    expect(toolMessages(again.provider).map(([id]) => id)).toEqual(['c1', 'c2', 'c3'])
    first.cancel()
  })

  it.each([
    ['a rule that forbids it now', true, [{ tool: 'read', decision: 'deny' as const }], 'permission_denied'],
    ['a record that calls its tool idempotent, which it is not', false, [], 'in_doubt'],
  ])('a call that had begun does not run again against %s', async (_, idempotent, permissions, error) => {
    const read = probe('read', () => new Promise(() => {}), true)
    const host = memoryHost()
    const first = begin({ replies: [calls(['read', {}])], tools: [read], host })
    await until('the tool is at work', () => read.calls.length === 1)
    const now = probe('read', () => 'it ran', idempotent)
    const crashed = memoryHost({ entries: host.entries })
    const again = begin({
      replies: [says('ok')],
      tools: [now],
      permissions,
      host: crashed,
      spec: rootSpec({ resume: crashed.events }),
    })
    expect((await again.end).status).toBe('completed')
    expect(now.calls).toEqual([])
    expect(results(crashed).map((each) => each.error)).toEqual([error])
    first.cancel()
  })

  it('a call that had begun asks a person if a rule asks now', async () => {
    const read = probe('read', () => new Promise(() => {}), true)
    const host = memoryHost()
    const first = begin({ replies: [calls(['read', {}])], tools: [read], host })
    await until('the tool is at work', () => read.calls.length === 1)
    const now = probe('read', () => 'it ran', true)
    const crashed = memoryHost({ entries: host.entries })
    begin({
      replies: [says('ok')],
      tools: [now],
      permissions: [{ tool: 'read', decision: 'ask' }],
      host: crashed,
      spec: rootSpec({ resume: crashed.events }),
    })
    await until('a person is asked', () => crashed.types.includes('approval_requested'))
    expect(now.calls).toEqual([])
    first.cancel()
  })

  it('a workflow call that had begun is called for again: its host knows the team', async () => {
    const asked: string[] = []
    const runTeam = (callId: string): Promise<TeamRunResult> => (
      asked.push(callId),
      Promise.resolve(teamResult)
    )
    const never = memoryHost({ runTeam: () => new Promise(() => {}) })
    begin({ replies: [calls(['SequentialWorkflow', sequential])], host: never })
    await until('the call is journaled', () => never.types.includes('tool_call_started'))
    const host = memoryHost({ entries: never.entries, runTeam })
    const again = begin({ replies: [says('ok')], host, spec: rootSpec({ resume: host.events }) })
    await again.end
    expect(asked).toEqual(['c1'])
    expect(results(host)).toMatchObject([{ call_id: 'c1', success: true }])
  })

  it('a workflow call that had begun keeps its team though it cannot be planned any more', async () => {
    const asked: string[] = []
    const call = { ...sequential, agents: [{ name: 'a', instruction: 'do a', allowed_tool_names: ['add'] }] }
    const never = memoryHost({ runTeam: () => new Promise(() => {}) })
    begin({ replies: [calls(['SequentialWorkflow', call])], host: never, tools: [add] })
    await until('the call is journaled', () => never.types.includes('tool_call_started'))
    const host = memoryHost({
      entries: never.entries,
      knownTeam: (callId) => (asked.push(callId), Promise.resolve(teamResult)),
    })
    await begin({
      replies: [says('ok')],
      host,
      workflowLimits: { agentsMax: 0 },
      spec: rootSpec({ resume: host.events }),
    }).end
    expect(asked).toEqual(['c1'])
    expect(results(host)).toMatchObject([{ call_id: 'c1', success: true }])
    const without = memoryHost({ entries: never.entries })
    await begin({
      replies: [says('ok')],
      host: without,
      workflowLimits: { agentsMax: 0 },
      spec: rootSpec({ resume: without.events }),
    }).end
    expect(results(without)).toMatchObject([{ call_id: 'c1', success: false, error: 'too_many_agents' }])
  })

  it('the tries of the provider call go on counting where they stood', async () => {
    const fail = (): Error => new ProviderError('provider_timeout', 'no answer')
    const host = memoryHost()
    const first = begin({ replies: [fail(), says('never asked')], host })
    await until('the first try is journaled', () => host.types.includes('provider_call_failed'))
    const resumed = memoryHost({ entries: host.entries })
    const policies = policiesWith({ outageMsMax: 0 })
    const again = begin({
      replies: [fail(), fail()],
      host: resumed,
      spec: rootSpec({ resume: resumed.events }),
      policies,
    })
    await advanceUntilSettled(again)
    expect(await again.end).toMatchObject({
      status: 'failed',
      failure: { class: 'provider_timeout', message: 'no answer (tried 3 times)' },
    })
    first.cancel()
  })
})

const strip = ({ facts, ...end }: LoopEnd): unknown => ({
  ...end,
  outputText: facts.outputText,
  tools: facts.tools.map(({ tool, success }) => [tool, success]),
})

/** The messages of the run a journal holds. */
function conversationOf(events: readonly RecordedEvent[]): unknown {
  const only: readonly DomainEvent[] = events
  expect(only.length).toBeGreaterThan(0)
  return foldTask(events).runs.get('run1')?.messages
}
