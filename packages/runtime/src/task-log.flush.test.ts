// Flushes of a log that overlap.
import { event, type LogId, systemClock } from '@beaver/core'
import { draft, emptyHead, splitBatch } from '@beaver/core/journal'
import { memoryBlobStore, memoryJournal } from '@beaver/testing'
import { expect, it } from 'vitest'
import { TaskLog } from './task-log.ts'

const log = { tenant: 'local', session: 's', task: 't' } as LogId
const prompt = (content: string) => draft(event('system_prompt_snapshotted', { content }, 'run1'))

it('a flush writes what is held back, also if it begins while an earlier flush ends', async () => {
  const journal = memoryJournal()
  const ports = { journal, blobs: memoryBlobStore(), clock: systemClock, source: '/beaver/daemons/d1' }
  const writer = new TaskLog(log, { head: emptyHead, revision: 0, epoch: 1 }, ports)
  const first = writer.append([prompt('a')])
  const later = writer.settled().then(() => {
    writer.hold([prompt('b')])
    return writer.flush()
  })
  await Promise.all([first, writer.flush(), later])
  const records = (await journal.read(log)).flatMap(({ payload }) => splitBatch(payload))
  expect(records.map(({ data }) => data)).toEqual([{ content: 'a' }, { content: 'b' }])
})
