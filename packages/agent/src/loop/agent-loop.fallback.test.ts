import { fallbackClasses, failureClass, failurePolicies, policiesWith } from '@beaver/core/supervision'
import { calls, memoryHost, rootSpec, says, streams, until } from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import {
  advanceUntilSettled,
  begin,
  guided,
  type Loop,
  resumed,
  sequential,
  teamResult,
  turns,
} from '../../test/loop-kit.ts'
import { ProviderError } from '../provider/chat-provider.ts'

const down = (name = 'provider_unavailable' as const) => new ProviderError(name, 'down', { status: 503 })
const failures = (loop: Loop) =>
  loop.host.events.flatMap((event) => (event.type === 'provider_call_failed' ? [event.data] : []))
const tries = (loop: Loop) =>
  failures(loop).map(({ provider_name, tries: count, retry_in_ms }) => [provider_name, count, retry_in_ms])
const answers = (loop: Loop) =>
  loop.host.events.flatMap((event) =>
    event.type === 'assistant_message_added' ? [event.data.provider_name] : [],
  )

describe('the fallback', () => {
  it('is asked at once when main fails, main again at the next call, and who answered is on record', async () => {
    const loop = begin({
      replies: [down(), calls(['add', { a: 1, b: 1 }]), down()],
      fallback: [calls(['add', { a: 2, b: 2 }]), says('4')],
    })
    expect(await loop.end).toMatchObject({ status: 'completed', provider: 'second' })
    expect(tries(loop)).toEqual([
      ['scripted', 1, 0],
      ['scripted', 1, 0],
    ])
    expect(answers(loop)).toEqual(['second', 'scripted', 'second'])
    expect(loop.fallback.requests[0]).toMatchObject({
      messages: loop.provider.requests[0]?.messages,
      tools: loop.provider.requests[0]?.tools,
    })
  })

  test.each(failureClass.options)(
    'after %s is asked only where another endpoint may answer',
    async (name) => {
      const fails = [new ProviderError(name, 'no')]
      const loop = begin({
        replies: Array.from({ length: 6 }, () => fails[0] as Error),
        fallback: [says('yes')],
      })
      await advanceUntilSettled(loop)
      expect((await loop.end).status).toBe(fallbackClasses.has(name) ? 'completed' : 'failed')
      expect(loop.fallback.requests.length).toBe(fallbackClasses.has(name) ? 1 : 0)
    },
  )

  it('that fails too is a failed try of both: a pause, then main again', async () => {
    const loop = begin({ replies: [down(), says('up')], fallback: [down()] })
    const paused = await until('both failed', () => failures(loop).at(1))
    expect(tries(loop)).toEqual([
      ['scripted', 1, 0],
      ['second', 1, paused.retry_in_ms],
    ])
    expect(paused.retry_in_ms).toBeGreaterThan(0)
    await turns()
    expect(loop.provider.requests).toHaveLength(1)
    await advanceUntilSettled(loop)
    expect(await loop.end).toMatchObject({ status: 'completed', provider: 'scripted' })
  })

  it('is asked in every try, as often as the policy of the failure has it; then the run fails with what both said', async () => {
    const policy = failurePolicies.provider_timeout
    if (policy.action !== 'retry') throw new Error('it is retried')
    const all = Array.from(
      { length: policy.triesMax },
      () => new ProviderError('provider_timeout', 'Main was silent.'),
    )
    const loop = begin({
      replies: all,
      fallback: all.map(
        () => new ProviderError('provider_refused', 'Second has no such key.', { status: 401 }),
      ),
      policies: policiesWith({ outageMsMax: 0 }),
    })
    await advanceUntilSettled(loop)
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: {
        class: 'provider_timeout',
        message: 'Main was silent. The fallback second failed too: Second has no such key. (tried 3 times)',
      },
    })
    expect([loop.provider.repliesLeft, loop.fallback.repliesLeft, tries(loop).length]).toEqual([
      0,
      0,
      2 * policy.triesMax,
    ])
  })

  it('that may be tried again is, though main refuses for good', async () => {
    const refuses = () => new ProviderError('provider_refused', 'no key', { status: 401 })
    const loop = begin({ replies: [refuses(), refuses()], fallback: [down(), says('up')] })
    await advanceUntilSettled(loop)
    expect(await loop.end).toMatchObject({ status: 'completed', provider: 'second' })
  })

  it('a cancellation between main and the fallback ends the run: the fallback is not asked', async () => {
    const host = memoryHost()
    const loop = begin({ replies: [down()], fallback: [], host })
    host.hold('provider_call_failed')
    await until('the failure waits', () => host.waiting.length === 1)
    loop.cancel()
    host.settle()
    await until('the end waits', () => host.waiting.length === 1)
    host.settle()
    expect((await loop.end).status).toBe('cancelled')
  })

  it('that was about to be asked when the process died is asked next, and main is not asked again', async () => {
    const host = memoryHost()
    const first = begin({ replies: [down()], fallback: [says('never durable')], host })
    host.hold('assistant_message_added')
    await until('the answer waits', () => host.waiting.length === 1)
    const again = resumed(host.entries, { replies: [], fallback: [says('yes')] })
    expect(await again.end).toMatchObject({ status: 'completed', provider: 'second' })
    expect(tries(again)).toEqual([['scripted', 1, 0]])
    first.cancel()
  })

  it('without one, who failed is on record all the same', async () => {
    const loop = begin({ replies: [new ProviderError('provider_refused', 'no')] })
    await loop.end
    expect(tries(loop)).toEqual([['scripted', 1, null]])
  })
})

describe('the first turn is classified the same (D-03)', () => {
  const spec = (stream: boolean) => rootSpec({ stream, part: { skill: 'guided' } })
  const mode = (loop: Loop) =>
    loop.host.events.find((event) => event.type === 'execution_mode_selected')?.data
  const host = () => memoryHost({ runTeam: async () => teamResult })
  const team = calls(['add', { a: 1, b: 1 }], ['SequentialWorkflow', sequential])

  it.each([
    ['when main answered', { replies: [team, says('x')] }, false],
    ['when the answer was streamed', { replies: [streamed(team), says('x')] }, true],
    ['when the fallback answered', { replies: [down(), says('x')], fallback: [team] }, false],
    [
      'when the fallback streamed its answer after main broke off',
      { replies: [streams(['I th'], down()), says('x')], fallback: [streamed(team)] },
      true,
    ],
  ] as const)('%s', async (_, given, stream) => {
    const loop = begin({ ...given, skills: [guided], spec: spec(stream), host: host() })
    await loop.end
    expect(mode(loop)).toMatchObject({
      execution_mode: 'team',
      workflow_tool: 'SequentialWorkflow',
      primary_template_skill: 'guided',
    })
    expect(loop.host.types.filter((type) => type === 'execution_mode_selected')).toHaveLength(1)
    const order = ['execution_mode_selected', 'assistant_message_added', 'tool_call_started']
    expect(loop.host.types.filter((type) => order.includes(type)).slice(0, 3)).toEqual(order)
  })
})

/** An answer of which some text came first. */
function streamed(answer: ReturnType<typeof calls>) {
  return ({ onText }: { onText?: (text: string) => void }) => (
    onText?.('Let me see.'),
    { ...answer, content: 'Let me see.' }
  )
}
