import { BeaverError, type BlobStore, event, type LogId, switchOff, systemClock } from '@beaver/core'
import {
  type Append,
  type AppendOutcome,
  draft,
  emptyHead,
  type Journal,
  seal,
  sealedEvent,
  splitBatch,
  type WireRecord,
} from '@beaver/core/journal'
import { type Held, held, memoryBlobStore, memoryJournal, until } from '@beaver/testing'
import { afterEach, describe, expect, it } from 'vitest'
import type { Opening } from './opened-task.ts'
import { TaskLog } from './task-log.ts'

const log = { tenant: 'local', session: 's', task: 't' } as LogId
const prompt = (content: string) => draft(event('system_prompt_snapshotted', { content }, 'run1'))

afterEach(() => switchOff(undefined))

/** A journal whose appends wait until the test lets them through. */
function gated() {
  const journal = memoryJournal()
  const gates: { append: Append; gate: Held<AppendOutcome | 'store'> }[] = []
  const appended: Append[] = []
  let open = false
  const port: Journal = {
    ...journal,
    async append(append) {
      appended.push(append)
      if (open) return journal.append(append)
      const gate = held<AppendOutcome | 'store'>()
      gates.push({ append, gate })
      const outcome = await gate.promise
      return outcome === 'store' ? journal.append(append) : outcome
    },
  }
  const next = () => {
    const first = gates.shift()
    if (first === undefined) throw new Error('no append waits')
    return first.gate
  }
  return {
    port,
    appended,
    waiting: () => gates.length,
    open: () => void (open = true),
    store: () => next().settle('store'),
    fence: () => next().settle({ kind: 'fenced' }),
    fail: (error: Error) => next().fail(error),
    records: async (): Promise<WireRecord[]> =>
      (await journal.read(log)).flatMap((entry) => splitBatch(entry.payload)),
  }
}

const taskLog = (journal: Journal, blobs: BlobStore = memoryBlobStore()): TaskLog =>
  new TaskLog(
    log,
    { head: emptyHead, revision: 0, epoch: 1 },
    { journal, blobs, clock: systemClock, source: '/beaver/daemons/d1' },
  )
const outcome = (promise: Promise<unknown>): Promise<string> =>
  promise.then(String, (error: unknown) => (error instanceof BeaverError ? error.code : 'another error'))
const textsOf = (records: readonly WireRecord[]): unknown[] =>
  records.map((record) => (record.data as { content: string }).content)

describe('appending', () => {
  it('resolves with the place of the first event, when it is durable and not before', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    let settled = false
    const first = writer.append([prompt('a'), prompt('b')])
    void first.then(() => (settled = true))
    await until('the append is under way', () => journal.waiting() === 1)
    expect(settled).toBe(false)
    journal.store()
    expect(await first).toBe(1)
    const second = writer.append([prompt('c')])
    await until('the next is under way', () => journal.waiting() === 1)
    journal.store()
    expect(await second).toBe(3)
  })

  it('has one append in flight, and what comes meanwhile goes together in the next, in the order it came (O1, O2)', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    const places = [writer.append([prompt('a')])]
    await until('the first is under way', () => journal.waiting() === 1)
    places.push(...['b', 'c', 'd'].map((text) => writer.append([prompt(text)])))
    await new Promise((resolve) => setImmediate(resolve))
    expect(journal.waiting()).toBe(1)
    journal.store()
    await until('the second is under way', () => journal.waiting() === 1)
    journal.store()
    expect(await Promise.all(places)).toEqual([1, 2, 3, 4])
    expect(
      journal.appended.map((append) => append.payloads.flatMap((payload) => textsOf(splitBatch(payload)))),
    ).toEqual([['a'], ['b', 'c', 'd']])
    expect(textsOf(await journal.records())).toEqual(['a', 'b', 'c', 'd'])
  })

  it('puts what is given in one turn of the event loop into one entry (O1)', async () => {
    const journal = gated()
    journal.open()
    const writer = taskLog(journal.port)
    expect(await Promise.all(['a', 'b', 'c'].map((text) => writer.append([prompt(text)])))).toEqual([1, 2, 3])
    expect(journal.appended).toHaveLength(1)
  })

  it('chains its events: every later append expects what the one before it was answered with', async () => {
    const journal = gated()
    journal.open()
    const writer = taskLog(journal.port)
    for (const text of ['a', 'b', 'c']) await writer.append([prompt(text)])
    const records = await journal.records()
    expect(records.map((record) => [record.taskseq, record.epoch])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
    ])
    expect(records.slice(1).map((record) => record.prevhash)).toEqual(
      records.slice(0, -1).map((record) => record.hash),
    )
    expect(journal.appended.map((append) => append.expectedRevision)).toEqual([0, 1, 2])
  })

  it('settled waits for everything appended so far', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    await writer.settled()
    void writer.append([prompt('a')])
    let settled = false
    const all = writer.settled().then(() => (settled = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(settled).toBe(false)
    journal.store()
    await all
  })

  it('what is held back goes first in the next append, in the same message', async () => {
    const journal = gated()
    journal.open()
    const writer = taskLog(journal.port)
    writer.hold([prompt('claim')])
    await writer.settled()
    expect(journal.appended).toHaveLength(0)
    expect(await writer.append([prompt('a')])).toBe(2)
    expect(textsOf(await journal.records())).toEqual(['claim', 'a'])
    expect(journal.appended).toHaveLength(1)
  })

  it('nothing is held back where a bench has switched that off, and the order stays', async () => {
    switchOff('held_events')
    const journal = gated()
    journal.open()
    const writer = taskLog(journal.port)
    expect(writer.hold([prompt('claim')])).toBe(1)
    await writer.settled()
    expect(journal.appended).toHaveLength(1)
    expect(await writer.append([prompt('a')])).toBe(2)
    expect(textsOf(await journal.records())).toEqual(['claim', 'a'])
  })

  it('what is held back knows its place, and a flush writes it, alone or behind what is under way', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    expect(writer.hold([prompt('a'), prompt('b')])).toBe(1)
    const append = writer.append([prompt('c')])
    await until('it is under way', () => journal.waiting() === 1)
    expect(writer.hold([prompt('d')])).toBe(4)
    const flushed = writer.flush()
    journal.store()
    journal.open()
    await flushed
    expect(await append).toBe(3)
    expect(textsOf(await journal.records())).toEqual(['a', 'b', 'c', 'd'])
    writer.hold([prompt('e')])
    await writer.settled()
    expect(textsOf(await journal.records())).toHaveLength(4)
    await writer.flush()
    expect(textsOf(await journal.records()).at(-1)).toBe('e')
  })

  it('all that was given is stored once what is held back went with an append', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    await writer.stored()
    const first = writer.append([prompt('a')])
    const seen: string[] = []
    void writer.stored().then(() => seen.push('a'))
    await until('it is under way', () => journal.waiting() === 1)
    writer.hold([prompt('held')])
    const stored = writer.stored().then(() => seen.push('held'))
    expect(seen).toEqual([])
    journal.store()
    await first
    await writer.settled()
    expect(seen).toEqual(['a'])
    journal.open()
    await writer.append([prompt('b')])
    await stored
    expect(seen).toEqual(['a', 'held'])
    writer.hold([prompt('c')])
    const never = writer.stored()
    writer.close('It is over.')
    await expect(never).rejects.toMatchObject({ code: 'fenced' })
    await expect(writer.stored()).rejects.toMatchObject({ code: 'fenced' })
  })

  it('what is held back while an append is under way waits for the next one too', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    const first = writer.append([prompt('a')])
    await until('it is under way', () => journal.waiting() === 1)
    writer.hold([prompt('held')])
    journal.store()
    await first
    await writer.settled()
    expect(journal.waiting()).toBe(0)
    journal.open()
    await writer.append([prompt('b')])
    expect(textsOf(await journal.records())).toEqual(['a', 'held', 'b'])
  })
})

const largest = ({ appended }: { appended: readonly Append[] }): number =>
  Math.max(...appended.flatMap(({ payloads }) => payloads.map((payload) => payload.length)))

describe('opening a task (O7)', () => {
  const written = { epoch: 0, source: '/beaver/daemons/d1', subject: 't', time: '2026-01-01T00:00:00.000Z' }
  const record = seal(emptyHead, prompt('first'), written)
  const first = {
    submitted: record.record,
    event: sealedEvent(emptyHead, prompt('first'), written, record.head),
  }

  it('writes its first record with what is appended first, through the one who accepts it; afterwards as ever', async () => {
    const journal = memoryJournal()
    const opened: number[] = []
    const opening: Opening = {
      ...first,
      write(payloads) {
        opened.push(payloads.length)
        return journal.append({ log, expectedRevision: 0, payloads })
      },
      acceptedRevision: () => 0,
    }
    const task = new TaskLog(
      log,
      { head: record.head, revision: 0, epoch: 1, opening },
      { journal, blobs: memoryBlobStore(), clock: systemClock, source: '/d' },
    )
    expect(await task.append([prompt('second')])).toBe(2)
    expect(await task.append([prompt('third')])).toBe(3)
    expect(opened).toEqual([1])
    const entries = await journal.read(log)
    expect(entries.map((entry) => textsOf(splitBatch(entry.payload)))).toEqual([
      ['first', 'second'],
      ['third'],
    ])
  })

  it('whose acceptance is refused is lost: nothing stands, and nothing is written any more', async () => {
    const journal = memoryJournal()
    const opening: Opening = { ...first, write: async () => ({ kind: 'fenced' }), acceptedRevision: () => 0 }
    const task = new TaskLog(
      log,
      { head: record.head, revision: 0, epoch: 1, opening },
      { journal, blobs: memoryBlobStore(), clock: systemClock, source: '/d' },
    )
    expect(await outcome(task.append([prompt('second')]))).toBe('fenced')
    expect(await outcome(task.append([prompt('third')]))).toBe('fenced')
    expect(await journal.read(log)).toEqual([])
  })
})

describe('size', () => {
  const large = (text: string) => prompt(text.repeat(60_000))

  it('a message stays below the limit of the server: what is more goes with the next', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    void writer.append([prompt('first')])
    await until('the first is under way', () => journal.waiting() === 1)
    const places = Array.from({ length: 20 }, (_, i) => writer.append([large(String.fromCharCode(97 + i))]))
    journal.open()
    journal.store()
    expect(await Promise.all(places)).toEqual(places.map((_, i) => i + 2))
    expect(largest(journal)).toBeLessThan(1024 * 1024)
    expect((await journal.records()).map((record) => record.taskseq)).toEqual(
      Array.from({ length: 21 }, (_, i) => i + 1),
    )
  })

  it('many small events too: what an entry holds is counted with its envelope', async () => {
    const journal = gated()
    journal.open()
    const writer = taskLog(journal.port)
    const places = Array.from({ length: 6_000 }, () => writer.append([prompt('x')]))
    expect(await Promise.all(places)).toEqual(places.map((_, i) => i + 1))
    expect(largest(journal)).toBeLessThan(1024 * 1024)
  })

  it('events given together that one entry cannot hold land together, in several entries of one append (O6)', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    let settled = false
    const step = writer.append(Array.from({ length: 4_000 }, (_, i) => prompt(`event ${i}`)))
    const next = writer.append([prompt('next')])
    void step.then(() => (settled = true))
    await until('the step is under way', () => journal.waiting() === 1)
    expect(journal.appended[0]?.payloads.length).toBeGreaterThan(1)
    expect(largest(journal)).toBeLessThan(1024 * 1024)
    expect(settled).toBe(false)
    journal.open()
    journal.store()
    expect([await step, await next]).toEqual([1, 4_001])
    const records = await journal.records()
    expect(records.map((record) => record.taskseq)).toEqual(Array.from({ length: 4_001 }, (_, i) => i + 1))
    expect(textsOf(records.slice(-2))).toEqual(['event 3999', 'next'])
    expect(records.slice(1).map((record) => record.prevhash)).toEqual(
      records.slice(0, -1).map((record) => record.hash),
    )
  })

  it('three-byte characters count as three bytes', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    void writer.append([prompt('first')])
    await until('the first is under way', () => journal.waiting() === 1)
    const places = Array.from({ length: 50 }, () => writer.append([prompt('会'.repeat(21_000))]))
    journal.open()
    journal.store()
    await Promise.all(places)
    expect(largest(journal)).toBeLessThan(1024 * 1024)
  })

  it('a payload too large for an event is a blob, stored before the event that refers to it (O4)', async () => {
    const journal = gated()
    const gate = held<void>()
    const stored: string[] = []
    const blobs: BlobStore = { ...memoryBlobStore(), put: (sha256) => (stored.push(sha256), gate.promise) }
    const writer = taskLog(journal.port, blobs)
    const place = writer.append([prompt('x'.repeat(100_000)), prompt('small')])
    await until('the blob is being stored', () => stored.length === 1)
    await new Promise((resolve) => setImmediate(resolve))
    expect(journal.waiting()).toBe(0)
    gate.settle()
    await until('the event is being written', () => journal.waiting() === 1)
    journal.store()
    await place
    const [first, second] = await journal.records()
    expect(first).toMatchObject({ dataref: `blob:sha256:${stored[0]}` })
    expect(first).not.toHaveProperty('data')
    expect(second?.data).toEqual({ content: 'small' })
  })
})

describe('losing the task (O3)', () => {
  it('a refused append rejects everything that waits with fenced, and tells', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    const outcomes = ['a', 'b', 'c'].map((text) => outcome(writer.append([prompt(text)])))
    await until('the first is under way', () => journal.waiting() === 1)
    expect(writer.fenced.aborted).toBe(false)
    journal.fence()
    expect(await Promise.all(outcomes)).toEqual(['fenced', 'fenced', 'fenced'])
    expect(writer.fenced.aborted).toBe(true)
    expect(journal.appended).toHaveLength(1)
  })

  it('afterwards every append is refused at once, and nothing reaches the journal', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    const first = outcome(writer.append([prompt('a')]))
    await until('it is under way', () => journal.waiting() === 1)
    journal.fence()
    await first
    expect(await outcome(writer.append([prompt('b')]))).toBe('fenced')
    expect(journal.appended).toHaveLength(1)
    await writer.settled()
  })

  it('a journal that cannot be reached rejects them with its own error, and the log is not written on', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    const outcomes = ['a', 'b'].map((text) => outcome(writer.append([prompt(text)])))
    await until('the first is under way', () => journal.waiting() === 1)
    journal.fail(new BeaverError('unreachable', 'gone'))
    expect(await Promise.all(outcomes)).toEqual(['unreachable', 'unreachable'])
    expect(await outcome(writer.append([prompt('c')]))).toBe('unreachable')
    expect(journal.appended).toHaveLength(1)
  })

  it('a blob that cannot be stored keeps its event out of the journal', async () => {
    const journal = gated()
    const blobs: BlobStore = {
      ...memoryBlobStore(),
      put: () => Promise.reject(new BeaverError('unreachable', 'no blobs')),
    }
    expect(await outcome(taskLog(journal.port, blobs).append([prompt('x'.repeat(100_000))]))).toBe(
      'unreachable',
    )
    expect(journal.appended).toHaveLength(0)
  })

  it('a closed log refuses what waits and what comes; what is under way still has its outcome', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    const first = outcome(writer.append([prompt('a')]))
    await until('the first is under way', () => journal.waiting() === 1)
    const second = outcome(writer.append([prompt('b')]))
    writer.close('handed over')
    expect(await second).toBe('fenced')
    expect(await outcome(writer.append([prompt('c')]))).toBe('fenced')
    journal.store()
    expect(await first).toBe('1')
    expect(textsOf(await journal.records())).toEqual(['a'])
  })

  it('a last append is the last: what comes after it is refused, and never follows it in the journal', async () => {
    const journal = gated()
    const writer = taskLog(journal.port)
    const first = outcome(writer.append([prompt('a')]))
    const last = outcome(writer.appendLast([prompt('end')], 'it has ended'))
    const late = outcome(writer.append([prompt('late')]))
    expect(() => writer.hold([prompt('held too late')])).toThrow('it has ended')
    expect(await late).toBe('fenced')
    journal.open()
    expect(await Promise.all([first, last])).toEqual(['1', '2'])
    expect(textsOf(await journal.records())).toEqual(['a', 'end'])
  })
})
