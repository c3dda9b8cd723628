import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answer, plain, recorded, result, runStarted, sealed, submitted, written } from '../../test/log.ts'
import { BeaverError } from '../errors.ts'
import type { DomainEvent } from '../events/catalog.ts'
import { canonicalJson } from '../canonical-json.ts'
import {
  blobOf,
  chainFault,
  draft,
  emptyHead,
  eventTypeOf,
  genesisHash,
  headAfter,
  inlineBytesMax,
  joinBatch,
  type LogHead,
  openRecord,
  seal,
  sealedEvent,
  splitBatch,
  type WireRecord,
} from './record.ts'

const log: DomainEvent[] = [
  submitted,
  plain('task_claimed', { daemon: 'd1' }),
  runStarted('r1'),
  answer('r1', '你好 "x"'),
  plain(
    'run_completed',
    { finish_reason: 'stop', tool_iterations: 0, usage: { input_tokens: 1, output_tokens: 1, calls: 1 } },
    'r1',
  ),
]
const bytesOf = (events: readonly DomainEvent[], options = written): Uint8Array =>
  joinBatch(sealed(events, options))

/** The first fault of a log, or `null`. */
function faultOf(records: readonly WireRecord[], from: LogHead = emptyHead): string | null {
  let head = from
  for (const record of records) {
    const fault = chainFault(head, record)
    if (fault !== null) return fault
    head = headAfter(record)
  }
  return null
}

const record = (event: DomainEvent): WireRecord => splitBatch(bytesOf([event]))[0] as WireRecord
const codeOf = (act: () => unknown): string => {
  try {
    act()
    return 'nothing thrown'
  } catch (error) {
    return error instanceof BeaverError ? error.code : String(error)
  }
}

describe('sealedEvent', () => {
  it('equals the event in its record, whatever its text', () => {
    const texts = fc.string({ unit: 'binary' })
    fc.assert(
      fc.property(texts, fc.option(texts, { nil: undefined }), (text, runId) => {
        const of = draft(plain('user_message_added', { content: text }, runId))
        const before = headAfter(record(submitted))
        const { record: made, head } = seal(before, of, written)
        expect(sealedEvent(before, of, written, head)).toEqual(
          openRecord(splitBatch(joinBatch([made]))[0] as WireRecord),
        )
      }),
    )
    expect(
      sealedEvent(emptyHead, draft(plain('user_message_added', { content: 'a\ud800' })), written, emptyHead)
        .data,
    ).toEqual({ content: 'a\ufffd' })
  })
})

describe('seal', () => {
  it('writes a CloudEvents record as canonical JSON', () => {
    const [first] = sealed([submitted])
    expect(first?.text).toBe(canonicalJson(JSON.parse(first?.text ?? '')))
    expect(JSON.parse(first?.text ?? '')).toMatchObject({
      specversion: '1.0',
      type: 'beaver.task_submitted.v1',
      id: 't1/1.1',
      taskseq: 1,
      epoch: 1,
      prevhash: genesisHash,
      source: written.source,
      subject: 't1',
    })
    expect(JSON.parse(first?.text ?? '')).not.toHaveProperty('runid')
  })

  it('is canonical for every text that a run id, a source or a subject may contain', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        (run, source, subject) => {
          const { record: made, head } = seal(emptyHead, draft(answer(run, subject)), {
            ...written,
            source,
            subject,
          })
          expect(canonicalJson(JSON.parse(made.text))).toBe(made.text)
          expect(faultOf(splitBatch(joinBatch([made])))).toBeNull()
          expect(head.hash).toBe(JSON.parse(made.text).hash)
        },
      ),
      { numRuns: 200 },
    )
  })

  it('hashes the canonical record without its hash (R3)', () => {
    const { hash, ...rest } = record(submitted)
    expect(hash).toBe(createHash('sha256').update(canonicalJson(rest)).digest('hex'))
  })

  it('numbers the records 1, 2, 3 and chains each to the one before (R1, R3)', () => {
    const records = splitBatch(bytesOf(log))
    expect(records.map((each) => each.taskseq)).toEqual([1, 2, 3, 4, 5])
    expect(records.map((each) => each.prevhash)).toEqual([
      genesisHash,
      ...records.slice(0, -1).map((each) => each.hash),
    ])
    expect(faultOf(records)).toBeNull()
  })

  it('opens to the event from which it was made, with its place', () => {
    const opened = recorded(...log)
    expect(
      opened.map(({ type, data, runId }) => (runId === undefined ? { type, data } : { type, data, runId })),
    ).toEqual(log)
    expect(opened[3]).toMatchObject({
      taskseq: 4,
      epoch: 1,
      id: 't1/1.4',
      source: written.source,
      time: written.time,
    })
  })
})

describe('the chain', () => {
  it('detects a change of any byte', () => {
    const bytes = bytesOf(log)
    const whole = splitBatch(bytes)
    const undetected: string[] = []
    for (let at = 0; at < bytes.length; at++) {
      for (const flip of [0x01, 0x10, 0x20]) {
        const changed = Uint8Array.from(bytes)
        changed[at] = (changed[at] ?? 0) ^ flip
        const fault = codeOf(() => {
          const records = splitBatch(changed)
          if (faultOf(records) !== null || records.length !== whole.length)
            throw new BeaverError('corrupt_journal', 'chain')
        })
        if (fault !== 'corrupt_journal') undetected.push(`byte ${at} ^ ${flip}: ${fault}`)
      }
    }
    expect(undetected).toEqual([])
  })

  it.each([0, 1, 2, 3])('detects that event %i of five is missing', (index) => {
    expect(faultOf(splitBatch(bytesOf(log)).toSpliced(index, 1))).toContain(
      `event ${index + 2} follows event ${index}`,
    )
  })

  it('detects every other order', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 }), (order) => {
        const records = splitBatch(bytesOf(log))
        const fault = faultOf(order.map((index) => records[index] as WireRecord))
        expect(fault === null).toBe(order.every((index, at) => index === at))
      }),
      { numRuns: 100 },
    )
  })

  it('detects a repeated event', () => {
    const records = splitBatch(bytesOf(log))
    expect(faultOf([...records.slice(0, 2), ...records.slice(1)])).toBe('event 2 follows event 2')
  })

  it('detects an event of another log, even if its number fits', () => {
    const [first] = splitBatch(bytesOf(log))
    const other = splitBatch(bytesOf(log, { ...written, subject: 't2' }))
    expect(faultOf([first as WireRecord, other[1] as WireRecord])).toBe(
      'event 2 does not name the hash of the event before it',
    )
  })

  it('detects a changed, an added and a removed member', () => {
    for (const change of [
      { time: '2027-01-01T00:00:00.000Z' },
      { extra: 1 },
      { runid: 'r9' },
      { data: undefined },
    ]) {
      expect(faultOf([{ ...record(submitted), ...change }])).toBe(
        'event 1 does not have the content that its hash says',
      )
    }
  })

  it('detects an epoch that falls, and accepts one that rises (R2)', () => {
    const first = seal(emptyHead, draft(submitted), { ...written, epoch: 5 })
    const next = (epoch: number) =>
      seal(first.head, draft(plain('task_claimed', { daemon: 'd2' })), { ...written, epoch })
    const chain = (epoch: number) => faultOf(splitBatch(joinBatch([first.record, next(epoch).record])))
    expect(chain(4)).toBe('event 2 has epoch 4, older than 5')
    expect(chain(5)).toBeNull()
    expect(chain(6)).toBeNull()
  })

  it('continues from the head of an earlier batch', () => {
    const [first, ...rest] = splitBatch(bytesOf(log))
    expect(faultOf(rest, headAfter(first as WireRecord))).toBeNull()
  })
})

describe('data over the inline bound (R5)', () => {
  /** The answer whose data has exactly this many bytes. */
  const answerOf = (bytes: number, unit: string): DomainEvent => {
    const frame = Buffer.byteLength(draft(answer('r1', '')).dataJson)
    const count = Math.floor((bytes - frame) / Buffer.byteLength(unit))
    return answer('r1', unit.repeat(count) + 'x'.repeat(bytes - frame - count * Buffer.byteLength(unit)))
  }

  it.each(['x', 'é', '好', '😀'])(
    'stays inline up to 64 KiB and becomes a blob one byte later (%s)',
    (unit) => {
      expect(sealed([answerOf(inlineBytesMax, unit)])[0]?.blob).toBeNull()
      expect(sealed([answerOf(inlineBytesMax + 1, unit)])[0]?.blob?.bytes.byteLength).toBe(inlineBytesMax + 1)
    },
  )

  it('is stored under its SHA-256, which the record names in place of the data', () => {
    const [made] = sealed([answerOf(inlineBytesMax + 1, '好')])
    const wire = splitBatch(Buffer.from(`[${made?.text}]`))[0] as WireRecord
    expect(made?.blob?.sha256).toBe(
      createHash('sha256')
        .update(made?.blob?.bytes ?? '')
        .digest('hex'),
    )
    expect(wire).toMatchObject({ dataref: `blob:sha256:${made?.blob?.sha256}` })
    expect(wire).not.toHaveProperty('data')
    expect(blobOf(wire)).toBe(made?.blob?.sha256)
    expect(made?.text.length).toBeLessThan(1000)
    expect(faultOf([wire])).toBeNull()
  })

  it('opens to the same event', () => {
    const long = answerOf(200_000, '好')
    expect(recorded(long)[0]?.data).toEqual(long.data)
  })

  it('is covered by the chain: another blob breaks it', () => {
    const wire = splitBatch(bytesOf([answerOf(100_000, 'x')]))[0] as WireRecord
    expect(faultOf([{ ...wire, dataref: `blob:sha256:${'0'.repeat(64)}` }])).toContain('hash says')
  })
})

describe('splitBatch', () => {
  it.each(['', '[]', '{}', 'null', '[1]', '[{}]', '[{"specversion":"1.0"}]', '[', '\ufeff[]'])(
    'throws corrupt_journal for %j',
    (text) => {
      expect(codeOf(() => splitBatch(Buffer.from(text)))).toBe('corrupt_journal')
    },
  )

  it.each([
    { taskseq: 0 },
    { taskseq: 1.5 },
    { epoch: -1 },
    { specversion: '0.3' },
    { hash: 1 },
    { runid: null },
  ])('throws corrupt_journal for a record with %j', (change) => {
    expect(codeOf(() => splitBatch(Buffer.from(JSON.stringify([{ ...record(submitted), ...change }]))))).toBe(
      'corrupt_journal',
    )
  })

  it('keeps the members of a record as they were written, and those that it does not know', () => {
    const { type, ...rest } = record(submitted)
    const text = JSON.stringify([{ type, extension: { b: 1, a: 2 }, ...rest }])
    expect(JSON.stringify(splitBatch(Buffer.from(text)))).toBe(text)
  })

  it('reads a view into a larger buffer', () => {
    const bytes = bytesOf([submitted])
    const larger = new Uint8Array(bytes.length + 20)
    larger.set(bytes, 10)
    expect(faultOf(splitBatch(larger.subarray(10, 10 + bytes.length)))).toBeNull()
  })
})

describe('openRecord', () => {
  it.each([
    'beaver.never_heard_of.v1',
    'beaver.task_claimed.v2',
    'beaver.__proto__.v1',
    'beaver.constructor.v1',
    'task_claimed',
    'xbeaver.task_claimed.v1',
  ])('throws corrupt_journal for the unknown type %s', (type) => {
    const wire = { ...record(submitted), type }
    expect(eventTypeOf(wire)).toBeNull()
    expect(codeOf(() => openRecord(wire))).toBe('corrupt_journal')
  })

  it('throws corrupt_journal for data of another shape, and for missing data', () => {
    expect(codeOf(() => openRecord({ ...record(submitted), data: { daemon: 'd1' } }))).toBe('corrupt_journal')
    expect(codeOf(() => openRecord({ ...record(submitted), data: undefined }))).toBe('corrupt_journal')
    expect(codeOf(() => openRecord(record(submitted), '{}'))).toBe('corrupt_journal')
  })

  it('throws corrupt_journal for a blob that is not JSON', () => {
    expect(codeOf(() => openRecord(record(result('r1', 'c1', 'read')), 'not json'))).toBe('corrupt_journal')
  })
})
