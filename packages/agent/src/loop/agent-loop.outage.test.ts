import { policiesWith } from '@beaver/core/supervision'
import { calls, memoryHost, rootSpec, says, type ScriptedReply } from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import { begin, type Given, type Loop, resumed, turns } from '../../test/loop-kit.ts'
import { ProviderError } from '../provider/chat-provider.ts'
import type { LoopHost, PauseRequest } from './loop-spec.ts'

const down = (): ProviderError =>
  new ProviderError('provider_unavailable', 'The endpoint x cannot be reached.')
const failures = (loop: Loop) =>
  loop.host.events.flatMap((event) => (event.type === 'provider_call_failed' ? [event.data] : []))
const minute = 60_000

/** A host whose pauses pass at once, in a time of its own, and which keeps what it was asked for. */
function pausingHost() {
  const pauses: PauseRequest[] = []
  const pause: LoopHost['pause'] = async (request) => void pauses.push(request)
  return {
    pauses,
    waitedMs: () => pauses.reduce((sum, { ms }) => sum + ms, 0),
    host: memoryHost({ services: { pause } }),
  }
}

/** A loop whose provider is away until the pauses come to `ms`. */
function awayFor(ms: number, over: Partial<Given> = {}, error: () => Error = down) {
  const { host, pauses, waitedMs } = pausingHost()
  const reply: ScriptedReply = () => {
    if (waitedMs() < ms) throw error()
    return says('back')
  }
  return {
    pauses,
    waitedMs,
    loop: begin({ replies: Array.from({ length: 2_000 }, () => reply), host, random: 0.5, ...over }),
  }
}

describe('a provider that is away', () => {
  it('for half an hour is waited for: the run completes, and every wait was its host’s', async () => {
    const { loop, pauses, waitedMs } = awayFor(30 * minute)
    expect(await loop.end).toMatchObject({ status: 'completed', facts: { outputText: 'back' } })
    expect(waitedMs()).toBeGreaterThanOrEqual(30 * minute)
    expect(waitedMs()).toBeLessThan(30.5 * minute)
    expect(pauses.every(({ waitsFor, admitted }) => waitsFor === 'provider' && admitted === undefined)).toBe(
      true,
    )
    expect(pauses.slice(0, 9).map(({ ms }) => ms)).toEqual([
      300, 500, 900, 1_700, 4_800, 9_600, 19_200, 22_500, 22_500,
    ])
    expect(failures(loop).map(({ retry_in_ms }) => retry_in_ms)).toEqual(pauses.map(({ ms }) => ms))
  })

  it('for longer than the bound fails the run with the class, the tries and the time', async () => {
    const { loop, pauses, waitedMs } = awayFor(2 * 60 * minute)
    const end = await loop.end
    expect(waitedMs()).toBe(60 * minute)
    expect(end.failure).toEqual({
      class: 'provider_unavailable',
      message: `The endpoint x cannot be reached. (tried ${pauses.length + 1} times in 60 minutes)`,
    })
    expect(failures(loop).at(-1)).toMatchObject({ retry_in_ms: null, tries: pauses.length + 1 })
  })

  it('is waited for as long as the daemon is configured to; 0: until the tries are used up', async () => {
    const tenMinutes = awayFor(60 * minute, { policies: policiesWith({ outageMsMax: 10 * minute }) })
    expect(await tenMinutes.loop.end).toMatchObject({ status: 'failed' })
    expect(tenMinutes.waitedMs()).toBe(10 * minute)
    const never = awayFor(60 * minute, { policies: policiesWith({ outageMsMax: 0 }) })
    expect(await never.loop.end).toMatchObject({ status: 'failed' })
    expect(never.pauses).toHaveLength(4)
  })

  it('and does not answer in time: what the tries took counts', async () => {
    const { host, pauses, waitedMs } = pausingHost()
    const reply: ScriptedReply = () => {
      loop.clock.advance(2 * minute)
      throw new ProviderError('provider_timeout', 'It did not answer within 120000 ms.')
    }
    const loop: Loop = begin({ replies: Array.from({ length: 200 }, () => reply), host, random: 0.5 })
    expect(await loop.end).toMatchObject({ failure: { class: 'provider_timeout' } })
    const took = waitedMs() + (pauses.length + 1) * 2 * minute
    expect(took).toBeGreaterThanOrEqual(60 * minute)
    expect(took).toBeLessThanOrEqual(62 * minute)
    expect(failures(loop)[0]?.duration_ms).toBe(2 * minute)
  })

  it('then limits the rate, then answers nonsense once: each class has its own tries', async () => {
    const { host, waitedMs } = pausingHost()
    let nonsense = 0
    const reply: ScriptedReply = () => {
      if (waitedMs() < 20 * minute) throw down()
      if (waitedMs() < 25 * minute) throw new ProviderError('rate_limited', 'slow down', { status: 429 })
      if (nonsense++ === 0) throw new ProviderError('malformed_output', 'an HTML page')
      return says('back')
    }
    expect(
      await begin({ replies: Array.from({ length: 200 }, () => reply), host, random: 0.5 }).end,
    ).toMatchObject({ status: 'completed' })
  })

  it.each([
    ['provider_refused', 401],
    ['provider_refused', 404],
    ['context_overflow', 400],
  ] as const)('and comes back with %s (%d) fails the run at once', async (name, status) => {
    const { host, waitedMs } = pausingHost()
    const reply: ScriptedReply = () =>
      fail(waitedMs() < minute ? down() : new ProviderError(name, 'no', { status }))
    const refused = begin({ replies: Array.from({ length: 99 }, () => reply), host })
    expect(await refused.end).toMatchObject({ status: 'failed', failure: { class: name } })
    expect(failures(refused).filter((each) => each.failure.class === name)).toHaveLength(1)
  })

  it('has a new bound after every answer', async () => {
    const { host, waitedMs } = pausingHost()
    let answered = false
    const reply: ScriptedReply = () => {
      if (waitedMs() < (answered ? 100 : 50) * minute) throw down()
      if (answered) return says('done')
      answered = true
      return calls(['add', { a: 1, b: 1 }])
    }
    const loop = begin({ replies: Array.from({ length: 600 }, () => reply), host, random: 0.5 })
    expect(await loop.end).toMatchObject({ status: 'completed', facts: { outputText: 'done' } })
    expect(waitedMs()).toBeGreaterThan(99 * minute)
  })
})

describe('a server that breaks off its answers', () => {
  const usage = { input_tokens: 1_000, output_tokens: 50, calls: 1 }
  const broken = (): ScriptedReply => ({ ...says('half an ans'), finishReason: 'error', usage })
  const six = { input_tokens: 6_000, output_tokens: 300, calls: 6 }

  it('is asked six times for one answer, each of which is paid, and then the run fails', async () => {
    const { host, pauses } = pausingHost()
    const loop = begin({ replies: Array.from({ length: 20 }, broken), host, random: 0.5 })
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: { class: 'provider_unavailable', message: expect.stringContaining('tried 6 times') as string },
      usage: six,
    })
    expect([loop.provider.requests.length, pauses.length]).toEqual([6, 5])
    expect(failures(loop).map(({ usage: paid, model }) => [paid, model])).toEqual(
      Array.from({ length: 6 }, () => [usage, expect.any(String) as string]),
    )
  })

  it('may do so six times for each answer, and what it costs is in the sum', async () => {
    const { host } = pausingHost()
    const five = Array.from({ length: 5 }, broken)
    const loop = begin({
      replies: [...five, { ...calls(['add', { a: 1, b: 1 }]), usage }, ...five, { ...says('done'), usage }],
      host,
      random: 0.5,
    })
    expect(await loop.end).toMatchObject({
      status: 'completed',
      usage: { input_tokens: 12_000, output_tokens: 600, calls: 12 },
    })
  })

  it('is asked further while it is away in between, which costs nothing', async () => {
    const { host } = pausingHost()
    const replies = [
      broken(),
      down(),
      broken(),
      down(),
      broken(),
      down(),
      down(),
      broken(),
      { ...says('done'), usage },
    ]
    const loop = begin({ replies, host, random: 0.5 })
    expect(await loop.end).toMatchObject({ status: 'completed', usage: { calls: 5 } })
  })

  it('is not asked more often by a run that was dropped in between', async () => {
    let paused = 0
    const dropping = memoryHost({
      services: { pause: () => (++paused < 4 ? Promise.resolve() : new Promise(() => {})) },
    })
    const first = begin({ replies: Array.from({ length: 10 }, broken), host: dropping, random: 0.5 })
    await turns(20)
    expect(first.provider.requests).toHaveLength(4)
    const { host } = pausingHost()
    const again = begin({
      replies: Array.from({ length: 10 }, broken),
      host: memoryHost({ entries: dropping.entries, services: { pause: host.pause } }),
      spec: rootSpec({ resume: first.host.events }),
      random: 0.5,
    })
    expect(await again.end).toMatchObject({ status: 'failed', usage: six })
    expect(again.provider.requests).toHaveLength(2)
  })
})

const fail = (error: Error): never => {
  throw error
}

describe('a server that says when to come back', () => {
  it('is asked after that time, also when it is longer than the longest pause', async () => {
    const { host, pauses } = pausingHost()
    const loop = begin({
      replies: [
        new ProviderError('rate_limited', 'slow down', { status: 429, retryAfterMs: 40_000 }),
        says('ok'),
      ],
      host,
    })
    expect(await loop.end).toMatchObject({ status: 'completed' })
    expect(pauses).toEqual([{ ms: 40_000, waitsFor: 'limit', reason: 'slow down' }])
  })

  test('a circuit that is open is asked when it is tried again', async () => {
    const { host, pauses } = pausingHost()
    const open = new ProviderError('provider_unavailable', 'It is not asked for another 9000 ms.', {
      retryAfterMs: 9_000,
    })
    expect(await begin({ replies: [open, says('ok')], host }).end).toMatchObject({ status: 'completed' })
    expect(pauses.map(({ ms }) => ms)).toEqual([9_000])
  })

  it('has a bound of its own', async () => {
    const limited = () =>
      new ProviderError('rate_limited', 'slow down', { status: 429, retryAfterMs: minute })
    const { loop, waitedMs } = awayFor(
      60 * minute,
      { policies: policiesWith({ limitMsMax: 20 * minute }) },
      limited,
    )
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: { class: 'rate_limited', message: expect.stringContaining('in 20 minutes') },
    })
    expect(waitedMs()).toBe(20 * minute)
  })
})

describe('a run that is dropped in a pause', () => {
  /** A loop that is never heard of again once it pauses for the `nth` time. */
  async function droppedAt(nth: number, given: Omit<Given, 'host' | 'replies'> = {}) {
    const { host, pauses } = pausingHost()
    const pause: LoopHost['pause'] = (request, signal) => {
      if (pauses.length + 1 < nth) return host.pause(request, signal)
      pauses.push(request)
      return new Promise(() => {})
    }
    const dropping = memoryHost({ services: { pause } })
    const first = begin({ replies: Array.from({ length: nth }, down), host: dropping, random: 0.5, ...given })
    await turns(nth * 3)
    return { first, pauses }
  }

  it('asks at once when it is taken up, and goes on counting tries and time', async () => {
    const { first, pauses } = await droppedAt(40)
    expect(pauses).toHaveLength(40)
    const waited = pauses.reduce((sum, { ms }) => sum + ms, 0)
    const { host: later, pauses: more, waitedMs } = pausingHost()
    const again = begin({
      replies: Array.from({ length: 500 }, down),
      host: memoryHost({ entries: first.host.entries, services: { pause: later.pause } }),
      spec: rootSpec({ resume: first.host.events }),
      random: 0.5,
    })
    expect(await again.end).toMatchObject({ status: 'failed' })
    expect(waited + waitedMs()).toBe(60 * minute)
    expect(more[0]?.ms).toBe(22_500)
    expect(failures(again)[40]?.tries).toBe(41)
  })

  it('completes with the first answer, without a pause, when its provider is back', async () => {
    const { first } = await droppedAt(3)
    const again = resumed(first.host.entries, { replies: [says('back')] })
    expect(await again.end).toMatchObject({ status: 'completed' })
    expect(again.clock.now()).toBe(first.clock.now())
  })

  it('while it waited for its turn is admitted with its first call, and with no other', async () => {
    const waits: PauseRequest[] = []
    const dropping = memoryHost({ services: { pause: (request) => new Promise(() => waits.push(request)) } })
    begin({
      replies: [({ waitTurn }) => waitTurn?.({ ms: 9_000, reason: 'Not yet.' }) as never],
      host: dropping,
    })
    await turns(10)
    expect(waits).toEqual([{ ms: 9_000, reason: 'Not yet.', waitsFor: 'limit', admitted: true }])
    const again = resumed(dropping.entries, {
      replies: [calls(['add', { a: 1, b: 1 }]), says('2')],
      spec: rootSpec({ admitted: true }),
    })
    expect(await again.end).toMatchObject({ status: 'completed' })
    expect(again.provider.requests.map(({ admitted }) => admitted)).toEqual([true, false])
  })

  it('while it waited for the turn of its fallback asks the fallback, not main again', async () => {
    const dropping = memoryHost({ services: { pause: () => new Promise(() => {}) } })
    const first = begin({
      replies: [down()],
      fallback: [({ waitTurn }) => waitTurn?.({ ms: 9_000, reason: 'Not yet.' }) as never],
      host: dropping,
    })
    await turns(10)
    expect(failures(first)).toMatchObject([{ retry_in_ms: 0 }])
    const again = resumed(dropping.entries, {
      replies: [],
      fallback: [says('yes')],
      spec: rootSpec({ admitted: true }),
    })
    expect(await again.end).toMatchObject({ status: 'completed', provider: 'second' })
    expect(again.fallback.requests[0]?.admitted).toBe(true)
    expect(failures(again)).toHaveLength(1)
  })
})
