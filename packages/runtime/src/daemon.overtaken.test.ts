// A claim that is refused because another daemon was faster, and that other daemon dies.
import { draft, event } from '@beaver/core'
import { memoryBlobStore, says, scriptedProvider } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { leaseMs, typesOf, world } from '../test/kit.ts'
import { loadTask } from './load-task.ts'
import { TaskLog } from './task-log.ts'

describe('a daemon whose claim is refused because another one claimed the task', () => {
  it('looks again when it was woken meanwhile: the other daemon may be gone', async () => {
    const { daemon, submit, events, passing, journal, clock } = world()
    const append = journal.append
    let others = 0
    const log = await submit()
    journal.append = async (claim) => {
      if (others++ > 0) return append(claim)
      const { events: known, head, revision } = await loadTask(log, { journal, blobs: memoryBlobStore() })
      expect(known).toHaveLength(1)
      const other = new TaskLog(
        log,
        { head, revision, epoch: 1 },
        { journal: { ...journal, append }, blobs: memoryBlobStore(), clock, source: '/beaver/daemons/gone' },
      )
      await other.append([draft(event('task_claimed', { daemon: 'gone' }))])
      await journal.queue({ leaseMs, clock }).wake(log)
      let ticks = 0
      await passing('the wake comes', () => ++ticks > 20, 1)
      return append(claim)
    }
    const since = clock.now()
    daemon({ provider: scriptedProvider([says('42')]) })
    await passing('it ends', async () => typesOf(await events(log)).includes('task_completed'))
    expect(clock.now() - since).toBeLessThan(leaseMs / 2)
    expect((await events(log)).flatMap(({ type, epoch }) => (type === 'task_claimed' ? [epoch] : []))).toEqual([1, 2])
  })
})
