import { policiesWith } from '@beaver/core/supervision'
import { calls, memoryHost, says, scriptedProvider, type ScriptedReply, until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { advanceUntilSettled, begin, type Given, type Loop, resumed } from '../../test/loop-kit.ts'
import { ProviderError } from '../provider/chat-provider.ts'

const down = (message = 'down') => new ProviderError('provider_unavailable', message, { status: 503 })
const small = () => new ProviderError('context_overflow', 'too long', { status: 400 })
const steps = (loop: Loop) =>
  loop.host.events.flatMap(({ type, data }) =>
    type === 'provider_call_failed'
      ? [[data.provider_name, data.failure.class, data.tries, data.retry_in_ms]]
      : [],
  )
const third = (...replies: ScriptedReply[]) => scriptedProvider(replies, 'third')
/** main, second, third: each with what it says. */
const route = (
  main: ScriptedReply[],
  second: ScriptedReply[],
  last: ReturnType<typeof third>,
  more: Partial<Given> = {},
) =>
  begin({
    replies: main,
    fallback: second,
    further: [last],
    policies: policiesWith({ outageMsMax: 0 }),
    ...more,
  })

describe('a route of three models', () => {
  it('asks each in its order, records each failure before the next is asked, and begins with the first at the next call', async () => {
    const last = third(calls(['add', { a: 1, b: 1 }]))
    const loop = route([down(), says('2')], [down()], last)
    expect(await loop.end).toMatchObject({ status: 'completed', provider: 'scripted' })
    expect(steps(loop)).toEqual([
      ['scripted', 'provider_unavailable', 1, 0],
      ['second', 'provider_unavailable', 1, 0],
    ])
    expect(last.requests[0]).toMatchObject({ messages: loop.provider.requests[0]?.messages })
  })

  it('after all failed it pauses, and asks from the first again', async () => {
    const loop = route([down(), says('up')], [down()], third(down()))
    await advanceUntilSettled(loop)
    expect(await loop.end).toMatchObject({ status: 'completed', provider: 'scripted' })
    expect(steps(loop).map(([name, , , pause]) => [name, pause === 0])).toEqual([
      ['scripted', true],
      ['second', true],
      ['third', false],
    ])
  })

  it('that failed for good says what each model said', async () => {
    const refuses = (what: string) => new ProviderError('provider_refused', what, { status: 401 })
    const loop = route([refuses('No key.')], [refuses('No right.')], third(refuses('No money.')))
    expect(await loop.end).toMatchObject({
      failure: {
        class: 'provider_refused',
        message: 'No key. The fallback second failed too: No right. The fallback third failed too: No money.',
      },
    })
  })

  it('goes no further after a failure that another model would have too', async () => {
    const last = third()
    const loop = route(
      [new ProviderError('provider_refused', 'No key.')],
      [new ProviderError('refusal', 'I must not.')],
      last,
    )
    await advanceUntilSettled(loop)
    expect((await loop.end).status).toBe('failed')
    expect(last.requests).toEqual([])
  })

  it('a run that is resumed goes on after the step that failed', async () => {
    const host = memoryHost()
    const first = route([down()], [down()], third(says('never durable')), { host })
    host.hold('assistant_message_added')
    await until('the answer waits', () => host.waiting.length === 1)
    const again = resumed(host.entries, { replies: [], fallback: [], further: [third(says('yes'))] })
    expect(await again.end).toMatchObject({ status: 'completed', provider: 'third' })
    first.cancel()
  })

  it('that became shorter than the steps that failed begins anew', async () => {
    const host = memoryHost()
    const first = route([down()], [down()], third(says('never durable')), { host })
    host.hold('assistant_message_added')
    await until('the answer waits', () => host.waiting.length === 1)
    const again = resumed(host.entries, { replies: [says('yes')], fallback: [] })
    expect(await again.end).toMatchObject({ status: 'completed', provider: 'scripted' })
    first.cancel()
  })
})

describe('a fallback with a small window', () => {
  it('is not asked for a conversation that is too long for it, and the next one is', async () => {
    const last = third(says('from the third'))
    const narrow = Object.assign(scriptedProvider([], 'narrow'), { contextTokens: 10 })
    const loop = begin({ replies: [down()], further: [narrow, last] })
    expect(await loop.end).toMatchObject({ status: 'completed', provider: 'third' })
    expect(narrow.requests).toEqual([])
    expect(steps(loop)).toEqual([
      ['scripted', 'provider_unavailable', 1, 0],
      ['narrow', 'context_overflow', 1, 0],
    ])
  })

  it('that says so itself gives way to the next one', async () => {
    const loop = route([down()], [small()], third(says('yes')))
    expect(await loop.end).toMatchObject({ status: 'completed', provider: 'third' })
  })
})
