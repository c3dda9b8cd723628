import {
  type ChatAnswer,
  type ChatProvider,
  type EmbeddingProvider,
  LoopDropped,
  ProviderError,
} from '@beaver/agent'
import {
  scriptedProvider,
  type ScriptedReply,
  says,
  until,
  type VirtualClock,
  virtualClock,
} from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { ask, failureOf } from '../../test/kit.ts'
import { endpointGate, gateBuffer, type GateLimits } from './endpoint-gate.ts'
import { gatedChat, gatedEmbeddings } from './gated.ts'

const limits: GateLimits = {
  requestsPerMinuteMax: null,
  tokensPerMinuteMax: null,
  circuitFailuresMax: 2,
  circuitOpenMs: 10_000,
  turnMsMax: 3_600_000,
}

function behindGate(replies: readonly ScriptedReply[], over: Partial<GateLimits> = {}) {
  const clock = virtualClock()
  const gate = endpointGate(gateBuffer(1), 0, {
    endpoint: 'api.test',
    limits: { ...limits, ...over },
    tryMsMax: 60_000,
  })
  const inner = scriptedProvider(replies)
  return { clock, gate, inner, provider: gatedChat(inner, gate, clock) }
}

const down = (): ProviderError => new ProviderError('provider_unavailable', 'down')
const many = (count: number): ScriptedReply[] => Array.from({ length: count }, () => says('a'))

/** Runs what is due now: promises take a few turns. */
async function turn(clock: VirtualClock, ms = 0): Promise<void> {
  clock.advance(ms)
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

describe('a provider behind its gate', () => {
  it('is asked at once, and answers, when nothing is limited', async () => {
    const { provider, inner } = behindGate(many(100))
    const answers = await Promise.all(Array.from({ length: 100 }, () => provider.chat(ask())))
    expect([answers.length, inner.repliesLeft, provider.name, provider.model]).toEqual([
      100,
      0,
      'scripted',
      'scripted-model',
    ])
  })

  it('is asked no more often than the limit allows: the others wait for their slot', async () => {
    const { provider, inner, clock } = behindGate(many(20), { requestsPerMinuteMax: 60 })
    const all = Promise.all(Array.from({ length: 20 }, () => provider.chat(ask())))
    await turn(clock)
    expect(inner.requests.length).toBe(6)
    await turn(clock, 1_000)
    expect(inner.requests.length).toBe(7)
    await turn(clock, 13_000)
    await all
    expect(inner.requests.length).toBe(20)
  })

  it('counts who waited for a turn, and how long, for all threads', async () => {
    const { provider, gate, clock } = behindGate(many(9), { requestsPerMinuteMax: 60 })
    const all = Promise.all(Array.from({ length: 8 }, () => provider.chat(ask())))
    await turn(clock)
    expect(gate.waits()).toEqual({ calls: 0, ns: 0n })
    for (let i = 0; i < 2; i++) await turn(clock, 1_000)
    await all
    expect(gate.waits()).toEqual({ calls: 2, ns: 3_000_000_000n })
    const controller = new AbortController()
    const waiting = provider.chat(ask({ signal: controller.signal }))
    await turn(clock, 400)
    controller.abort(new Error('cancelled'))
    await expect(waiting).rejects.toThrow('cancelled')
    expect(gate.waits()).toEqual({ calls: 3, ns: 3_400_000_000n })
  })

  it('counts tokens: the estimate before, what was used after', async () => {
    const used = { ...says('a'), usage: { input_tokens: 590, output_tokens: 10, calls: 1 } }
    const { provider, inner, clock } = behindGate([used, used, says('b')], { tokensPerMinuteMax: 600 })
    await provider.chat(ask())
    const second = provider.chat(ask())
    await turn(clock, 53_000)
    expect(inner.requests.length).toBe(1)
    await turn(clock, 2_000)
    expect(inner.requests.length).toBe(2)
    await second
  })

  it('ends a call that waits at once when it is aborted, and its slot goes to the next', async () => {
    const { provider, inner, clock } = behindGate(many(3), { requestsPerMinuteMax: 1 })
    await provider.chat(ask())
    const controller = new AbortController()
    const waiting = provider.chat(ask({ signal: controller.signal }))
    await turn(clock)
    const reason = new Error('cancelled')
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    const next = provider.chat(ask())
    await turn(clock, 60_000)
    await next
    expect(inner.requests.length).toBe(2)
  })

  it('refuses a call at once that would wait longer than five minutes, as rate_limited', async () => {
    const { provider, clock, inner } = behindGate(many(7), { requestsPerMinuteMax: 1 })
    const calls = Array.from({ length: 6 }, () => provider.chat(ask()))
    await turn(clock)
    expect(await failureOf(provider.chat(ask()))).toMatchObject({
      class: 'rate_limited',
      message: expect.stringContaining('longer than 300 s'),
    })
    for (let i = 0; i < 5; i++) await turn(clock, 60_000)
    await Promise.all(calls)
    expect(inner.requests.length).toBe(6)
  })

  it('fails at once while the circuit is open, with the last failure, and then tries once', async () => {
    const { provider, clock, inner } = behindGate([down(), down(), says('back')])
    for (let i = 0; i < 2; i++) await failureOf(provider.chat(ask()))
    clock.advance(4_000)
    const error = await failureOf(provider.chat(ask()))
    expect(error).toMatchObject({ class: 'provider_unavailable', retryAfterMs: 6_000 })
    expect(error.message).toBe(
      'down. The endpoint failed 2 times in a row, so Beaver pauses before it asks it again.',
    )
    expect(inner.requests.length).toBe(2)
    clock.advance(6_000)
    expect((await provider.chat(ask())).content).toBe('back')
  })

  it('lets one call try and refuses the others meanwhile', async () => {
    let settle: (answer: Partial<ChatAnswer>) => void = () => undefined
    const slow = new Promise<Partial<ChatAnswer>>((resolve) => (settle = resolve))
    const { provider, clock } = behindGate([down(), down(), slow, says('after')])
    for (let i = 0; i < 2; i++) await failureOf(provider.chat(ask()))
    clock.advance(10_000)
    const trial = provider.chat(ask())
    await turn(clock)
    expect((await failureOf(provider.chat(ask()))).class).toBe('provider_unavailable')
    settle(says('back'))
    expect((await trial).content).toBe('back')
    expect((await provider.chat(ask())).content).toBe('after')
  })

  it('is not thought down because a caller aborted, or the endpoint refused', async () => {
    const refused = new ProviderError('provider_refused', 'no', { status: 401 })
    const { provider } = behindGate([refused, refused, refused, says('a')])
    for (let i = 0; i < 3; i++) expect((await failureOf(provider.chat(ask()))).class).toBe('provider_refused')
    expect((await provider.chat(ask())).content).toBe('a')
  })

  it('holds every call for as long as a 429 asks, up to a minute', async () => {
    const limited = new ProviderError('rate_limited', 'slow down', { status: 429, retryAfterMs: 2_000 })
    const { provider, inner, clock } = behindGate([
      limited,
      says('a'),
      says('b'),
      new ProviderError('rate_limited', 'x', { retryAfterMs: 3_600_000 }),
      says('c'),
    ])
    await failureOf(provider.chat(ask()))
    const two = [provider.chat(ask()), provider.chat(ask())]
    await turn(clock, 1_999)
    expect(inner.requests.length).toBe(1)
    await turn(clock, 1)
    await turn(clock, 20)
    await Promise.all(two)
    await failureOf(provider.chat(ask()))
    const last = provider.chat(ask())
    await turn(clock, 60_000)
    expect((await last).content).toBe('c')
  })

  it('holds those that wait for their slot already', async () => {
    const limited = new ProviderError('rate_limited', 'slow down', { status: 429, retryAfterMs: 30_000 })
    const { provider, inner, clock } = behindGate([says('a'), limited, says('b')], {
      requestsPerMinuteMax: 20,
    })
    await provider.chat(ask())
    const failing = failureOf(provider.chat(ask()))
    const waiting = provider.chat(ask())
    await failing
    await turn(clock, 4_000)
    expect(inner.requests.length).toBe(2)
    await turn(clock, 26_000)
    await turn(clock, 3_000)
    await until('the held call is made', () => inner.requests.length === 3)
    await waiting
  })
})

describe('a caller that can wait elsewhere', () => {
  /** Asks, and keeps the waits it is told of; each goes on when the test lets it. */
  function asker(provider: ChatProvider) {
    const waits: { readonly ms: number; readonly goOn: () => void }[] = []
    const waitTurn = ({ ms }: { ms: number }): Promise<void> =>
      new Promise((resolve) => waits.push({ ms, goOn: resolve }))
    return { waits, ask: (over: Parameters<typeof ask>[0] = {}) => provider.chat(ask({ waitTurn, ...over })) }
  }

  it('is told of a turn that is more than a second away, and is let through when it comes', async () => {
    const { provider, inner, clock } = behindGate(many(3), { requestsPerMinuteMax: 10 })
    const { waits, ask: asks } = asker(provider)
    await asks()
    const waiting = asks()
    await turn(clock)
    expect([waits.map(({ ms }) => ms), inner.requests.length]).toEqual([[6_000], 1])
    await turn(clock, 6_000)
    expect(inner.requests.length).toBe(1)
    waits[0]?.goOn()
    expect((await waiting).content).toBe('a')
  })

  it('waits in its thread for a turn that is nearer', async () => {
    const { provider, clock } = behindGate(many(2), { requestsPerMinuteMax: 60 })
    const { waits, ask: asks } = asker(provider)
    const all = Promise.all(Array.from({ length: 7 }, () => asks().catch(() => null)))
    await turn(clock)
    await turn(clock, 1_000)
    await all
    expect(waits).toEqual([])
  })

  it('that is dropped there and comes back admitted takes no second slot: in no minute more calls start than the limit', async () => {
    const { provider, inner, clock, gate } = behindGate(many(40), { requestsPerMinuteMax: 10 })
    const { waits, ask: asks } = asker(provider)
    await asks()
    const drop = new AbortController()
    const dropped = asks({ signal: drop.signal })
    await turn(clock)
    drop.abort(new LoopDropped('The task only waits.'))
    waits[0]?.goOn()
    await expect(dropped).rejects.toThrow('The task only waits.')
    await turn(clock, 6_000)
    await asks({ admitted: true })
    expect(inner.requests.length).toBe(2)
    // The next slot is where it would be had the second call never been dropped.
    expect(
      gate.reserve(0, BigInt(clock.now()) * 1_000_000n, BigInt(clock.now() + 60_000) * 1_000_000n)?.start,
    ).toBe(BigInt(clock.now() + 6_000) * 1_000_000n)
  })

  it('and is not admitted, because another daemon takes its run up, takes a slot like any other call', async () => {
    const { provider, clock } = behindGate(many(3), { requestsPerMinuteMax: 10 })
    const { waits, ask: asks } = asker(provider)
    await asks()
    void asks()
    await turn(clock)
    expect(waits.map(({ ms }) => ms)).toEqual([6_000])
  })

  it('counts an answer that broke off by the estimate of its tokens, not by its bytes', async () => {
    const usage = { input_tokens: 590, output_tokens: 10, calls: 1, estimated_calls: 1 }
    const broken = new ProviderError('provider_unavailable', 'cut', { paid: { usage, model: 'm' } })
    const { provider, inner, clock } = behindGate([broken, says('b')], { tokensPerMinuteMax: 600 })
    await failureOf(provider.chat(ask()))
    const next = provider.chat(ask())
    await turn(clock, 30_000)
    expect(inner.requests.length).toBe(2)
    await next
  })

  it('counts the tokens of an admitted call once', async () => {
    const used = { ...says('a'), usage: { input_tokens: 590, output_tokens: 10, calls: 1 } }
    const { provider, clock } = behindGate([used, used, used], { tokensPerMinuteMax: 600 })
    const { waits, ask: asks } = asker(provider)
    await asks()
    void asks()
    await turn(clock)
    const [first] = waits
    await turn(clock, first?.ms)
    await asks({ admitted: true })
    void asks()
    await turn(clock)
    expect(waits[1]?.ms).toBeGreaterThan(50_000)
    expect(waits[1]?.ms).toBeLessThanOrEqual(60_000)
  })

  it('and is admitted waits for a hold that came meanwhile, and fails at once while the circuit is open', async () => {
    const held = behindGate([
      new ProviderError('rate_limited', 'slow down', { retryAfterMs: 30_000 }),
      says('a'),
    ])
    await failureOf(held.provider.chat(ask()))
    const { waits, ask: asks } = asker(held.provider)
    void asks({ admitted: true })
    await turn(held.clock)
    expect(waits.map(({ ms }) => ms)).toEqual([30_000])
    const open = behindGate([down(), down()])
    for (let i = 0; i < 2; i++) await failureOf(open.provider.chat(ask()))
    expect(await failureOf(open.provider.chat(ask({ admitted: true })))).toMatchObject({
      class: 'provider_unavailable',
      retryAfterMs: 10_000,
    })
  })

  it('waits as long as the limit is waited for; beyond, it is told when to look again', async () => {
    const { provider, clock } = behindGate(many(1), { requestsPerMinuteMax: 1 })
    const { waits, ask: asks } = asker(provider)
    const all = Array.from({ length: 61 }, () => asks())
    await turn(clock)
    await turn(clock)
    expect(Math.max(...waits.map(({ ms }) => ms))).toBe(3_600_000)
    void Promise.allSettled(all)
    expect(await failureOf(asks())).toMatchObject({ class: 'rate_limited', retryAfterMs: 60_000 })
  })
})

it('embeddings wait at the same gate', async () => {
  const clock = virtualClock()
  const gate = endpointGate(gateBuffer(1), 0, {
    endpoint: 'e',
    limits: { ...limits, tokensPerMinuteMax: 60 },
    tryMsMax: 1,
  })
  const asked: number[] = []
  const inner: EmbeddingProvider = {
    name: 'n',
    model: 'm',
    textsMax: 64,
    async embed(texts) {
      asked.push(texts.length)
      return { vectors: texts.map(() => [1]), usage: { input_tokens: 100, output_tokens: 0, calls: 1 } }
    },
  }
  const chat: ChatProvider = gatedChat(scriptedProvider(many(1)), gate, clock)
  await gatedEmbeddings(inner, gate, clock).embed(['x'.repeat(400)], new AbortController().signal)
  const waiting = chat.chat(ask())
  await turn(clock, 94_000)
  await turn(clock, 1_000)
  await waiting
  expect(asked).toEqual([1])
})
