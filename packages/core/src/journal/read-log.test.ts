import { hash } from 'node:crypto'
import { ownMs } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { plain, recorded, sealed, submitted, written } from '../../test/log.ts'
import { BeaverError } from '../errors.ts'
import type { LogId } from '../ids.ts'
import {
  foreignFault,
  headBefore,
  identityFault,
  LogReader,
  newestRecord,
  openEntry,
  placeFault,
} from './read-log.ts'
import { emptyHead, genesisHash, joinBatch, type SealedRecord } from './record.ts'

const log = { tenant: 'default', session: 's1', task: 't1' } as LogId
const claimed = plain('task_claimed', { daemon: 'd1' })
const large = plain('user_message_added', { content: '长'.repeat(50_000) }, 'r1')
const events = [submitted, claimed, large]

/** The log as one entry, and a store with its blobs. */
function written3({
  tamper = (records) => records,
  blobs = (sha256, bytes) => [sha256, bytes],
}: Tampering = {}) {
  const records = sealed(events)
  const store = new Map(
    records.flatMap(({ blob }) => (blob === null ? [] : [blobs(blob.sha256, blob.bytes)])),
  )
  const readBlob = async (sha256: string): Promise<Uint8Array> => {
    const bytes = store.get(sha256)
    if (bytes === undefined) throw new BeaverError('blob_missing', `no ${sha256}`)
    return bytes
  }
  return { entry: { payload: joinBatch(tamper(records)) }, readBlob, blobs: { get: readBlob } }
}
interface Tampering {
  tamper?: (records: SealedRecord[]) => SealedRecord[]
  blobs?: (sha256: string, bytes: Uint8Array) => [string, Uint8Array]
}

/** The first fault that a tolerant reader reports. */
async function firstFault({ entry, readBlob }: ReturnType<typeof written3>) {
  const { records, fault } = await openEntry(entry.payload, readBlob)
  let head = emptyHead
  for (const { record, event, fault: own } of records) {
    const found = placeFault(log, head, record) ?? own ?? (event === null ? null : identityFault(log, event))
    if (found !== null) return found
    head = record
  }
  return fault
}

const changed = (at: number, from: string, to: string) => (records: SealedRecord[]) =>
  records.map((record, i) => (i === at ? { ...record, text: record.text.replace(from, to) } : record))
const strange = (task: string): SealedRecord[] => sealed(events, { ...written, subject: task })

describe('an intact log', () => {
  it('has no fault and is read to its head, with the data of blobs', async () => {
    const at = written3()
    expect(await firstFault(at)).toBeNull()
    const reader = new LogReader(log, at.blobs)
    expect(await reader.read(at.entry)).toEqual(recorded(...events))
    expect(reader.head).toMatchObject({ taskseq: 3, epoch: 1 })
  })

  it('is read from the middle, from the head that an entry names', async () => {
    const [, , last] = sealed(events)
    const { blobs } = written3()
    const entry = { payload: joinBatch([last as SealedRecord]) }
    const reader = new LogReader(log, blobs, { from: headBefore(entry) })
    expect((await reader.read(entry)).map(({ taskseq, type }) => [taskseq, type])).toEqual([
      [3, 'user_message_added'],
    ])
    expect(newestRecord(entry)?.taskseq).toBe(3)
  })

  it('is checked across entries: the first record of an entry follows the last one of the entry before', async () => {
    const [first, second, third] = sealed(events) as [SealedRecord, SealedRecord, SealedRecord]
    const { blobs } = written3()
    const reader = new LogReader(log, blobs)
    await reader.read({ payload: joinBatch([first, second]) })
    expect((await reader.read({ payload: joinBatch([third]) })).map(({ taskseq }) => taskseq)).toEqual([3])
  })
})

describe('a log with a fault', () => {
  it.each<[string, Tampering, { kind: string; message: string }, string]>([
    [
      'a changed event',
      { tamper: changed(1, '"d1"', '"d2"') },
      { kind: 'chain', message: 'event 2 does not have the content' },
      'corrupt_journal',
    ],
    [
      'a missing event',
      { tamper: ([first, , third]) => [first!, third!] },
      { kind: 'chain', message: 'event 3 follows event 1' },
      'corrupt_journal',
    ],
    [
      'two events that changed places',
      { tamper: ([one, two, three]) => [two!, one!, three!] },
      { kind: 'chain', message: 'event 2 follows' },
      'corrupt_journal',
    ],
    [
      'the records of another task',
      { tamper: () => strange('t2') },
      { kind: 'identity', message: 'event 1 is about the task t2' },
      'corrupt_journal',
    ],
    [
      'a blob that is gone',
      { blobs: (_, bytes) => ['other', bytes] },
      { kind: 'blob_missing', message: 'is missing' },
      'blob_missing',
    ],
    [
      'a blob with other content',
      { blobs: (name) => [name, Buffer.from('"x"')] },
      { kind: 'blob_changed', message: 'holds other content' },
      'blob_corrupt',
    ],
  ])(
    'with %s: the tolerant reader reports it, and the strict reader throws it in the same words',
    async (_, tampering, fault, code) => {
      const at = written3(tampering)
      const found = await firstFault(at)
      expect(found).toMatchObject({
        kind: fault.kind,
        message: expect.stringContaining(fault.message) as string,
      })
      const thrown = await new LogReader(log, at.blobs).read(at.entry).catch((error: unknown) => error)
      expect(thrown).toMatchObject({ code, message: `The log of task t1 is broken: ${found?.message}.` })
    },
  )

  it('affects only its own record if data has another shape', async () => {
    const forged = chainedBy({ text: 7 })
    const { records } = await openEntry(forged, async () => Buffer.from(''))
    expect(records.map(({ event, fault }) => [event, fault?.kind])).toEqual([[null, 'shape']])
    await expect(
      new LogReader(log, { get: async () => Buffer.from('') }).read({ payload: forged }),
    ).rejects.toMatchObject({ code: 'corrupt_journal' })
  })

  it('keeps an unknown type in the tolerant reader and throws in the strict reader', async () => {
    const unknown = chainedBy({ until: 'noon' }, 'beaver.task_paused.v1')
    const opened = await openEntry(unknown, async () => Buffer.from(''))
    expect(opened.records).toMatchObject([{ event: null, fault: null, dataJson: '{"until":"noon"}' }])
    await expect(
      new LogReader(log, { get: async () => Buffer.from('') }).read({ payload: unknown }),
    ).rejects.toThrow(/unknown type beaver\.task_paused\.v1/)
  })

  it('yields the events before the broken one', async () => {
    const at = written3({ tamper: changed(2, '"r1"', '"r2"') })
    const seen: string[] = []
    const reading = (async () => {
      for await (const { type } of new LogReader(log, at.blobs).events(at.entry)) seen.push(type)
    })()
    await expect(reading).rejects.toMatchObject({ code: 'corrupt_journal' })
    expect(seen).toEqual(['task_submitted', 'task_claimed'])
  })

  it('passes on the error of an unreachable blob store, which is not a fault of the log', async () => {
    const { entry } = written3()
    const away = async (): Promise<Uint8Array> => {
      throw new BeaverError('unreachable', 'away')
    }
    await expect(openEntry(entry.payload, away)).rejects.toMatchObject({ code: 'unreachable' })
    await expect(new LogReader(log, { get: away }).read(entry)).rejects.toMatchObject({ code: 'unreachable' })
  })
})

/** A log of one well-chained record that no writer of this version makes. */
function chainedBy(data: unknown, type = 'beaver.user_message_added.v1'): Uint8Array {
  const { source, time } = written
  const record = {
    data,
    epoch: 1,
    id: 't1/1.1',
    prevhash: genesisHash,
    source,
    specversion: '1.0',
    subject: 't1',
    taskseq: 1,
    time,
    type,
  }
  return Buffer.from(JSON.stringify([{ ...record, hash: hash('sha256', JSON.stringify(record)) }]))
}

describe('a foreign message', () => {
  const records = sealed([submitted])[0] as SealedRecord
  it.each<[string, string | Uint8Array, string]>([
    ['nothing', '', 'it is not JSON'],
    ['text', 'garbage', 'it is not JSON'],
    ['JSON of another shape', '{"a":1}', 'it is not a list of records'],
    ['an empty list', '[]', 'it is not a list of records'],
    ['a list of something else', '[{}]', 'value 1 is not a record (specversion: '],
    ['a record and something else', `[${records.text},7]`, 'value 2 is not a record ('],
    ['half a record', `[${records.text.slice(0, -20)}`, 'it is not JSON'],
    ['a list that is nested deeply', '['.repeat(100_000), 'it is not JSON'],
    [
      'closed lists that are nested deeply',
      '['.repeat(50_000) + ']'.repeat(50_000),
      'value 1 is not a record (',
    ],
    [
      'bytes that are not UTF-8',
      Buffer.from(`[${records.text}]`.replace('hello', '\ufffd').slice(0, -3) + '\u00ff', 'latin1'),
      'it is not UTF-8',
    ],
    ['a megabyte', 'x'.repeat(1024 * 1024), 'it is not JSON'],
  ])('with %s has no records, and the log is read as if it were not there', async (_, content, why) => {
    const payload = Buffer.from(content)
    expect(foreignFault({ payload })).toContain(
      `A journal message is not a batch of CloudEvents records: ${why}`,
    )
    expect(newestRecord({ payload })).toBeNull()
    const [first, second] = sealed([submitted, claimed]) as [SealedRecord, SealedRecord]
    const reader = new LogReader(log, { get: async () => Buffer.from('') })
    expect(await reader.read({ payload: joinBatch([first]) })).toHaveLength(1)
    expect(await reader.read({ payload })).toEqual([])
    expect((await reader.read({ payload: joinBatch([second]) })).map(({ taskseq }) => taskseq)).toEqual([2])
    expect(reader.foreign).toBe(1)
    expect((await openEntry(payload, async () => payload)).fault).toMatchObject({ kind: 'message' })
  })

  it('is judged in the time of its first fault, however many values it has', async () => {
    const payload = Buffer.from(JSON.stringify(Array.from({ length: 9_000 }, () => ({}))))
    const work = (): void => {
      for (let i = 0; i < 100; i++) foreignFault({ payload })
    }
    expect((await ownMs(work)) / 100).toBeLessThan(10) // It took 25 ms and more when every value was told.
  })
})
