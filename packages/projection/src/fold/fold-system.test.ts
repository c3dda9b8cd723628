import { appendSystemEvent } from '@beaver/core/journal'
import { memorySystemLog } from '@beaver/testing'
import { expect, it } from 'vitest'
import { openReadModel } from '../read-model.ts'

const writer = { source: '/beaver/operator', now: () => 0 }

it('stores system records with the fault of their chain, moves its position, and changes no task', async () => {
  using model = openReadModel(':memory:', { readBlob: () => Promise.reject(new Error('no blobs')) })
  model.begin('stream')
  const log = memorySystemLog()
  for (const reason of ['one', 'two', 'three'])
    await appendSystemEvent(
      log,
      'redactions',
      () => ({ type: 'blob_redacted', data: { sha256: '0'.repeat(64), reason } }),
      writer,
    )
  const [first, , third] = (await log.read('redactions')).map(({ payload }) => payload)
  const payloads = [first, third, Buffer.from('no batch')] as Uint8Array[]
  const system = payloads.map((payload, i) => ({ sequence: i + 1, name: 'redactions' as const, payload }))
  expect(await model.apply([], { system, to: 7 })).toMatchObject({ messages: 3, events: 2, sequence: 7 })
  expect(await model.apply([], { system, to: 7 })).toMatchObject({ messages: 0 })
  expect(model.position()).toBe(7)
  expect(model.sql.all('select type, fault from system_events order by sequence')).toEqual([
    { type: 'blob_redacted', fault: null },
    { type: 'blob_redacted', fault: 'event 3 follows event 1' },
    { type: 'unreadable', fault: 'A journal message is not a batch of CloudEvents records: it is not JSON' },
  ])
  expect(model.sql.all('select * from tasks')).toEqual([])
})
