import { memoryKeys, memorySystemLog } from '@beaver/testing'
import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { plain, sealed, submitted } from '../../test/log.ts'
import type { SystemDataOf } from '../events/system-catalog.ts'
import type { LogId } from '../ids.ts'
import { type ArchivableLog, ArchivedMessages, archiveEvents } from './archived.ts'
import { joinJournal, operatorSigner, readKeyRing, systemSign } from './join-keys.ts'
import { LogReader } from './read-log.ts'
import { joinBatch, type SealedRecord, splitBatch } from './record.ts'
import { RemovalLog } from './removals.ts'
import { appendSystemEvent, type RecordedSystemEvent, type SystemWriter } from './system-record.ts'

const log = { tenant: 'default', session: 's1', task: 't1' } as LogId
const of = { file: '/archive/a.ndjson', file_sha256: 'a'.repeat(64), by: 'ada' }

/**
 * A log of `n` entries with one record each. Its first entry lies at 10, and every second message of the
 * stream belongs to it.
 */
function logOf(n: number) {
  const events = [
    submitted,
    ...Array.from({ length: n - 1 }, (_, i) => plain('task_claimed', { daemon: `d${i}` })),
  ]
  const entries = sealed(events).map((record, i) => entryOf(record, 10 + 2 * i))
  const middle = entries.slice(1, -1)
  const [first] = entries
  const archivable: ArchivableLog = { log, after: headOf(first!), messages: middle.map(archivableOf) }
  return { entries, archivable, ends: [entries[0]!, entries.at(-1)!] }
}

const entryOf = (record: SealedRecord, revision: number) => ({ revision, payload: joinBatch([record]) })
type TestEntry = ReturnType<typeof entryOf>
const headOf = ({ payload }: TestEntry) => {
  const { taskseq, epoch, hash: recordHash } = splitBatch(payload).at(-1)!
  return { taskseq, epoch, hash: recordHash }
}
const archivableOf = (entry: TestEntry) => ({
  sequence: entry.revision,
  payloadSha256: Buffer.from(hash('sha256', entry.payload), 'hex').toString('base64url'),
  head: headOf(entry),
})

type Data = SystemDataOf<'messages_archived'>
const recorded = (data: Data, revision = 100_000): RecordedSystemEvent => ({
  ...{
    type: 'messages_archived',
    data,
    taskseq: 1,
    epoch: 0,
    source: '/beaver/operator',
    time: '2026-01-01T00:00:00.000Z',
    hash: 'f'.repeat(64),
  },
  ...{ revision, signature: undefined },
})
const archivedBy = (...events: readonly Data[]) =>
  new ArchivedMessages(
    'default',
    events.map((data) => recorded(data)),
  )

/** What a reader of the log makes of these entries: the numbers of the events, or the fault. */
async function read(entries: readonly TestEntry[], archived: ArchivedMessages) {
  const reader = new LogReader(
    log,
    { get: () => Promise.reject(new Error('no blob')) },
    { judge: { signatureFault: async () => null, archived: async () => archived } },
  )
  const numbers: number[] = []
  try {
    for (const entry of entries) numbers.push(...(await reader.read(entry)).map(({ taskseq }) => taskseq))
  } catch (error) {
    return (error as Error).message
  }
  return { numbers, file: reader.archived?.file ?? null }
}

describe('a log whose middle is archived', () => {
  const { entries, archivable, ends } = logOf(6)
  const [event] = archiveEvents(of, [archivable])
  const archived = archivedBy(event!)

  it('is named by one event, with every message between the first and the last', () => {
    expect(archiveEvents(of, [archivable])).toHaveLength(1)
    expect(event!.logs[0]!.sequences).toEqual([12, 14, 16, 18])
    expect([archived.size, archived.has(12), archived.has(10), archived.has(20)]).toEqual([
      4,
      true,
      false,
      false,
    ])
    expect(archived.at(12)).toEqual({
      sequence: 12,
      log,
      payloadSha256: hash('sha256', entries[1]!.payload),
      file: of.file,
      sha256: of.file_sha256,
    })
  })

  it('is read from its first and its last entry, and the reader says where the rest is', async () => {
    expect(await read(ends, archived)).toEqual({ numbers: [1, 6], file: of.file })
  })

  it.each([
    ['before the first deletion', [0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]],
    ['while some are deleted', [0, 1, 3, 5], [1, 2, 6]],
    ['while the first ones are deleted', [0, 3, 4, 5], [1, 6]],
    ['while the last ones are deleted', [0, 1, 2, 5], [1, 2, 3, 6]],
  ])('is read %s', async (_, left, numbers) => {
    expect(
      await read(
        left.map((i) => entries[i]!),
        archived,
      ),
    ).toMatchObject({ numbers })
  })

  it('is broken without the event, and if another entry is missing, too', async () => {
    expect(await read(ends, archivedBy())).toContain('event 6 follows event 1')
    const longer = logOf(8)
    const some = { ...longer.archivable, messages: longer.archivable.messages.slice(0, 3) }
    const partly = archivedBy(...archiveEvents(of, [some]))
    expect(await read([longer.entries[0]!, ...longer.entries.slice(4)], partly)).toMatchObject({
      numbers: [1, 5, 6, 7, 8],
    })
    expect(await read([longer.entries[0]!, ...longer.entries.slice(5)], partly)).toContain(
      'event 6 follows event 1',
    )
    expect(await read(longer.ends, partly)).toContain('event 8 follows event 1')
  })

  it.each<[string, (data: Data['logs'][number]) => Data['logs'][number]]>([
    ['of another tenant', (part) => ({ ...part, tenant: 'other' })],
    ['of another session', (part) => ({ ...part, session_id: 'other' })],
    ['with another end', (part) => ({ ...part, end: { ...part.end, hash: 'e'.repeat(64) } })],
    ['that begins elsewhere', (part) => ({ ...part, after: { ...part.after, hash: 'e'.repeat(64) } })],
    [
      'that counts a record less',
      (part) => ({ ...part, end: { ...part.end, taskseq: part.end.taskseq - 1 } }),
    ],
    ['with fewer hashes than messages', (part) => ({ ...part, payloads: part.payloads.slice(1) })],
    ['whose messages do not rise', (part) => ({ ...part, sequences: part.sequences.toReversed() })],
    ['of messages behind itself', (part) => ({ ...part, sequences: part.sequences.map((n) => n + 200_000) })],
  ])('is not explained by an event %s', async (_, change) => {
    expect(await read(ends, archivedBy({ ...event!, logs: event!.logs.map(change) }))).toContain(
      'event 6 follows event 1',
    )
  })

  it('belongs to the first event that names it', () => {
    const again = {
      ...event!,
      file: '/elsewhere',
      logs: event!.logs.map((part) => ({ ...part, payloads: part.payloads.map(() => 'A'.repeat(43)) })),
    }
    expect(archivedBy(event!, again).gapsOf(log)).toMatchObject([{ file: of.file, messages: 4 }])
    expect(archivedBy(event!, again).at(12)).toEqual(archived.at(12))
  })
})

it('a log with thousands of messages is in several events, and every subset of them from the beginning is a readable log', async () => {
  const { entries, archivable, ends } = logOf(2_500)
  const events = archiveEvents(of, [archivable, { ...archivable, messages: [] }])
  expect(events.length).toBeGreaterThan(2)
  for (const event of events) expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(64 * 1024)
  expect(await read(ends, archivedBy(...events))).toMatchObject({ numbers: [1, 2_500] })
  const named = archivedBy(events[0]!)
  const left = entries.filter(({ revision }) => !named.has(revision))
  expect(await read(left, named)).toMatchObject({
    numbers: [1, ...left.slice(1).map((entry) => headOf(entry).taskseq)],
  })
  expect(await read(ends, named)).toContain('event 2500 follows event 1')
})

it('counts only if the operator signed it: not unsigned, not by a daemon, not in a journal without an operator', async () => {
  const { archivable } = logOf(4)
  const [event] = archiveEvents(of, [archivable])
  const ports = {
    log: memorySystemLog(),
    keys: memoryKeys(),
    namespace: 'default',
    now: () => 0,
    name: 'test',
  }
  const write = (sign?: SystemWriter['sign']) =>
    appendSystemEvent(ports.log, 'redactions', () => ({ type: 'messages_archived', data: event! }), {
      source: '/x',
      now: ports.now,
      ...(sign === undefined ? {} : { sign }),
    })
  const size = async (): Promise<number> =>
    (await new RemovalLog('default', ports.log, () => readKeyRing(ports)).now()).archived.size
  for (let i = 0; i < 20; i++)
    await appendSystemEvent(
      ports.log,
      'checkpoints',
      () => ({ type: 'checkpoint_made', data: { note: '' } }),
      { source: '/x', now: ports.now },
    )
  await write()
  expect(await size()).toBe(0)
  const { key, ring } = await joinJournal('daemon', ports)
  await write()
  await write(systemSign(key, ring))
  expect(await size()).toBe(0)
  await write((await operatorSigner(ports)).sign)
  expect(await size()).toBe(2)
})
