// What is asked of the journal when a task is loaded, and what happens if a replica is behind.
import type { LogId } from '@beaver/core'
import type { Entry, Journal } from '@beaver/core/journal'
import { held, memoryBlobStore } from '@beaver/testing'
import { expect, it } from 'vitest'
import { world } from '../test/kit.ts'
import { loadTask } from './load-task.ts'

/** A task with two entries, and a journal whose first `stale` reads miss the last one. */
async function readBehind(stale: number) {
  const { journal, submit, write } = world()
  const log = await submit()
  await write(log, { type: 'task_claimed', data: { daemon: 'gone' } })
  let reads = 0
  const behind = {
    last: (of: LogId) => journal.last(of),
    read: async (of: LogId) => (await journal.read(of)).slice(0, ++reads <= stale ? 1 : 2),
    signatureFault: async () => null,
  }
  return { log, load: () => loadTask(log, { journal: behind, blobs: memoryBlobStore() }), reads: () => reads }
}

it('asks for the last entry and for all entries at once', async () => {
  const { journal, submit } = world()
  const log = await submit()
  const last = held<Entry | null>()
  const asked: string[] = []
  const slow: Pick<Journal, 'last' | 'read' | 'signatureFault'> = {
    last(of) {
      asked.push('last')
      void journal.last(of).then(last.settle)
      return last.promise
    },
    read(of) {
      asked.push('read')
      return journal.read(of)
    },
    signatureFault: async () => null,
  }
  const loading = loadTask(log, { journal: slow, blobs: memoryBlobStore() })
  expect(asked).toEqual(['last', 'read'])
  expect((await loading).events.map(({ type }) => type)).toEqual(['task_submitted'])
})

it('reads again if a replica did not have the last entry yet', async () => {
  const { load, reads } = await readBehind(3)
  expect((await load()).events.map(({ type }) => type)).toEqual(['task_submitted', 'task_claimed'])
  expect(reads()).toBe(4)
})

it('does not go on from a log without its last entry', async () => {
  const { load, reads } = await readBehind(Infinity)
  await expect(load()).rejects.toMatchObject({ code: 'unreachable' })
  expect(reads()).toBe(8)
})
