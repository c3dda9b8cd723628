import { expect, test } from 'vitest'
import type { SystemEvent } from '../events/system-catalog.ts'
import type { Entry } from './journal.ts'
import type { SystemLog } from './system-log.ts'
import { appendSystemEvent, readSystemEntries } from './system-record.ts'

const redacted = (reason: string): SystemEvent => ({
  type: 'blob_redacted',
  data: { sha256: '0'.repeat(64), reason },
})
const wireType = ['beaver', 'system', 'blob_redacted', 'v1'].join('.')
const writer = { source: '/beaver/operator', now: () => 0 }

/** A log that other writers append to before each of its first appends. */
function contested(times: number): SystemLog & { entries: Entry[] } {
  const entries: Entry[] = []
  return {
    entries,
    async append({ expectedRevision, payload }) {
      if (times-- > 0) return { kind: 'fenced' }
      if ((entries.at(-1)?.revision ?? 0) !== expectedRevision) return { kind: 'fenced' }
      entries.push({ revision: entries.length + 1, payload, timeMs: 0 })
      return { kind: 'appended', revision: entries.length }
    },
    read: async () => [...entries],
    last: async () => entries.at(-1) ?? null,
  }
}

test('a record of a system log is chained, is about the log, and has a type of its own on the wire', async () => {
  const log = contested(0)
  for (const reason of ['one', 'two'])
    await appendSystemEvent(log, 'redactions', () => redacted(reason), writer)
  const records = log.entries.flatMap(
    ({ payload }) =>
      JSON.parse(Buffer.from(payload).toString()) as {
        type: string
        subject: string
        prevhash: string
        hash: string
      }[],
  )
  expect(records.map(({ type, subject }) => [type, subject])).toEqual([
    [wireType, 'redactions'],
    [wireType, 'redactions'],
  ])
  expect(records[1]?.prevhash).toBe(records[0]?.hash)
})

test('an append that was overtaken is decided again, and gives up in the end', async () => {
  let decided = 0
  await appendSystemEvent(contested(3), 'redactions', () => (decided++, redacted('x')), writer)
  expect(decided).toBe(4)
  await expect(
    appendSystemEvent(contested(1_000), 'redactions', () => redacted('x'), writer),
  ).rejects.toMatchObject({ code: 'unreachable' })
})

test('nothing is written if the decision is null', async () => {
  const log = contested(0)
  await appendSystemEvent(log, 'redactions', () => null, writer)
  expect(log.entries).toEqual([])
})

test('a changed, moved or foreign record is left out, and the log continues from the record before it', async () => {
  const log = contested(0)
  for (const reason of ['one', 'two'])
    await appendSystemEvent(log, 'redactions', () => redacted(reason), writer)
  const [first, second] = log.entries as [Entry, Entry]
  const changed = {
    ...second,
    payload: Buffer.from(Buffer.from(second.payload).toString().replace('two', 'six')),
  }
  const read = readSystemEntries('redactions', [
    first,
    changed,
    { ...second, payload: Buffer.from('no batch') },
    second,
  ])
  expect(read.events.map(({ taskseq }) => taskseq)).toEqual([1, 2])
  expect(read.faults.map(({ message }) => message)).toEqual([
    'event 2 does not have the content that its hash says',
    'A journal message is not a batch of CloudEvents records: it is not JSON',
  ])
  expect(readSystemEntries('redactions', [second]).faults[0]?.message).toContain('follows event 0')
  expect(readSystemEntries('checkpoints', [first]).faults[0]?.message).toContain('belongs to redactions')
})

test('an event is not written to a log to which it does not belong', async () => {
  await expect(appendSystemEvent(contested(0), 'keys', () => redacted('x'), writer)).rejects.toMatchObject({
    code: 'internal',
  })
})
