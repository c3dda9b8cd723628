import { failurePolicies, type FailureClass, policiesWith, retryPauseMs } from '@beaver/core/supervision'
import { calls, hangsPaid, held, memoryHost, rootSpec, says, until } from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import { advanceUntilSettled, begin, probe, results, turns } from '../../test/loop-kit.ts'
import { type ChatAnswer, ProviderError } from '../provider/chat-provider.ts'

// Without a wait for outages and limits: those are in agent-loop.outage.test.ts.
const policies = policiesWith({ outageMsMax: 0, limitMsMax: 0 })

describe('retries follow the table', () => {
  const retried = Object.entries(failurePolicies).flatMap(([name, policy]) =>
    policy.action === 'retry' ? [[name as FailureClass, policy.triesMax] as const] : [],
  )

  test.each(retried)(
    '%s is tried %d times in all, each pause as the policy has it',
    async (failureClass, triesMax) => {
      const loop = begin({
        replies: Array.from({ length: triesMax }, () => new ProviderError(failureClass, 'again')),
        random: 0.5,
        policies,
      })
      await advanceUntilSettled(loop)
      expect(await loop.end).toMatchObject({ status: 'failed', failure: { class: failureClass } })
      const tries = loop.host.events.flatMap((event) =>
        event.type === 'provider_call_failed' ? [[event.data.tries, event.data.retry_in_ms]] : [],
      )
      expect(tries).toEqual(
        Array.from({ length: triesMax }, (_, i) => [
          i + 1,
          retryPauseMs(policies[failureClass], { tries: i + 1, waitedMs: 0, random: 0.5 }),
        ]),
      )
    },
  )

  test.each(['provider_refused', 'context_overflow', 'refusal', 'budget_exceeded'] as const)(
    '%s is not tried again',
    async (failureClass) => {
      const { end, provider } = begin({ replies: [new ProviderError(failureClass, 'no', { status: 401 })] })
      expect(await end).toMatchObject({ status: 'failed', failure: { class: failureClass, message: 'no' } })
      expect(provider.requests).toHaveLength(1)
    },
  )

  it('does not ask before the pause is over', async () => {
    const loop = begin({
      replies: [new ProviderError('provider_unavailable', 'down'), says('up')],
      random: 0.999,
    })
    const waits = await until(
      'the failure is journaled',
      () => loop.host.events.find((event) => event.type === 'provider_call_failed')?.data.retry_in_ms,
    )
    await turns()
    loop.clock.advance(waits - 1)
    await turns()
    expect(loop.provider.requests).toHaveLength(1)
    loop.clock.advance(1)
    expect(await loop.end).toMatchObject({ status: 'completed', facts: { outputText: 'up' } })
  })

  it("waits as long as the server asks (Retry-After), up to the policy's longest pause", async () => {
    const asking = (retryAfterMs: number): ProviderError =>
      new ProviderError('rate_limited', 'slow', { status: 429, retryAfterMs })
    const loop = begin({ replies: [asking(7_000), asking(3_600_000), says('ok')], policies })
    await advanceUntilSettled(loop)
    await loop.end
    expect(
      loop.host.events.flatMap((event) =>
        event.type === 'provider_call_failed' ? [event.data.retry_in_ms] : [],
      ),
    ).toEqual([7_000, 30_000])
  })

  it('an answer that its server broke off is a failed try, and what it says is not the result', async () => {
    const loop = begin({ replies: [{ ...says('half a sen'), finishReason: 'network_error' }, says('whole')] })
    await advanceUntilSettled(loop)
    expect(await loop.end).toMatchObject({ status: 'completed', facts: { outputText: 'whole' } })
    expect(loop.host.events.find((event) => event.type === 'provider_call_failed')?.data).toMatchObject({
      failure: { class: 'provider_unavailable' },
      tries: 1,
    })
  })

  it('an answer that was cut with a call in it goes on with the next answer, and no tool ran', async () => {
    const loop = begin({
      replies: [{ ...calls(['add', { a: 1, b: 1 }]), finishReason: 'length' }, says('short')],
    })
    expect(await loop.end).toMatchObject({ status: 'completed', facts: { outputText: 'short' } })
    expect(loop.host.types).not.toContain('tool_call_started')
    expect(loop.provider.requests[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('answer_cut'),
    })
  })

  it('what a provider wants back is in the journal with the answer, and in its next request', async () => {
    const state = { reasoning_content: 'hm' }
    const loop = begin({ replies: [{ ...calls(['add', { a: 1, b: 1 }]), state }, says('2')] })
    await loop.end
    const answers = loop.host.events.flatMap((event) =>
      event.type === 'assistant_message_added' ? [event.data.provider_state] : [],
    )
    expect(answers).toEqual([{ provider: 'scripted', fields: state }, undefined])
    expect(loop.provider.requests[1]?.messages).toContainEqual(
      expect.objectContaining({ role: 'assistant', provider_state: answers[0] }),
    )
  })

  it('an answer that was cut at its limit fails the run', async () => {
    const loop = begin({ replies: [{ ...says('half a sen'), finishReason: 'length' }] })
    expect(await loop.end).toMatchObject({ status: 'failed', failure: { class: 'output_truncated' } })
  })

  it('an answer sets the tries back', async () => {
    const down = (): Error => new ProviderError('provider_timeout', 'down')
    const loop = begin({
      replies: [down(), down(), calls(['add', { a: 1, b: 1 }]), down(), down(), says('ok')],
    })
    await advanceUntilSettled(loop)
    expect((await loop.end).status).toBe('completed')
  })

  it('a provider that throws something else is a defect: the loop breaks and says why', async () => {
    await expect(begin({ replies: [new TypeError('x is not a function')] }).end).rejects.toThrow(
      'x is not a function',
    )
  })
})

describe('cancel', () => {
  const cancelledEnd = { status: 'cancelled', failure: { class: 'cancelled', message: 'enough' } }

  it('before anything: the run is on record, and no provider is asked', async () => {
    const loop = begin({ replies: [] })
    loop.cancel()
    expect(await loop.end).toMatchObject(cancelledEnd)
    expect(loop.host.types).toEqual([
      'run_started',
      'system_prompt_snapshotted',
      'user_message_added',
      'run_cancelled',
    ])
  })

  it('while thinking: the request is aborted', async () => {
    const loop = begin({ replies: [held<Partial<ChatAnswer>>().promise] })
    await until('the provider is asked', () => loop.provider.requests.length === 1)
    loop.cancel()
    expect(await loop.end).toMatchObject(cancelledEnd)
    expect(loop.provider.requests[0]?.signal.aborted).toBe(true)
    expect(loop.host.ends).toMatchObject([cancelledEnd])
  })

  const used = { input_tokens: 900, output_tokens: 40, calls: 1, estimated_calls: 1 }
  const paid = { usage: used, model: 'half-model' }

  it('while a model answers: what must be paid is recorded with the end of the run, and counts in it', async () => {
    const slow = new ProviderError('rate_limited', 'slow')
    const loop = begin({ replies: [calls(['add', { a: 1, b: 2 }]), slow, hangsPaid(paid)], policies })
    await until('the first try failed', () => loop.host.types.includes('provider_call_failed'))
    loop.clock.advance(60_000)
    await until('it is asked again', () => loop.provider.requests.length === 3)
    loop.cancel()
    expect(await loop.end).toMatchObject({
      ...cancelledEnd,
      usage: { input_tokens: 910, output_tokens: 45, calls: 2, estimated_calls: 1 },
    })
    const [failed, ended] = loop.host.entries.at(-1) ?? []
    expect(loop.host.entries.at(-1)).toHaveLength(2)
    expect(failed).toMatchObject({
      type: 'provider_call_failed',
      data: {
        failure: { class: 'cancelled', message: 'The call was cancelled before its answer was complete.' },
        ...{ tries: 2, retry_in_ms: null, status: null, provider_name: 'scripted' },
        ...{ usage: used, model: 'half-model' },
      },
    })
    expect(ended).toMatchObject({
      type: 'run_cancelled',
      data: { reason: 'enough', usage: { calls: 2, estimated_calls: 1 } },
    })
  })

  it('while a fallback answers: the call is that of the fallback', async () => {
    const down = new ProviderError('provider_unavailable', 'down')
    const loop = begin({ replies: [down], fallback: [hangsPaid(paid)], policies })
    await until('the fallback is asked', () => loop.fallback.requests.length === 1)
    loop.cancel()
    expect((await loop.end).usage).toMatchObject(used)
    expect(loop.host.entries.at(-1)?.[0]).toMatchObject({
      data: { failure: { class: 'cancelled' }, provider_name: 'second', tries: 1 },
    })
  })

  it('between two tries: the pause ends at once', async () => {
    const loop = begin({ replies: [new ProviderError('rate_limited', 'slow')] })
    await until('the failure is journaled', () => loop.host.types.includes('provider_call_failed'))
    loop.cancel()
    expect(await loop.end).toMatchObject(cancelledEnd)
  })

  it('while a tool runs: its signal aborts, its result is recorded as cancelled, the run ends', async () => {
    let seen: AbortSignal | null = null
    const tool = probe('tool', (_, signal) => {
      seen = signal
      return new Promise(() => {})
    })
    const loop = begin({ replies: [calls(['tool', {}])], tools: [tool] })
    await until('the tool runs', () => tool.calls.length === 1)
    loop.cancel()
    expect(await loop.end).toMatchObject(cancelledEnd)
    expect((seen as AbortSignal | null)?.aborted).toBe(true)
    expect(results(loop.host)).toMatchObject([{ success: false, error: 'cancelled' }])
  })

  it('while an answer becomes durable: its calls are recorded as cancelled and not made', async () => {
    const tool = probe('tool', () => 'x')
    const host = memoryHost()
    const loop = begin({ replies: [calls(['tool', {}], ['tool', {}])], tools: [tool], host })
    host.hold('assistant_message_added')
    await until('the answer waits', () => host.waiting.length === 1)
    loop.cancel()
    for (let i = 0; i < 4; i++) {
      await until('an append waits', () => host.waiting.length > 0)
      host.settle()
    }
    expect(await loop.end).toMatchObject(cancelledEnd)
    expect(tool.calls).toEqual([])
  })

  it('while the final answer becomes durable comes too late: the run is completed', async () => {
    const host = memoryHost()
    const loop = begin({ replies: [says('42')], host })
    host.hold('run_completed')
    await until('the end waits', () => host.waiting[0]?.includes('run_completed'))
    loop.cancel()
    host.settle()
    expect((await loop.end).status).toBe('completed')
  })

  it('of a run that is taken up again: nothing is asked', async () => {
    const whole = begin({ replies: [calls(['add', { a: 1, b: 1 }]), says('2')] })
    await whole.end
    for (let kept = 1; kept < whole.host.entries.length; kept++) {
      const host = memoryHost({ entries: whole.host.entries.slice(0, kept) })
      const again = begin({ replies: [], host, spec: rootSpec({ resume: host.events }) })
      again.cancel()
      expect((await again.end).status).toBe('cancelled')
    }
  })
})
