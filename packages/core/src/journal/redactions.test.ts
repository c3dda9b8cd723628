import { memoryBlobStore, memoryKeys, memorySystemLog } from '@beaver/testing'
import { expect, it } from 'vitest'
import { createHash } from 'node:crypto'
import { event } from '../events/catalog.ts'
import type { LogId, SessionId, TaskId } from '../ids.ts'
import { joinJournal, operatorSigner, readKeyRing } from './join-keys.ts'
import { KeyRing } from './key-ring.ts'
import { LogReader, openEntry } from './read-log.ts'
import { draft, emptyHead, joinBatch, seal } from './record.ts'
import { redactedData, replacementsOf } from './redactions.ts'
import { RemovalLog } from './removals.ts'
import type { SystemLog } from './system-log.ts'
import { appendSystemEvent, emptySystemLog, type SystemWriter } from './system-record.ts'

const log: LogId = { tenant: 'local', session: 's' as SessionId, task: 't' as TaskId }
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const writer = { source: '/beaver/operator', now: () => 0 }

function entryOf(content: string) {
  const made = seal(emptyHead, draft(event('user_message_added', { content }, 'r')), {
    epoch: 1,
    source: '/d',
    subject: 't',
    time: '2026-01-01T00:00:00.000Z',
  })
  return { ...made, payload: joinBatch([made.record]) }
}

interface Given extends Pick<SystemWriter, 'sign'> {
  readonly ring?: KeyRing
  readonly systemLog?: SystemLog
}

async function given(
  content: string,
  { ring = new KeyRing('default', emptySystemLog), sign, systemLog = memorySystemLog() }: Given = {},
) {
  const { record, head, payload } = entryOf(content)
  const kept = new Map<string, Uint8Array>()
  let blobs = memoryBlobStore()
  if (record.blob !== null) kept.set(record.blob.sha256, record.blob.bytes)
  const get = (name: string): Promise<Uint8Array> =>
    kept.has(name) ? Promise.resolve(kept.get(name) as Uint8Array) : blobs.get(name)
  const removals = new RemovalLog('local', systemLog, async () => ring)
  const replacements = replacementsOf({ get }, () => removals.now())
  const redact = async (secret?: string): Promise<void> => {
    const text = JSON.stringify(redactedData({ content }, secret))
    await blobs.put(sha256(text), Buffer.from(text))
    const of = { replacement: sha256(text), reason: 'A number.', by: 'ada' }
    await appendSystemEvent(
      systemLog,
      'redactions',
      () =>
        record.blob === null
          ? {
              type: 'record_redacted',
              data: { tenant: 'local', session_id: 's', task_id: 't', taskseq: 1, hash: head.hash, ...of },
            }
          : { type: 'blob_redacted', data: { sha256: record.blob.sha256, ...of } },
      { ...writer, ...(sign === undefined ? {} : { sign }) },
    )
    if (record.blob !== null) kept.delete(record.blob.sha256)
  }
  const read = async () => (await new LogReader(log, replacements).read({ payload }))[0]?.data
  return { replacements, payload, redact, read, kept, lose: () => void (blobs = memoryBlobStore()) }
}

it('a text in a record is read as its replacement, also by a reader that read it before', async () => {
  const { replacements, redact, read, payload } = await given('The number is 4711.')
  expect(await read()).toEqual({ content: 'The number is 4711.' })
  await redact('4711')
  expect(await read()).toEqual({ content: 'The number is [redacted].' })
  const opened = await openEntry(payload, replacements.get, replacements.of)
  expect(opened.records).toMatchObject([{ fault: null, dataJson: '{"content":"The number is [redacted]."}' }])
})

it('a blob that was redacted is read as its replacement; the chain verifies', async () => {
  const { redact, read } = await given('x'.repeat(70_000))
  await redact()
  expect(await read()).toEqual({ content: '[redacted]' })
})

it('a blob that is missing for another reason is missing', async () => {
  const { read, kept } = await given('x'.repeat(70_000))
  kept.clear()
  await expect(read()).rejects.toMatchObject({ code: 'blob_missing' })
})

it('a lost replacement brings nothing back and stops no reader', async () => {
  const { replacements, redact, payload, lose } = await given('The number is 4711.')
  await redact('4711')
  await replacements.refresh()
  lose()
  const opened = await openEntry(payload, replacements.get, replacements.of)
  expect(opened.records).toMatchObject([{ fault: { kind: 'shape' }, event: null, dataJson: '{}' }])
})

it('a redaction that no operator signed changes nothing in a journal that has one', async () => {
  const ports = {
    log: memorySystemLog(),
    keys: memoryKeys(),
    namespace: 'default',
    now: () => 0,
    name: 'here',
  }
  await joinJournal('daemon', ports)
  const ring = await readKeyRing(ports)
  const signer = await operatorSigner(ports)
  const theirs = await operatorSigner({ ...ports, log: memorySystemLog(), keys: memoryKeys() })
  expect(theirs).toEqual({})
  for (const [of, content] of [
    [{ ring, systemLog: ports.log }, 'The number is 4711.'],
    [{ ring, ...signer, systemLog: ports.log }, 'The number is [redacted].'],
  ] as const) {
    const { replacements, redact, read } = await given('The number is 4711.', of)
    await redact('4711')
    await replacements.refresh()
    expect(await read()).toEqual({ content })
  }
})

it('a replacement keeps names and figures, or loses one text everywhere, in keys too', () => {
  const data = {
    tool_name: 'read_file',
    success: true,
    content: 'long '.repeat(50),
    parts: [{ k4711: 'a 4711 b', n: 4711 }],
  }
  expect(redactedData(data)).toEqual({
    tool_name: 'read_file',
    success: true,
    content: '[redacted]',
    parts: [{ k4711: 'a 4711 b', n: 4711 }],
  })
  expect(redactedData(data, '4711')).toEqual({
    ...data,
    parts: [{ 'k[redacted]': 'a [redacted] b', n: 4711 }],
  })
})
