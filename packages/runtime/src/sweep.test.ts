// The sweep over the twins: which wakes it sends, and when.
import type { LogId, OpenTask } from '@beaver/core'
import type { Wake } from '@beaver/core/journal'
import { silentLogger } from '@beaver/core'
import { held, until, virtualClock } from '@beaver/testing'
import { expect, it } from 'vitest'
import { startSweep } from './sweep.ts'

const forsaken = (count: number): OpenTask[] =>
  Array.from({ length: count }, (_, i) => ({
    session_id: `s${i}`,
    task_id: `t${i}`,
    owner: i % 2 === 0 ? 'dead' : null,
    taskseq: 3,
  }))

/** A sweep over open tasks. `wakes` are those that were sent; each is stored when a test says so. */
function sweepOver(open: () => readonly OpenTask[]) {
  const clock = virtualClock()
  const wakes: { readonly task: string; readonly name: string; stored(): void; failed(): void }[] = []
  let lists = 0
  const sweep = startSweep({
    openTasks: {
      async list() {
        lists++
        return open()
      },
    },
    peers: { state: async () => 'gone' },
    queue: {
      wake({ task }: LogId, { name = '' }: Wake = {}) {
        const { promise, settle, fail } = held<void>()
        wakes.push({ task, name, stored: () => settle(), failed: () => fail(new Error('The line was cut.')) })
        return promise
      },
    },
    clock,
    logger: silentLogger,
    tenant: 'local',
    daemonId: 'own',
    drives: () => false,
  })
  return { sweep, clock, wakes, lists: () => lists }
}

it('sends a few wakes at a time, so that the first are delivered while the others are stored', async () => {
  const { sweep, clock, wakes } = sweepOver(() => forsaken(40))
  clock.advance(0)
  for (const sent of [16, 32, 40]) {
    await until(`${sent} wakes`, () => wakes.length === sent)
    for (const wake of wakes) wake.stored()
  }
  await sweep.stop()
  expect(wakes.map(({ task }) => task)).toEqual(forsaken(40).map(({ task_id }) => task_id))
})

it('sends a wake only once if it was stored, and again if it was not', async () => {
  const { sweep, clock, wakes, lists } = sweepOver(() => forsaken(2))
  clock.advance(0)
  await until('both wakes', () => wakes.length === 2)
  wakes[0]?.stored()
  wakes[1]?.failed()
  await until('the second sweep', () => {
    clock.advance(150)
    return lists() === 2 && wakes.length === 3
  })
  expect(wakes[2]).toMatchObject({ task: wakes[1]?.task, name: wakes[1]?.name })
  wakes[2]?.stored()
  await sweep.stop()
})

it('sends a wake again for another reason: the daemon that took the last one may have died with it', async () => {
  const { sweep, clock, wakes } = sweepOver(() => forsaken(1))
  clock.advance(0)
  await until('the wake', () => wakes.length === 1)
  wakes[0]?.stored()
  void sweep.now('another')
  await until('another wake', () => {
    clock.advance(0)
    return wakes.length === 2
  })
  expect(wakes[1]?.name).toBe('sweep t0 3 after another')
  wakes[1]?.stored()
  await sweep.stop()
})

it('stops after the wakes that are on their way', async () => {
  const { sweep, clock, wakes } = sweepOver(() => forsaken(40))
  clock.advance(0)
  await until('the first wakes', () => wakes.length === 16)
  const stopped = sweep.stop()
  for (const wake of wakes) wake.stored()
  await stopped
  expect(wakes).toHaveLength(16)
})
