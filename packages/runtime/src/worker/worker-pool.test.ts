import { describe, expect, it } from 'vitest'
import { poolPolicy, threadLosses, toolLosses } from './worker-pool.ts'

const lost = (charged: boolean) => ({ charged, message: 'out of memory' })

describe('the losses of a pool', () => {
  it('are made good after ever longer pauses, up to a second', () => {
    const losses = threadLosses(poolPolicy)
    expect([0, 1, 2, 3, 4, 5, 6].map((atMs) => losses.add(lost(false), atMs))).toEqual(
      [50, 100, 200, 400, 800, 1_000, 1_000].map((pauseMs) => ({ kind: 'replace', pauseMs })),
    )
  })

  it('that nobody is charged for make it fail when they exceed the intensity', () => {
    const losses = threadLosses(poolPolicy)
    for (let i = 0; i < 20; i++) expect(losses.add(lost(false), i * 1_000).kind).toBe('replace')
    expect(losses.add(lost(false), 20_000)).toEqual({
      kind: 'fail',
      message: 'Worker threads died 21 times within 60 s; the last: out of memory',
    })
  })

  it('that are charged do not, however many', () => {
    const losses = threadLosses(poolPolicy)
    for (let i = 0; i < 100; i++) expect(losses.add(lost(true), i).kind).toBe('replace')
  })
})

it('a pool counts the losses within the period that nobody is charged for', () => {
  const losses = threadLosses(poolPolicy)
  for (const [charged, atMs] of [[false, 0], [true, 1_000], [false, 30_000]] as const) losses.add(lost(charged), atMs) // prettier-ignore
  expect([30_000, 60_000, 90_000].map((nowMs) => losses.counting(nowMs))).toEqual([2, 1, 0])
})

it('a tool is suspect after the third loss within the period, and says so once', () => {
  const losses = toolLosses({ restartsMax: 2, periodMs: 1_000 })
  expect(losses.add(['a'], 0)).toBe(false)
  expect(losses.add(['a', 'b'], 900)).toBe(false)
  // The first is forgotten.
  expect(losses.add(['a'], 1_800)).toBe(false)
  expect(losses.add(['a'], 1_850)).toBe(true)
  expect(losses.names()).toEqual(['a'])
  expect(losses.add(['a'], 1_900)).toBe(false)
})
