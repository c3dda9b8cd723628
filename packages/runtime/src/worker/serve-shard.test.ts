import { describe, expect, it } from 'vitest'
import { ownership } from './serve-shard.ts'

/** A host whose answers take so long, one after the other. */
function host(...tookMs: number[]) {
  let now = 0
  let asked = 0
  const answer = async (): Promise<null> => {
    asked++
    now += tookMs.shift() ?? 1
    return null
  }
  const owned = ownership({ append: answer, stillOurs: answer }, () => now)
  return { ...owned, asked: () => asked, pass: (ms: number) => (now += ms) }
}

describe('a loop that is about to ask the model', () => {
  it('asks nothing of the host while an answer says that the task is ours', async () => {
    const { append, stillOurs, asked, pass } = host(3)
    await append([], null)
    pass(400)
    expect(stillOurs()).toBeNull()
    expect(asked()).toBe(1)
  })

  it.each([
    ['once after half a second without an answer', [3], 1],
    ['again after an answer that was read late: the process was stopped', [3_000, 3], 2],
    ['twice on a machine on which every answer is late', [700, 800], 2],
    ['again when the process was stopped on such a machine', [700, 3_000, 900], 3],
    [
      'until an answer comes in two seconds, when the process is stopped again and again',
      [3_000, 4_000, 3_500, 600],
      4,
    ],
    ['twenty times at most', Array.from({ length: 30 }, () => 5_000), 20],
  ])('asks %s', async (_, tookMs, times) => {
    const { stillOurs, asked } = host(...tookMs)
    await stillOurs()
    expect(asked()).toBe(times)
  })

  it('does not ask it when the host says that the task belongs to another daemon', async () => {
    const fenced = () => Promise.reject(new Error('fenced'))
    const { stillOurs } = ownership({ append: fenced, stillOurs: fenced })
    await expect(stillOurs()).rejects.toThrow('fenced')
  })
})
