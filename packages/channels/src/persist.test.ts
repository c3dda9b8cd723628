import { virtualClock } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { pauseAfter, persist, type Tried } from './persist.ts'

/** Runs everything that does not wait for the clock. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function persisting(triesMax: number, outcomes: readonly (Tried | Error)[]) {
  const clock = virtualClock(0)
  const stop = new AbortController()
  const at: number[] = []
  const over = persist({ triesMax, clock, signal: stop.signal }, async () => {
    const outcome = outcomes[Math.min(at.length, outcomes.length - 1)] as Tried | Error
    at.push(clock.now() / 1_000)
    if (outcome instanceof Error) throw outcome
    return outcome
  })
  return { clock, stop, at, over }
}

const later: Tried = { kind: 'later', reason: 'It is away.' }

describe('something that is tried', () => {
  it('is tried again after longer and longer pauses, and given up after the last try', async () => {
    const { clock, at, over } = persisting(9, [later, new Error('It is away.')])
    for (let i = 0; i < 300; i++) {
      await settled()
      clock.advance(1_000)
    }
    expect(await over).toEqual({ kind: 'dead', reason: 'It is away. (tried 9 times)' })
    expect(at).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183])
    expect(pauseAfter(1_000)).toBe(60_000)
  })

  it('waits as long as it is asked to, within a bound', async () => {
    const { clock, at, over } = persisting(9, [
      { ...later, afterMs: 30_000 },
      { ...later, afterMs: 1e12 },
      { kind: 'done' },
    ])
    for (let i = 0; i < 700; i++) {
      await settled()
      clock.advance(1_000)
    }
    expect([await over, at]).toEqual([{ kind: 'done' }, [0, 30, 630]])
  })

  it('goes back in a pause when it must stop', async () => {
    const { stop, over } = persisting(9, [later])
    await settled()
    stop.abort()
    expect(await over).toEqual({ kind: 'back' })
  })
})
