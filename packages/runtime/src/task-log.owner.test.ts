// Whose a task is, as its log tells: what a daemon asks that may have been stopped.
import { BeaverError, event, type LogId, systemClock } from '@beaver/core'
import { draft, emptyHead, type Entry, type Journal, splitBatch, type WireRecord } from '@beaver/core/journal'
import { memoryBlobStore, memoryJournal } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { TaskLog } from './task-log.ts'

const log = { tenant: 'local', session: 's', task: 't' } as LogId
const prompt = (content: string) => draft(event('system_prompt_snapshotted', { content }, 'run1'))
const taskLog = (journal: Journal): TaskLog =>
  new TaskLog(
    log,
    { head: emptyHead, revision: 0, epoch: 1 },
    { journal, blobs: memoryBlobStore(), clock: systemClock, source: '/beaver/daemons/d1' },
  )
const outcome = (promise: Promise<unknown>): Promise<string> =>
  promise.then(String, (error: unknown) => (error instanceof BeaverError ? error.code : 'another error'))

describe('whose the task is', () => {
  const takenOver = async (journal: Journal) => {
    const { payload, revision } = (await journal.last(log)) as Entry
    const head = splitBatch(payload).at(-1) as WireRecord
    const ports = { journal, blobs: memoryBlobStore(), clock: systemClock, source: '/beaver/daemons/d2' }
    await new TaskLog(log, { head, revision, epoch: 2 }, ports).append([
      draft(event('task_claimed', { daemon: 'd2' })),
    ])
  }

  it('is what its log ends with: ours, until another daemon wrote', async () => {
    const journal = memoryJournal()
    const writer = taskLog(journal)
    await writer.append([prompt('ours')])
    await writer.stillOurs()
    expect(writer.fenced.aborted).toBe(false)
    await takenOver(journal)
    expect(await outcome(writer.stillOurs())).toBe('fenced')
    expect(writer.fenced.aborted).toBe(true)
  })

  it('is asked of a journal that does not answer until it does', async () => {
    const journal = memoryJournal()
    let asked = 0
    const writer = taskLog({
      ...journal,
      last: (of) => (++asked === 1 ? Promise.reject(new Error('nobody answers')) : journal.last(of)),
    })
    await writer.append([prompt('ours')])
    await writer.stillOurs()
    expect(asked).toBe(2)
  })
})
