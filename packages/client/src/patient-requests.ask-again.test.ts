import { BeaverError, type Clock, type ErrorCode } from '@beaver/core'
import { NotSent } from '@beaver/nats'
import { RequestError } from '@nats-io/nats-core'
import { describe, expect, it, test } from 'vitest'
import { askAgain, type Asking } from './patient-requests.ts'

const nobody = (): BeaverError =>
  new BeaverError('no_daemon', 'nobody', { cause: new RequestError('no responders') })
/** The error of a request that was not sent, because the connection was down. */
const unsent = (): BeaverError => new BeaverError('unreachable', 'down', { cause: new NotSent() })
const told = (code: ErrorCode): BeaverError => new BeaverError(code, 'told')

/**
 * Each attempt takes `takesMs` and ends as the next item of `ends` says, and after the last item always like
 * it. Time jumps without waiting.
 */
async function asked(
  ends: readonly (BeaverError | string)[],
  { takesMs = 0, ...over }: Partial<Asking> & { takesMs?: number } = {},
) {
  let now = 0
  const clock: Clock = {
    now: () => now,
    after(delayMs, act) {
      now += delayMs
      queueMicrotask(act)
      return { cancel: () => {} }
    },
  }
  let asks = 0
  let heard = 0
  const ask = async (unanswered: number, leftMs: number): Promise<string> => {
    expect([unanswered, leftMs]).toEqual([heard, 30_000 - now])
    now += takesMs
    const end = ends[Math.min(asks++, ends.length - 1)] as BeaverError | string
    if (typeof end === 'string') return end
    if (end.cause === undefined) heard++
    throw end
  }
  const outcome = await askAgain(ask, {
    repeatable: true,
    daemonMs: 5_000,
    withinMs: 30_000,
    closed: () => false,
    clock,
    ...over,
  }).catch((error: BeaverError) => error.code)
  return { outcome, asks, now }
}

describe('when nobody is there (Q2)', () => {
  it.each([true, false])('asks again until a daemon is there (repeatable: %s)', async (repeatable) => {
    expect(await asked([nobody(), nobody(), 'done'], { repeatable })).toMatchObject({
      outcome: 'done',
      asks: 3,
    })
  })

  it.each([true, false])(
    'asks again until the connection is up, if it is down (repeatable: %s)',
    async (repeatable) => {
      expect(await asked([unsent(), unsent(), 'done'], { repeatable })).toMatchObject({
        outcome: 'done',
        asks: 3,
      })
    },
  )

  it('gives up after daemonMs', async () => {
    expect(await asked([nobody()])).toMatchObject({ outcome: 'no_daemon', now: 4_900 })
  })

  it('gives up at once if daemonMs is 0', async () => {
    expect(await asked([nobody()], { daemonMs: 0 })).toEqual({ outcome: 'no_daemon', asks: 1, now: 0 })
  })

  it('looks for another server after a second, and not while somebody is there (Q5)', async () => {
    let looks = 0
    const elsewhere = (): void => void looks++
    await asked([nobody(), nobody(), 'done'], { elsewhere })
    expect(looks).toBe(0)
    await asked([nobody()], { elsewhere })
    expect(looks).toBeGreaterThan(2)
    looks = 0
    await asked([told('timeout')], { elsewhere })
    expect(looks).toBe(0)
  })

  it('asks again for longer if daemons are there and wait for the journal, and says so in the end', async () => {
    expect(await asked([nobody()], { why: async () => 'waits' })).toMatchObject({
      outcome: 'unreachable',
      now: 19_900,
    })
    expect(await asked([nobody(), nobody(), 'done'], { why: async () => 'waits' })).toMatchObject({
      outcome: 'done',
      asks: 3,
    })
    expect(
      await asked([nobody()], { why: async () => 'waits', withinMs: 30_000, daemonMs: 25_000 }),
    ).toMatchObject({ outcome: 'unreachable', now: 24_900 })
  })

  it('asks again until the deadline if a daemon was there before', async () => {
    expect(await asked([told('timeout'), nobody()], { takesMs: 1_000 })).toMatchObject({
      outcome: 'no_daemon',
      now: 30_500,
    })
  })
})

describe('when no answer comes', () => {
  test.each<ErrorCode>(['timeout', 'unreachable', 'no_daemon'])(
    'asks again after %s if a repeated request is harmless',
    async (code) => {
      expect(await asked([told(code), 'done'])).toEqual({ outcome: 'done', asks: 2, now: 100 })
    },
  )

  test.each<ErrorCode>(['timeout', 'unreachable', 'no_daemon'])(
    'throws %s if the request may have been done (Q3)',
    async (code) => {
      expect(await asked([told(code), 'done'], { repeatable: false })).toEqual({
        outcome: code,
        asks: 1,
        now: 0,
      })
    },
  )

  it('throws if the request was sent and may have been done (Q3)', async () => {
    const broken = new BeaverError('unreachable', 'told', { cause: new RequestError('the connection broke') })
    expect(await asked([broken, 'done'], { repeatable: false })).toEqual({
      outcome: 'unreachable',
      asks: 1,
      now: 0,
    })
  })

  it('throws timeout at the deadline', async () => {
    expect(await asked([told('timeout')], { takesMs: 10_000 })).toEqual({
      outcome: 'timeout',
      asks: 3,
      now: 30_300,
    })
  })

  it('throws if the connection is closed', async () => {
    expect(await asked([told('unreachable'), 'done'], { closed: () => true })).toEqual({
      outcome: 'unreachable',
      asks: 1,
      now: 0,
    })
  })
})

it.each<ErrorCode>(['invalid_arguments', 'conflict', 'not_found'])(
  'throws a refusal without asking again: %s (Q1)',
  async (code) => {
    expect(await asked([told(code), 'done'])).toEqual({ outcome: code, asks: 1, now: 0 })
  },
)
